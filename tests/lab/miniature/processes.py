"""The lab's processes: recorded with their start time, ended by what was recorded."""

import os
import select
import signal
import time
from pathlib import Path


def start_time(pid):
    """Clock ticks since boot, which with the pid names a process for good; None if it is gone
    (a zombie is)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else int(fields[19])


class Ledger:
    """DIR/pids: a line "pid start-time name" for each, written as soon as it runs."""

    def __init__(self, directory):
        self._path = Path(directory) / "pids"

    def add(self, pid, name):
        with open(self._path, "a") as out:
            out.write(f"{pid} {start_time(pid)} {name}\n")

    def read(self):
        """[(pid, start time)]; nothing when nothing was recorded, lines cut short are left out."""
        try:
            lines = self._path.read_text().splitlines()
        except FileNotFoundError:
            return []
        rows = [line.split() for line in lines]
        return [(int(r[0]), int(r[1])) for r in rows if len(r) == 3 and r[0].isdigit() and r[1].isdigit()]


def inside(namespace_paths):
    """[(pid, start time)] of every process in one of the network namespaces."""
    inodes = set()
    for path in namespace_paths:
        try:
            found = os.stat(path)
            inodes.add((found.st_dev, found.st_ino))
        except FileNotFoundError:
            pass
    here = os.stat("/proc/self/ns/net")
    inodes.discard((here.st_dev, here.st_ino))
    processes = []
    for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()) if inodes else ():
        try:
            found = os.stat(f"/proc/{pid}/ns/net")
        except OSError:
            continue
        if (found.st_dev, found.st_ino) in inodes and (started := start_time(pid)) is not None:
            processes.append((pid, started))
    return processes


def descendants(pid):
    """[(pid, start time)] of all processes under `pid`, itself not included."""
    children = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children.setdefault(int(fields[1]), []).append((int(name), int(fields[19])))
    found, frontier = [], [pid]
    while frontier:
        below = children.get(frontier.pop(), [])
        found += below
        frontier += [child for child, _ in below]
    return found


def end(processes, patience=2.0):
    """SIGKILLs each (pid, start time) that is still the same process and waits until it is
    gone. Those still there after `patience` seconds."""
    watched = {}
    for pid, started in processes:
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            continue
        # The descriptor holds the process; only now is its start time worth comparing.
        if start_time(pid) != started:
            os.close(fd)
            continue
        try:
            signal.pidfd_send_signal(fd, signal.SIGKILL)
            watched[fd] = pid
        except ProcessLookupError:
            os.close(fd)
    poller, deadline = select.poll(), time.monotonic() + patience
    for fd in watched:
        poller.register(fd, select.POLLIN)
    left = dict(watched)
    while left and time.monotonic() < deadline:
        for fd, _ in poller.poll(50):
            poller.unregister(fd)
            left.pop(fd)
    for fd in watched:
        os.close(fd)
    return list(left.values())


def daemon(ledger, directory, name, body, keep):
    """Forks `body()` into a session of its own: streams to DIR/logs/NAME, no descriptor but
    `keep`, never returns into the caller's code. Its pid, once recorded."""
    pid = os.fork()
    if pid:
        ledger.add(pid, name)
        return pid
    status = 1
    try:
        os.setsid()
        log = os.open(f"{directory}/logs/{name}.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        kept = sorted(keep)
        for low, high in zip([3] + [k + 1 for k in kept], kept + [65536]):
            os.closerange(low, high)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        Path("/proc/self/comm").write_text(f"lab-{name}")
        body()
        status = 0
    except BaseException:
        import traceback

        os.write(2, traceback.format_exc().encode())
    finally:
        os._exit(status)

"""A sandbox from start to end: its streams and terminal, its limits, its end by whatever hand, and what is left (nothing)."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import uuid

import pytest

from launcher_client import PYTHON, Launcher, find_driver, processes_with

KINDS = ["runc", "bwrap", "ordinary"]


@pytest.fixture(params=KINDS)
def launcher(request):
    if not find_driver():
        pytest.fail("no sandbox_driver: build first, or set SANDBOX_DRIVER", pytrace=False)
    if os.geteuid() != 0:
        pytest.fail("these tests make sandboxes as several users: run as root", pytrace=False)
    made = Launcher(request.param)
    yield made
    made.close()


def until(what, seconds=10):
    """Waits until `what()` holds; its last value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    return what()


# --- exit status ---


@pytest.mark.parametrize("command, status", [(["true"], 0), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -TERM $$"], 143), (["sh", "-c", "kill -KILL $$"], 137),
                                             (["no-such-program"], 127), (["/etc/hostname"], 126)], ids=["0", "7", "TERM", "KILL", "absent", "not-executable"])
def test_exit_status_is_the_commands_own(launcher, command, status):
    result = launcher.run(command)
    assert result.returncode == status, result
    assert all(step["completed"] for step in launcher.report["cleanup"])
    assert [step["name"] for step in launcher.report["cleanup"]] == ["process tree", "runtime record", "cgroup", "state of the sandbox"]
    assert launcher.leftovers() == []


def test_failures_to_start_are_told_and_leave_nothing(launcher):
    result = launcher.run(["true"], "--directory", "/no/such/place")
    assert result.returncode == 125 and "/no/such/place" in result.stderr, result
    assert launcher.leftovers() == []
    if launcher.ordinary:
        words = launcher.words(["true"])
        words[words.index("--runtime") + 1] = "runc"
        assert "needs root" in launcher.outside(words).stderr


# --- streams ---


def test_streams_are_carried_whole_and_apart(launcher):
    data = os.urandom(1 << 20).hex() * 4
    result = launcher.run(["sh", "-c", "cat; echo error >&2"], input=data)
    assert result.returncode == 0 and result.stderr == "error\n" and result.stdout == data
    assert launcher.report["output_bytes"] == launcher.report["input_bytes"] == len(data)
    assert launcher.report["error_bytes"] == 6 and not launcher.report["truncated"]


def test_the_task_sees_the_end_of_its_input_and_the_caller_a_closed_output(launcher):
    assert launcher.run(["wc", "-c"], input="").stdout.strip() == "0"
    process = launcher.start(["yes"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(100)
    process.stdout.close()
    assert process.wait(20) in (1, 141)  # `yes` is told of the broken pipe


def test_a_slow_reader_stops_the_task_not_the_memory(launcher):
    marker = launcher.directory("workspace")
    code = "import sys\nn = 0\nwhile True:\n sys.stdout.buffer.write(b'x' * 65536); sys.stdout.flush(); n += 65536; open('/workspace/n', 'w').write(str(n))"
    process = launcher.start([PYTHON, "-c", code], "--workspace", marker, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert until((marker / "n").exists)
    time.sleep(1)
    written = int((marker / "n").read_text() or 0)
    assert 0 < written < 2 << 20
    resident = int(next(line for line in open(f"/proc/{process.pid}/status") if line.startswith("VmRSS")).split()[1])
    assert resident < 64 << 10
    got = sum(len(os.read(process.stdout.fileno(), 65536)) for _ in range(200))
    assert until(lambda: int((marker / "n").read_text() or 0) > written) and got > 0
    process.terminate()
    process.stdout.close()
    assert process.wait(20) == 122


def test_a_background_process_does_not_hold_the_relay(launcher):
    begin = time.monotonic()
    result = launcher.run(["sh", "-c", "(sleep 300; echo late) & echo done"])
    assert result.stdout == "done\n" and result.returncode == 0
    assert time.monotonic() - begin < 10


def test_output_after_the_end_is_drained(launcher):
    result = launcher.run(["sh", "-c", "head -c 60000 /dev/zero | tr '\\0' x"])
    assert result.stdout == "x" * 60000


def test_orphans_are_reaped(launcher):
    code = r"""
import os, subprocess, time
for _ in range(5):
    if os.fork() == 0:
        if os.fork() == 0: time.sleep(0.05)
        os._exit(0)
    os.wait()
time.sleep(0.5)
print(subprocess.run(["ps", "-eo", "stat="], capture_output=True, text=True).stdout.count("Z"))
"""
    assert launcher.python(code).stdout == "0\n"


# --- terminal ---


class Terminal:
    """The driver on a pseudo-terminal of the test's."""

    def __init__(self, launcher, command, *options, size=(33, 101)):
        self.master, self.slave = pty.openpty()
        self.resize(*size)
        self.mode = termios.tcgetattr(self.slave)
        self.text = b""

        def lead():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        self.process = subprocess.Popen(launcher.words(command, *options), stdin=self.slave, stdout=self.slave, stderr=self.slave, preexec_fn=lead,
                                        env=launcher.environment({"TERM": "xterm-256color"}), cwd="/", **launcher._as_user())
        launcher.running.append(self.process)

    def resize(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def expect(self, text, seconds=15):
        end = time.monotonic() + seconds
        while text.encode() not in self.text:
            left = end - time.monotonic()
            assert left > 0 and select.select([self.master], [], [], left)[0], f"{text!r} not in {self.text!r}"
            self.text += os.read(self.master, 65536)

    def type(self, text):
        os.write(self.master, text.encode())

    def close(self):
        os.close(self.master)
        os.close(self.slave)


@pytest.fixture
def on_terminal(launcher):
    made = []

    def start(*arguments, **more):
        made.append(Terminal(launcher, *arguments, **more))
        return made[-1]

    yield start
    for terminal in made:
        if terminal.process.poll() is None:
            terminal.process.kill()
            terminal.process.wait(10)
        terminal.close()


def test_has_a_terminal_of_its_own(launcher, on_terminal):
    terminal = on_terminal(["sh", "-c", "tty; stty size; echo $TERM; read line; echo got-$line; stty size; exit 3"])
    terminal.expect("/dev/pts/0")
    terminal.expect("33 101")
    terminal.expect("xterm-256color")
    assert until(lambda: termios.tcgetattr(terminal.slave) != terminal.mode)  # the caller's is raw meanwhile
    terminal.resize(40, 120)
    time.sleep(0.5)
    terminal.type("hello\n")
    terminal.expect("got-hello")
    terminal.expect("40 120")
    assert terminal.process.wait(20) == 3
    assert termios.tcgetattr(terminal.slave) == terminal.mode


def test_ctrl_c_on_a_terminal_is_the_tasks(launcher, on_terminal):
    terminal = on_terminal(["sh", "-c", "trap 'echo caught; exit 9' INT; echo ready; sleep 60 & wait"])
    terminal.expect("ready")
    terminal.type("\x03")
    terminal.expect("caught")
    assert terminal.process.wait(20) == 9
    assert termios.tcgetattr(terminal.slave) == terminal.mode


def test_a_terminated_launcher_restores_the_terminal(launcher, on_terminal):
    terminal = on_terminal(["sh", "-c", "echo ready; sleep 60"])
    terminal.expect("ready")
    terminal.process.send_signal(signal.SIGTERM)
    assert terminal.process.wait(20) == 122
    assert termios.tcgetattr(terminal.slave) == terminal.mode


TYPE_IN = "import fcntl, termios\nfor c in b'rm -rf x': fcntl.ioctl(0, termios.TIOCSTI, bytes([c]))\nprint('typed')"


def test_cannot_type_into_the_callers_terminal(launcher, on_terminal):
    terminal = on_terminal([PYTHON, "-c", TYPE_IN])
    terminal.expect("Operation not permitted")
    assert terminal.process.wait(20) == 1
    assert not select.select([terminal.slave], [], [], 0.2)[0]


def test_the_machine_lets_root_type_into_a_terminal():
    """The control of the one above."""
    master, slave = pty.openpty()

    def lead():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    done = subprocess.run([PYTHON, "-c", TYPE_IN], stdin=slave, capture_output=True, text=True, preexec_fn=lead, timeout=20)
    os.close(master)
    os.close(slave)
    assert done.stdout == "typed\n"


# --- limits ---


ALLOCATE = "import sys\nx = bytearray(int(sys.argv[1]) << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('fits')"


def test_memory_limit(launcher):
    assert launcher.run([PYTHON, "-c", ALLOCATE, "20"], "--memory", 128 << 20).stdout == "fits\n"
    result = launcher.run([PYTHON, "-c", ALLOCATE, "400"], "--memory", 128 << 20)
    assert result.stdout == "" and result.returncode != 0
    limit = next(entry for entry in launcher.report["limits"] if entry["name"] == "memory")
    if launcher.kind == "runc":
        assert result.returncode == 137 and launcher.report["oom_killed"]
        assert limit["enforced_by"] == "cgroup of the whole tree"
    else:
        assert "MemoryError" in result.stderr and not launcher.report["oom_killed"]
        assert "each process" in limit["enforced_by"] and launcher.report["warnings"]


def test_memory_limit_holds_for_the_tree_and_its_files(launcher):
    if launcher.kind != "runc":
        pytest.skip("bwrap's limit holds for each process, and says so")
    tree = "for i in 1 2 3 4; do " + PYTHON + f" -c '{ALLOCATE}' 60 & done; wait"
    launcher.run(["sh", "-c", tree], "--memory", 128 << 20)
    assert launcher.report["oom_killed"]
    launcher.run(["sh", "-c", "head -c 300000000 /dev/zero > /tmp/fill"], "--memory", 128 << 20)
    assert launcher.report["oom_killed"]


FORKS = r"""
import os, sys, time
made = 0
for _ in range(int(sys.argv[1])):
    try: pid = os.fork()
    except OSError as error: print(error.errno); break
    if pid == 0: time.sleep(60); os._exit(0)
    made += 1
print(made)
"""


def test_processes_limit(launcher):
    assert launcher.run([PYTHON, "-c", FORKS, "10"], "--processes", 20).stdout == "10\n"
    result = launcher.run([PYTHON, "-c", FORKS, "50"], "--processes", 20)
    assert result.stdout == "11\n19\n", result
    if launcher.kind == "runc":
        assert launcher.report["process_limit_hits"] > 0


def test_scratch_space_is_bounded(launcher):
    result = launcher.run(["sh", "-c", "df -k --output=size /tmp /home/task /dev/shm | tail -n +2"])
    assert [int(size) for size in result.stdout.split()] == [1 << 20] * 3


# --- the end ---


TREE = r"""
import os, signal, subprocess, sys, time
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)
for depth in range(3):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                if os.fork() == 0: time.sleep(300)
                time.sleep(0.02)
print("ready", flush=True)
time.sleep(300)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=["INT", "TERM", "KILL"])
def test_no_process_survives_the_launcher(launcher, number):
    marker = f"tree-{uuid.uuid4()}"
    process = launcher.start([PYTHON, "-c", TREE, marker], "--processes", 300, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"ready\n"
    assert until(lambda: len(processes_with(marker)) > 10)  # the control: they can be seen
    process.send_signal(number)
    assert process.wait(20) == (-signal.SIGKILL if number == signal.SIGKILL else 122)
    process.stdout.close()
    assert until(lambda: not processes_with(marker), 5) is True
    # A launcher that was killed cleans up all the same: its keeper does.
    assert until(lambda: not launcher.leftovers(), 10) is True, launcher.leftovers()


def test_a_launcher_killed_at_any_moment_leaves_nothing(launcher):
    marker = f"early-{uuid.uuid4()}"
    for milliseconds in (5, 15, 30, 45, 60, 80, 100, 130):
        process = launcher.start(["sleep", "300", marker] if False else ["sh", "-c", "sleep 300", marker], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(milliseconds / 1000)
        process.kill()
        process.wait(10)
    assert until(lambda: not processes_with(marker), 10) is True
    assert until(lambda: not launcher.leftovers(), 15) is True, launcher.leftovers()


def test_ends_after_its_time(launcher):
    begin = time.monotonic()
    result = launcher.run(["sleep", "300"], "--kill-after", "0.5")
    assert result.returncode == 122 and time.monotonic() - begin < 10
    assert launcher.report["how"] == 2 and launcher.leftovers() == []


def test_a_killed_init_ends_the_sandbox(launcher):
    held = launcher.file(launcher.home / "held.sh", f"#!/bin/sh\necho $1 > {launcher.report_file}.pid\n", 0o755)
    process = launcher.start(["sleep", "300"], "--held", held, stdin=subprocess.DEVNULL)
    path = launcher.report_file.with_name("report.json.pid")
    assert until(lambda: path.exists() and path.read_text())
    time.sleep(0.3)
    os.kill(int(path.read_text()), signal.SIGKILL)
    assert process.wait(20) == 137
    assert launcher.report["how"] == 2 and launcher.leftovers() == []


def test_nothing_of_the_command_runs_while_it_is_held(launcher):
    workspace = launcher.directory("workspace")
    held = launcher.file(launcher.home / "held.sh", f"#!/bin/sh\nsleep 0.5; ls {workspace} | wc -l > {launcher.report_file}.seen\n", 0o755)
    assert launcher.run(["touch", "ran"], "--workspace", workspace, "--held", held).returncode == 0
    assert launcher.report_file.with_name("report.json.seen").read_text().strip() == "0"
    assert (workspace / "ran").exists()


def test_many_at_once(launcher):
    results = []

    def one(i):
        words = launcher.words(["sh", "-c", f"echo {i}"])
        words[words.index("--report") + 1] = "/dev/null"
        results.append((i, subprocess.run(words, env=launcher.environment(), cwd="/", capture_output=True, text=True, timeout=50, stdin=subprocess.DEVNULL, **launcher._as_user())))

    threads = [threading.Thread(target=one, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(55)
    assert sorted((i, r.returncode, r.stdout) for i, r in results) == [(i, 0, f"{i}\n") for i in range(6)], [r for _, r in results if r.returncode]
    assert launcher.leftovers() == []

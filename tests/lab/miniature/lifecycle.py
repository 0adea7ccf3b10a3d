"""A lab's beginning and end."""

import contextlib
import fcntl
import json
import os
import resource
import select
import shutil
import signal
import socket
import sys
import time
from pathlib import Path

from . import certs, git_http, layout, netns, origin, processes

READY_SECONDS = 15.0
# Everything `up` makes in DIR; `down` removes exactly this.
KEPT_FOLDERS = ["records", "logs"]
FOLDERS = ["tls", "git", "www", "nginx"]
FILES = ["appliance.yaml", "ca.pem", "resolv.conf", "lab.json", "pids", "made-directory", "world.sock", "sniffer.sock"]


class Failed(Exception):
    """The lab did not come up or go down; the text says what went wrong."""


def up(directory, with_trust=False):
    """Builds a lab and returns its document. On failure everything is taken down again."""
    if os.geteuid() != 0:
        raise Failed("needs root: it makes network namespaces")
    directory = Path(os.path.realpath(directory))
    appliance, internet = layout.namespace_names(directory)
    made = not directory.exists()
    directory.mkdir(parents=True, exist_ok=True, mode=0o755)
    with _locked(directory):
        if netns.path(appliance).exists() or netns.path(internet).exists() or (directory / "lab.json").exists():
            raise Failed(f"a lab is up in {directory} (or was left there): lab down {directory}")
        taken = [n for n in FOLDERS + KEPT_FOLDERS + FILES if (directory / n).exists()]
        if taken:
            raise Failed(f"{directory} already has {', '.join(taken)}")
        if made:
            (directory / "made-directory").touch()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        # For the daemons, which inherit it: the traps alone are hundreds of sockets.
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536), hard))
        try:
            return _build(directory, appliance, internet, with_trust)
        except BaseException:
            _remove(directory, keep_records=False, quiet=True)
            raise


def _build(directory, appliance, internet, with_trust):
    for name in FOLDERS[:2] + KEPT_FOLDERS:
        (directory / name).mkdir(mode=0o755)
    for kind in layout.RECORD_KINDS:
        (directory / "records" / f"{kind}.jsonl").touch()
    ledger = processes.Ledger(directory)
    with open(directory / "logs" / "making.log", "ab") as log:
        making = {"certificates": certs.start_making(directory / "tls", log)}
        making["repository"] = git_http.start_making(directory / "git", log)
    netns.build(appliance, internet)
    certified, tell_certified = os.pipe()
    ready = {}
    # The bodies are imported where they run: asyncio alone takes longer than a namespace.
    ready["world"] = _daemon(ledger, directory, "world", [certified], lambda out: _world(directory, appliance, internet, certified, out))
    ready["sniffer"] = _daemon(ledger, directory, "sniffer", [], lambda out: _sniffer(directory, appliance, internet, out))
    os.close(certified)
    origin.prepare(directory)
    document = _write(directory, appliance, internet, with_trust)
    for what, process in making.items():
        if process.wait(READY_SECONDS):
            raise Failed(f"{what}: {(directory / 'logs' / 'making.log').read_text()[-2000:]}")
    os.write(tell_certified, b"+")
    os.close(tell_certified)
    shutil.copyfile(directory / "tls" / "ca.pem", directory / "ca.pem")
    nginx = origin.start(directory)
    ledger.add(nginx.pid, "nginx")
    deadline = time.monotonic() + READY_SECONDS
    for name, pipe in ready.items():
        _await(directory, name, pipe, deadline)
    _await_nginx(directory, nginx, deadline)
    (directory / "lab.json").write_text(json.dumps(document, indent=1) + "\n")
    return document


def _daemon(ledger, directory, name, keep, body):
    """Starts one; the pipe that says when it is ready."""
    receive, send = os.pipe()
    processes.daemon(ledger, directory, name, lambda: body(send), keep + [send])
    os.close(send)
    return receive


def _world(directory, appliance, internet, certified, out):
    from . import world

    world.main(directory, appliance, internet, certified, out)


def _sniffer(directory, appliance, internet, out):
    from . import sniffer

    sniffer.main(directory, appliance, internet, out)


def _await(directory, name, pipe, deadline):
    readable, _, _ = select.select([pipe], [], [], max(0, deadline - time.monotonic()))
    if not readable or os.read(pipe, 1) != b"+":
        log = directory / "logs" / f"{name}.log"
        raise Failed(f"{name} did not start: {log.read_text()[-2000:] if log.exists() else 'no log'}")
    os.close(pipe)


def _await_nginx(directory, process, deadline):
    """Connects to the last listener it opens. The caller is in the internet's namespace."""
    address = layout.role_addresses("allowed")[0]
    while True:
        if process.poll() is not None or time.monotonic() > deadline:
            logs = [directory / "logs" / n for n in ("nginx.stderr", "nginx.log")]
            raise Failed("nginx did not start: " + "".join(p.read_text()[-2000:] for p in logs if p.exists()))
        with socket.socket() as probe:
            probe.settimeout(1)
            with contextlib.suppress(OSError):
                probe.connect((address, 80))
                return
        time.sleep(0.002)


def _write(directory, appliance, internet, with_trust):
    """The files for the appliance, and the document."""
    trust = f"trust:\n  ca_file: {directory}/ca.pem\n" if with_trust else ""
    permit = ", ".join(f'"{n}"' if ":" in n else n for n in layout.PERMIT)
    (directory / "appliance.yaml").write_text(
        f"resolver:\n  servers: [{layout.RESOLVER4}]\naddresses:\n  permit: [{permit}]\n{trust}"
    )
    (directory / "resolv.conf").write_text(f"nameserver {layout.RESOLVER4}\n")
    return {
        "dir": str(directory),
        "appliance": {
            "netns": appliance,
            "netns_path": str(netns.path(appliance)),
            "exec": ["nsenter", f"--net={netns.path(appliance)}", "--"],
            "config": str(directory / "appliance.yaml"),
            "addresses": {"v4": layout.APPLIANCE4, "v6": layout.APPLIANCE6},
            "permit": layout.PERMIT,
        },
        "internet": {
            "netns": internet,
            "netns_path": str(netns.path(internet)),
            "gateway": {"v4": layout.GATEWAY4, "v6": layout.GATEWAY6},
            "resolvers": [layout.RESOLVER4, layout.RESOLVER6],
        },
        "addresses": {role: {"v4": v4, "v6": v6} for role, (v4, v6) in layout.ADDRESSES.items()},
        "names": layout.NAMES,
        "ca": str(directory / "ca.pem"),
        "records": {kind: str(directory / "records" / f"{kind}.jsonl") for kind in layout.RECORD_KINDS},
    }


def down(directory, keep_records=False):
    """Removes a lab, whole or half made; nothing to do is success."""
    directory = Path(os.path.realpath(directory))
    if not directory.exists():
        _remove(directory, keep_records)
        return
    with _locked(directory):
        _remove(directory, keep_records)


def _remove(directory, keep_records, quiet=False):
    names = layout.namespace_names(directory)
    ours = processes.Ledger(directory).read()
    left = processes.end(ours)
    # Whatever else lives in the lab's namespaces was started in the lab.
    left += processes.end(processes.inside([netns.path(n) for n in names]))
    problems = [f"process {pid} does not end" for pid in left]
    for name in names:
        try:
            netns.remove(name)
        except netns.Failed as error:
            problems.append(str(error))
    made = (directory / "made-directory").exists()
    for name in FOLDERS + ([] if keep_records else KEPT_FOLDERS):
        shutil.rmtree(directory / name, ignore_errors=True)
    for name in FILES:
        (directory / name).unlink(missing_ok=True)
    if made:
        with contextlib.suppress(OSError):
            directory.rmdir()  # not when something else is in it
    if problems and not quiet:
        raise Failed("; ".join(problems))


@contextlib.contextmanager
def _locked(directory):
    """One `up` or `down` of a directory at a time."""
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Failed(f"another lab command is at work in {directory}") from None
    finally:
        os.close(fd)

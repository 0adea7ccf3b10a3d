"""The launcher's sandboxes and the firewall's attach together: a held sandbox is attached to, and what the task then connects to arrives."""

import shutil
import subprocess
import time

import pytest

import attach_client
from attach_client import OK, Attach
from launcher_client import ORDINARY, Launcher, find_driver

KINDS = ["runc", "bwrap", "ordinary"]


@pytest.fixture(scope="module")
def program():
    found, directory = attach_client.find_program()
    if not found or not find_driver():
        pytest.fail("no sallyport-attach or no sandbox_driver: build first", pytrace=False)
    yield found
    shutil.rmtree(directory)


@pytest.fixture(params=KINDS)
def launcher(request, program):
    made = Launcher(request.param)
    yield made
    made.close()


class Held:
    """A sandbox that waits to be attached to, until go()."""

    def __init__(self, launcher, command):
        files = launcher.directory("held")
        self.pid_file, self.go_file = files / "pid", files / "go"
        script = launcher.file(files / "held.sh", f"#!/bin/sh\necho $1 > {self.pid_file}.new; mv {self.pid_file}.new {self.pid_file}\n"
                               f"for i in $(seq 200); do [ -e {self.go_file} ] && exit 0; sleep 0.05; done; exit 1\n", 0o755)
        self.process = launcher.start(command, "--held", script, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(400):
            if self.pid_file.exists():
                break
            time.sleep(0.02)
        self.pid = int(self.pid_file.read_text())

    def go(self):
        self.go_file.touch()


def test_a_held_sandbox_is_attached_to(launcher, program):
    user = ORDINARY if launcher.ordinary else 0
    held = Held(launcher, ["curl", "-sS", "--max-time", "5", "http://allowed.test/path"])
    with Attach(program, user) as attach:
        reply = attach.request(f"/proc/{held.pid}/ns/net", held.pid)
        assert reply.status == OK, reply.detail
        listener = attach.listeners["proxy4"]
        listener.settimeout(10)
        held.go()
        connection, _ = listener.accept()
        connection.settimeout(5)
        assert connection.recv(4096).startswith(b"GET http://allowed.test/path HTTP/1.1\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello")
        connection.close()
        out, err = held.process.communicate(timeout=20)
        assert (held.process.returncode, out) == (0, b"hello"), err


def test_a_task_has_no_power_over_what_was_attached(launcher, program):  # firewall-003
    user = ORDINARY if launcher.ordinary else 0
    code = "nft flush ruleset; ip addr del 10.77.0.2/32 dev lo; ip link set lo down; echo 0 > /proc/sys/net/ipv4/ip_nonlocal_bind; curl -sS --max-time 5 --noproxy '*' http://192.0.2.1/"
    held = Held(launcher, ["sh", "-c", code + "; true"])
    with Attach(program, user) as attach:
        assert attach.request(f"/proc/{held.pid}/ns/net", held.pid).status == OK
        listener = attach.listeners["caught4"]
        listener.settimeout(10)
        held.go()
        connection, _ = listener.accept()
        assert connection.getsockname()[0] == "192.0.2.1"
        connection.close()
        assert held.process.wait(20) == 0
        held.process.stdout.close()
        held.process.stderr.close()

"""The lab's beginning and end: what up makes, down removes, whatever happened in between."""

import json
import os
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest
from lab import COMMAND, Lab, LabError
from miniature import layout, processes
from probes import inside

SLEEP = ["sleep", "300"]


def command(*arguments, env=None):
    return subprocess.run(COMMAND + list(map(str, arguments)), capture_output=True, text=True, timeout=30, env=env)


def namespaces():
    return {line.split()[0] for line in subprocess.check_output(["ip", "netns", "list"], text=True).splitlines()}


def alive(pid):
    return processes.start_time(pid) is not None


def recorded(directory):
    return [pid for pid, _ in processes.Ledger(directory).read()]


def assert_gone(directory, pids):
    assert not namespaces() & set(layout.namespace_names(directory))
    assert not [pid for pid in pids if alive(pid)]
    assert str(directory) not in Path("/proc/self/mountinfo").read_text()


def test_up_prints_one_document_and_down_leaves_nothing(tmp_path):
    directory = tmp_path / "lab"
    done = command("up", directory)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document == json.loads((directory / "lab.json").read_text())
    assert document["dir"] == str(directory)
    for path in [document["ca"], document["appliance"]["config"], *document["records"].values()]:
        assert Path(path).exists()
    pids = recorded(directory)
    assert len(pids) == 3 and all(map(alive, pids))
    assert {document["appliance"]["netns"], document["internet"]["netns"]} <= namespaces()

    assert command("down", directory).returncode == 0
    assert_gone(directory, pids)
    assert not directory.exists()


def test_down_is_idempotent_and_takes_a_directory_that_never_was(tmp_path):
    assert command("down", tmp_path / "never").returncode == 0
    with Lab(tmp_path / "lab"):
        pass
    assert command("down", tmp_path / "lab").returncode == 0
    assert not list(tmp_path.iterdir())


def test_down_leaves_what_it_did_not_make(tmp_path):
    (tmp_path / "mine").write_text("kept")
    with Lab(tmp_path):
        assert (tmp_path / "lab.json").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["mine"]


def test_down_can_keep_the_records(tmp_path):
    with Lab(tmp_path / "lab") as lab:
        inside(lab, "datagram('203.0.113.66', 9999, b'kept')")
        lab.wait()
        assert command("down", "--keep-records", lab.dir).returncode == 0
        assert b"203.0.113.66" in (lab.dir / "records" / "packets.jsonl").read_bytes()


def test_up_refuses_a_directory_with_a_lab(tmp_path):
    with Lab(tmp_path) as lab:
        again = command("up", tmp_path)
        assert again.returncode == 1 and "lab down" in again.stderr
        assert inside(lab, "print(1)") == 1  # the first one is untouched
        assert all(map(alive, recorded(tmp_path)))


@pytest.mark.parametrize("missing", ["nginx", "git", "openssl", "ip"])
def test_up_cleans_up_after_its_own_failure(tmp_path, missing):
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in {"nginx", "git", "openssl", "ip", "bash", "sh"} - {missing}:
        real = next(p for d in ("/usr/sbin", "/usr/bin", "/bin", "/sbin") if (p := Path(d, name)).exists())
        (tools / name).symlink_to(real)
    directory = tmp_path / "lab"
    before = namespaces()
    # git's own PATH is fixed by the lab; so its absence is a broken template of the same effect.
    env = {"PATH": str(tools)}
    if missing == "git":
        (directory / "git").parent.mkdir()
        (directory / "git").write_text("in the way")
        env = {"PATH": os.environ["PATH"]}
    done = command("up", directory, env=env)
    assert done.returncode == 1 and not done.stdout and done.stderr.startswith(("lab: ", "Traceback"))
    assert namespaces() == before
    assert_gone(directory, [])


def test_down_after_an_up_that_was_killed(tmp_path):
    """Killed at ten different moments, `up` leaves nothing that `down` does not find."""
    for step in range(10):
        directory = tmp_path / f"lab{step}"
        process = subprocess.Popen(COMMAND + ["up", str(directory)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(0.03 * step)
        process.kill()
        process.wait(5)
        time.sleep(0.05)  # a child between fork and its first word sees that nobody listens
        pids = recorded(directory) if directory.exists() else []
        inhabitants = [
            pid for pid, _ in processes.inside([f"/run/netns/{n}" for n in layout.namespace_names(directory)])
        ]
        down = command("down", directory)
        assert down.returncode == 0, down.stderr
        assert_gone(directory, pids + inhabitants)


def test_down_kills_no_process_that_merely_has_a_recorded_pid(tmp_path):
    with Lab(tmp_path) as lab:
        stranger, ours = subprocess.Popen(SLEEP), subprocess.Popen(SLEEP)
        try:
            with open(tmp_path / "pids", "a") as out:
                out.write(f"{stranger.pid} {processes.start_time(stranger.pid) - 1} reused\n")
                out.write(f"{ours.pid} {processes.start_time(ours.pid)} control\n")
            lab.down()
            assert stranger.poll() is None
            assert ours.wait(5) == -signal.SIGKILL  # the control: a matching record is honoured
        finally:
            stranger.kill(), ours.kill()
            stranger.wait(5), ours.wait(5)


def test_down_ends_what_was_left_running_inside(tmp_path):
    with Lab(tmp_path) as lab:
        left = lab.start(SLEEP, user="ordinary")
        while not processes.inside([lab.netns_path]):
            time.sleep(0.01)
    assert left.process.wait(5) == -signal.SIGKILL


def test_two_labs_do_not_see_each_other(tmp_path):
    with Lab() as one, Lab() as two:
        assert one.netns != two.netns
        inside(one, "datagram('203.0.113.66', 9999, b'from one')")
        inside(two, "datagram('203.0.113.66', 9999, b'from two')")
        for lab, text in ((one, b"from one"), (two, b"from two")):
            assert [p["payload"] for p in lab.packets(dport=9999)] == [text.hex()]
            assert [c["data"] for c in lab.connections("attacker")] == [text]
        one.zone("allowed.test", "A", "198.51.100.77")
        assert b"198.51.100.77" not in two.exec(["dig", "+short", "@198.51.100.53", "allowed.test"]).stdout_bytes
        pids = recorded(one.dir)
        one.down()
        assert not [pid for pid in pids if alive(pid)]
        assert two.exec(["true"]).exit == 0 and all(map(alive, recorded(two.dir)))


def test_neither_namespace_has_a_way_to_the_machine(lab):
    for name in (lab.netns, lab.doc["internet"]["netns"]):
        links = subprocess.check_output(["ip", "-n", name, "-o", "link"], text=True).splitlines()
        assert len(links) == 2, links
        assert lab.exec(["true"]).exit == 0
    # The veth's other end is in the other namespace of the lab, not in ours.
    machine = subprocess.check_output(["ip", "-o", "link"], text=True)
    assert "02:00:00:00:77" not in machine
    with socket.socket() as listener:
        listener.bind(("0.0.0.0", 0))
        listener.listen()
        port = listener.getsockname()[1]
        code = "try: connect(a[0], int(a[1])); print('true')\nexcept OSError: print('false')"
        own = [a for a in subprocess.check_output(["hostname", "-I"], text=True).split() if ":" not in a]
        for address in ["127.0.0.1", *own]:
            socket.create_connection((address, port), 3).close()  # the control
            assert inside(lab, code, address, port) is False


def test_the_appliance_is_configured(tmp_path):
    with Lab(tmp_path / "plain") as lab:
        text = lab.config.read_text()
        assert text == (
            "resolver:\n  servers: [198.51.100.53]\n"
            'addresses:\n  permit: [198.51.100.0/24, 203.0.113.0/24, "2001:db8::/32"]\n'
        )
    with Lab(tmp_path / "trusting", with_trust=True) as lab:
        assert lab.config.read_text() == text + f"trust:\n  ca_file: {lab.dir}/ca.pem\n"


def test_commands_run_as_whom_they_should(lab):
    assert lab.exec(["id", "-u"]).stdout == "0\n"
    ordinary = lab.exec(["sh", "-c", "id -u; id -G; cat /etc/shadow"], user="ordinary")
    assert ordinary.stdout == "61000\n61000\n" and ordinary.exit != 0
    assert lab.exec(["id", "-un"], user="nobody").stdout == "nobody\n"
    shell = command("exec", lab.dir, "--user", "ordinary", "--", "sh", "-c", "id -u; exit 7")
    assert (shell.stdout, shell.returncode) == ("61000\n", 7)


def test_a_wrong_request_to_the_lab_is_an_error(lab):
    with pytest.raises(LabError, match="record type"):
        lab.zone("x.test", "NOSUCH", ["1"])
    with pytest.raises(LabError, match="unknown in an answer"):
        lab.zone("x.test", "A", ["198.51.100.1"], tttl=1)
    with pytest.raises(LabError, match="no scripted host"):
        lab.script(81, b"x")
    with pytest.raises(LabError, match="mode is one of"):
        lab.script(80, b"x", mode="nonsense")
    assert command("zone", lab.dir, "x.test", "A", "not-an-address").returncode == 1
    assert command("records", "/nonexistent").returncode == 1

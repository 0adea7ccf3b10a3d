"""What sallyport-attach refuses. Every refusal stands beside the same namespace without the fault, which attaches."""

import os
import shutil
import subprocess

import pytest

import attach_client
from attach_client import OK, REFUSED, ORDINARY, Attach, Space


@pytest.fixture(scope="module")
def program():
    found, directory = attach_client.find_program()
    if not found:
        pytest.fail("no sallyport-attach: build first, or set SALLYPORT_BIN", pytrace=False)
    yield found
    shutil.rmtree(directory)


def attach_status(program, path, user=0, pid=0, through=(), **request):
    with Attach(program, user, through) as run:
        reply = run.request(path, pid, **request)
        assert reply.status in (OK, REFUSED), reply.detail
        assert bool(reply.descriptors) == (reply.status == OK)
        return reply.status, reply.detail


KINDS = ["root", "root-userns", "ordinary"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by", ["pid", "path"])
def test_a_fresh_namespace_is_attached_to_once(program, kind, by):
    with Space(kind) as space:
        pid = space.pid if by == "pid" else 0
        assert attach_status(program, space.path, space.user, pid) == (OK, "")
        status, detail = attach_status(program, space.path, space.user, pid)
        assert status == REFUSED and "already" in detail


LISTEN = "import socket, time; s = socket.socket(*{}); {}; print('ready', flush=True); time.sleep(60)"
FAULTS = {
    "interface": ["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1"],
    "veth named as a fallback tunnel": ["ip", "link", "add", "tunl0", "type", "veth", "peer", "name", "eth1"],
    "address": ["ip", "addr", "add", "10.9.9.9/32", "dev", "lo"],
    "address6": ["ip", "addr", "add", "2001:db8::9/128", "dev", "lo"],
    "route": ["sh", "-c", "ip link set lo up && ip route add 192.0.2.0/24 dev lo table 77"],
    "blackhole route": ["ip", "route", "add", "blackhole", "192.0.2.0/24"],
    "route6": ["sh", "-c", "ip link set lo up && ip -6 route add 2001:db8::/32 dev lo"],
    "rule": ["ip", "rule", "add", "from", "10.77.0.2", "lookup", "77"],
    "rule6": ["ip", "-6", "rule", "add", "lookup", "77"],
    "rule removed": ["ip", "rule", "del", "pref", "32767"],
    "table ip": ["nft", "add", "table", "ip", "x"],
    "table inet sallyport": ["nft", "add", "table", "inet", "sallyport"],
    "table netdev": ["nft", "add", "table", "netdev", "x"],
    "table arp": ["nft", "add", "table", "arp", "x"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_namespace_somebody_was_at_work_in_is_refused(program, kind, fault):
    with Space(kind) as space:
        space.must(*FAULTS[fault])
        status, detail = attach_status(program, space.path, space.user)
        assert status == REFUSED, detail
        assert detail.startswith("the namespace cannot be attached to: ")


def test_a_loopback_that_is_up_is_no_fault(program):
    with Space("root-userns") as space:  # as docker --network none leaves it
        space.must("ip", "link", "set", "lo", "up")
        assert attach_status(program, space.path) == (OK, "")


def test_a_legacy_iptables_table_is_refused(program):
    if not shutil.which("iptables-legacy"):
        pytest.skip("no iptables-legacy here")
    with Space("root") as space:
        space.must("iptables-legacy", "-L", "-n")
        status, detail = attach_status(program, space.path)
        assert status == REFUSED and "legacy ip filter" in detail


SOCKETS = {
    "tcp": ("(socket.AF_INET, socket.SOCK_STREAM)", "s.bind(('127.0.0.1', 8080)); s.listen()"),
    "tcp6": ("(socket.AF_INET6, socket.SOCK_STREAM)", "s.listen()"),
    "our port": ("(socket.AF_INET, socket.SOCK_STREAM)", "s.bind(('0.0.0.0', 15001)); s.listen()"),
    "udp": ("(socket.AF_INET, socket.SOCK_DGRAM)", "s.bind(('0.0.0.0', 5353))"),
    "udp6": ("(socket.AF_INET6, socket.SOCK_DGRAM)", "s.bind(('::', 53))"),
    "raw": ("(socket.AF_INET, socket.SOCK_RAW, 253)", "0"),
    "raw6": ("(socket.AF_INET6, socket.SOCK_RAW, 253)", "0"),
    "packet": ("(socket.AF_PACKET, socket.SOCK_RAW, 768)", "0"),
}


@pytest.mark.parametrize("kind", ["root-userns", "ordinary"])
@pytest.mark.parametrize("what", SOCKETS)
def test_a_foreign_socket_is_refused(program, kind, what):
    with Space(kind) as space:
        space.must("ip", "link", "set", "lo", "up")
        holder = space.start(LISTEN.format(*SOCKETS[what]))
        try:
            status, detail = attach_status(program, space.path, space.user)
        finally:
            holder.kill()
            holder.communicate(timeout=5)
        assert status == REFUSED and "foreign socket" in detail
        assert attach_status(program, space.path, space.user)[0] == OK  # control: it has gone


@pytest.mark.parametrize("user", [0, ORDINARY])
def test_our_own_namespace_is_refused(program, user):
    status, detail = attach_status(program, "/proc/self/ns/net", user)
    assert status == REFUSED and "itself runs in" in detail


ASK_FROM_INSIDE = """
import sys; sys.path.insert(0, sys.argv[1])
from attach_client import *
with Attach(sys.argv[2], through=['nsenter', '-t', sys.argv[3], '-n']) as run:
    reply = run.request(sys.argv[4])
    print(reply.status, reply.detail)
"""


def test_the_machines_namespace_is_refused_from_elsewhere(program):
    # Control and attach each run in another namespace, made elsewhere; the one to attach to is pid 1's.
    with Space("root", make=["unshare", "-n"]) as controls, Space("root") as attachs:
        said = controls.python(ASK_FROM_INSIDE, os.path.dirname(__file__), program, attachs.pid, f"/proc/{os.getpid()}/ns/net")
        assert said.startswith("2 ") and "pid 1" in said
        with Space("root") as target:  # control
            said = controls.python(ASK_FROM_INSIDE, os.path.dirname(__file__), program, attachs.pid, target.path)
            assert said.startswith("1"), said


def test_controls_namespace_is_refused_by_its_cookie(program):
    with Space("root", make=["unshare", "-n"]) as controls, Space("root") as attachs:
        said = controls.python(ASK_FROM_INSIDE, os.path.dirname(__file__), program, attachs.pid, "/proc/self/ns/net")
        assert said.startswith("2 ") and "itself runs in" in said


def test_attach_started_inside_the_task_by_mistake_is_refused(program):
    with Space("root") as space:
        through = ["nsenter", "-t", str(space.pid), "-n"]
        for path in (space.path, "/proc/self/ns/net"):  # the task's own; ours, from there
            status, detail = attach_status(program, path, through=through)
            assert status == REFUSED and "itself runs in" in detail, detail
        assert attach_status(program, space.path)[0] == OK  # control


POWER = ["unshare", "-n", "setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]


@pytest.mark.parametrize("by", ["pid", "path"])
@pytest.mark.parametrize("power", ["net_admin", "sys_admin"])
def test_a_task_that_can_undo_it_is_refused_without_a_user_namespace(program, power, by):
    for change, wanted in (([f"--bounding-set=-all,+{power}"], REFUSED),              # could regain it by a set-uid program
                           ([f"--bounding-set=-all,+{power}", "--no-new-privs"], OK),  # control: it cannot
                           (["--bounding-set=-all,+net_raw"], OK)):                    # control: another capability
        with Space("root", make=POWER + change) as space:
            status, detail = attach_status(program, space.path, pid=space.pid if by == "pid" else 0)
            assert status == wanted, (change, detail)
            assert wanted == OK or "CAP_NET_ADMIN or CAP_SYS_ADMIN" in detail


def test_root_with_all_capabilities_is_refused_without_a_user_namespace_only(program):
    with Space("root", make=["unshare", "-n"]) as space:
        status, detail = attach_status(program, space.path)
        assert status == REFUSED and f"process {space.pid} " in detail
    with Space("root-userns") as space:  # control: root inside, and harmless
        assert attach_status(program, space.path, pid=space.pid)[0] == OK


def test_an_ordinary_user_is_refused_the_namespaces_of_others(program):
    with Space("root") as space:
        status, detail = attach_status(program, space.path, user=ORDINARY)
        assert status == REFUSED and "only root can attach" in detail
    with Space("ordinary") as space:
        status, detail = attach_status(program, space.path, user=ORDINARY - 1)
        assert status == REFUSED and "no right to enter" in detail
        assert attach_status(program, space.path, user=ORDINARY)[0] == OK  # control


def test_a_pid_of_another_namespace_is_refused(program):
    with Space("root-userns") as space, Space("root-userns") as other:
        assert attach_status(program, space.path, pid=other.pid)[0] == REFUSED
        assert attach_status(program, space.path, pid=os.getpid())[0] == REFUSED
        assert attach_status(program, space.path, pid=0x7ffffff0)[0] == REFUSED
        assert attach_status(program, space.path, pid=space.pid)[0] == OK


def test_requests_of_another_form_are_refused(program):
    with Space("root-userns") as space:
        for change in ({"flags": 1}, {"protocol": 2}, {"pid": -1}, {"pool4": "10.77.0.0"}, {"pool4": "127.0.0.0"},
                       {"pool4_length": 31}, {"pool4": "198.18.16.1"}):
            assert attach_status(program, space.path, **change)[0] == REFUSED, change
        for path in ("/dev/null", f"/proc/{space.pid}/ns/mnt", f"/proc/{space.pid}/ns/user"):
            assert attach_status(program, path)[0] == REFUSED, path
        netns = os.open(space.path, os.O_RDONLY)
        for frame, descriptors in ((b"x", [netns]), (b"\0" * 64, [netns]), (b"\1\0\0\0" + b"\0" * 36, []),
                                   (b"\1\0\0\0\1\0\0\0" + b"\0" * 32, [netns, netns])):
            with Attach(program) as run:
                run.send(frame, descriptors)
                assert run.reply().status == REFUSED
        os.close(netns)
        assert attach_status(program, space.path)[0] == OK


def test_ipv6_that_is_switched_off_is_switched_on(program):  # firewall-002
    with Space("root-userns") as space:
        space.must("sh", "-c", "for c in all default lo; do echo 1 > /proc/sys/net/ipv6/conf/$c/disable_ipv6; done")
        assert attach_status(program, space.path)[0] == OK
        for name, value in (("all/disable_ipv6", "0"), ("lo/disable_ipv6", "0"), ("all/accept_ra", "0"), ("lo/accept_ra", "0")):
            assert space.must("cat", f"/proc/sys/net/ipv6/conf/{name}").strip() == value


def test_attach_ends_when_control_does(program):
    with Space("root-userns") as space:
        run = Attach(program)
        run.channel.close()
        assert run.process.wait(5) == 1
        run = Attach(program)
        assert run.request(space.path).status == OK
        run.close()  # before the self-test
        assert run.process.returncode == 1


def test_it_is_not_started_by_hand(program):
    done = subprocess.run([program], stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    assert done.returncode == 2 and b"started by sallyport" in done.stderr


def test_the_shipped_program_has_no_hole_in_it(program):
    assert b"SALLYPORT_HOLE" not in program.read_bytes()

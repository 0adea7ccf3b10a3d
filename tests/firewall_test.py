"""A namespace that sallyport-attach has made ready, from inside: everything is caught or refused at once, and a task has no
power over it. The proxy is the test's own; nothing of this touches a network beyond the namespaces made here."""

import os
import shutil
import socket
import time

import pytest

import attach_client
from attach_client import LISTENERS, OK, PROBES, PYTHON, RESOLVER, Attach, Proxy, Space

KINDS = ["root", "root-userns", "ordinary"]


@pytest.fixture(scope="module")
def program():
    found, directory = attach_client.find_program()
    if not found:
        pytest.fail("no sallyport-attach: build first, or set SALLYPORT_BIN", pytrace=False)
    yield found
    shutil.rmtree(directory)


class Ready:
    def __init__(self, program, kind):
        self.space = Space(kind)
        try:
            self.run = Attach(program, self.space.user)
            self.reply = self.run.request(self.space.path, self.space.pid)
            assert self.reply.status == OK, self.reply.detail
            self.listeners = self.run.listeners
            self.proxy = Proxy(self.listeners)
        except BaseException:
            self.space.close()
            raise

    def close(self):
        self.proxy.close()
        self.run.close()
        self.space.close()

    def counter(self, name):
        text = self.space.must("nft", "list", "counter", "inet", "sallyport", name)
        return int(text.split("packets")[1].split()[0])


@pytest.fixture(params=KINDS)
def ready(program, request):
    made = Ready(program, request.param)
    yield made
    made.close()


@pytest.fixture
def ordinary(program):
    made = Ready(program, "ordinary")
    yield made
    made.close()


def test_a_sandbox_of_bwrap_is_attached_to(program):
    # Its network namespace belongs to bwrap's outer user namespace, whatever the process is in; lo is up already.
    if not shutil.which("bwrap"):
        pytest.skip("no bwrap here")
    make = attach_client.as_user(attach_client.ORDINARY) + ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--die-with-parent"]
    with Space("ordinary", make=make) as space:
        inside = space.child()
        with Attach(program, attach_client.ORDINARY) as run:
            reply = run.request(f"/proc/{inside}/ns/net", inside)
            assert reply.status == OK, reply.detail
            with Proxy(run.listeners):
                assert not [name for name, outcome in run.probe(os.urandom(16)).items() if outcome[0] == "failed"]


CONNECT = """
import socket, sys
for target in sys.argv[1:]:
    host, port = target.rsplit(' ', 1)
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET)
    s.settimeout(3)
    try:
        s.connect((host, int(port)))
        s.sendall(b'hello')
        print(s.recv(256).decode().strip() or 'closed')
    except OSError as e:
        print('error', e.errno)
    s.close()
"""

SEND = """
import socket, sys, time
for target in sys.argv[1:]:
    host, port = target.rsplit(' ', 1)
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM)
    begun = time.monotonic()
    try:
        s.sendto(b'\\xc0' + bytes(1199), (host, int(port)))
        print('sent')
    except OSError as e:
        print('error', e.errno, 'at once' if time.monotonic() - begun < 0.5 else 'late')
"""

ECHO = """
import socket, sys
sockets = []
for a in sys.argv[1:]:
    kind, host, port = a.split(' ')
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
    if ':' in host: s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    s.bind((host, int(port)))
    if kind == 'tcp': s.listen()
    sockets.append(s)
print('ready', flush=True)
import selectors
sel = selectors.DefaultSelector()
for s in sockets: sel.register(s, selectors.EVENT_READ)
while True:
    for key, _ in sel.select():
        s = key.fileobj
        if s.type == socket.SOCK_STREAM:
            c, _ = s.accept(); c.sendall(b'own program'); c.close()
        else:
            data, peer = s.recvfrom(2048); s.sendto(b'own program', peer)
"""


def own_program(space, *where):
    return space.start(ECHO, *where)


def end(process):
    process.kill()
    process.communicate(timeout=5)


def test_listeners_are_what_they_should_be(ready):
    names = {name: one.getsockname()[:2] for name, one in ready.listeners.items()}
    assert names == {"proxy4": ("127.0.0.1", 3128), "proxy6": ("::1", 3128), "caught4": ("0.0.0.0", 15001),
                     "caught6": ("::", 15001), "dns4": ("0.0.0.0", 53), "dns6": ("::", 53)}
    status = os.stat(ready.space.path)
    assert (ready.reply.device, ready.reply.inode) == (status.st_dev, status.st_ino)
    for name, one in ready.listeners.items():
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR) == 0
        assert one.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT) == 0
        assert int.from_bytes(one.getsockopt(socket.SOL_SOCKET, 71, 8), "little") == ready.reply.cookie
        assert not os.get_blocking(one.fileno())
        if one.family == socket.AF_INET6:
            assert one.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY) == 1


def test_self_test_passes_and_the_proxy_recorded_it(ready):
    nonce = os.urandom(16)
    found = ready.run.probe(nonce)
    assert sorted(found) == sorted(PROBES)
    assert not {name: outcome for name, outcome in found.items() if outcome[0] == "failed"}
    assert ready.run.process.wait(5) == 0
    lines = {line.decode().split()[2]: (destination, port) for name, destination, port, line in ready.proxy.seen if isinstance(line, bytes)}
    assert lines == {"raw-address": ("192.0.2.1", 80), "raw-address-tls": ("192.0.2.1", 443), "odd-port": ("192.0.2.1", 65535),
                     "ipv6": ("2001:db8::1", 80), "metadata": ("169.254.169.254", 80), "metadata6": ("fd00:ec2::254", 80),
                     "foreign-dns-tcp": ("192.0.2.53", 53)}
    queries = {(destination, name) for _, destination, _, name in ready.proxy.seen if isinstance(name, str)}
    assert queries == {(to, f"{nonce.hex()}-{probe}.probe.sallyport.internal") for to, probe in
                       (("192.0.2.53", "foreign-dns"), ("2001:db8::53", "foreign-dns6"), (RESOLVER, "resolver"))}


def test_self_test_is_bounded_and_fails_when_nobody_answers(program):
    with Space("root-userns") as space, Attach(program) as run:
        assert run.request(space.path).status == OK
        begun = time.monotonic()
        found = run.probe(os.urandom(16), 300)
        assert time.monotonic() - begun < 2
        failed = {name for name, outcome in found.items() if outcome[0] == "failed"}
        assert failed == {"raw-address", "raw-address-tls", "odd-port", "ipv6", "metadata", "metadata6", "foreign-dns-tcp", "foreign-dns",
                          "foreign-dns6", "resolver"}


def test_attach_holds_the_network_capabilities_alone(program):
    for kind in KINDS:
        with Space(kind) as space, Attach(program, space.user) as run:
            assert run.request(space.path).status == OK
            status = dict(line.split(":\t") for line in open(f"/proc/{run.process.pid}/status").read().splitlines() if ":\t" in line)
            wanted = (1 << 12) | (1 << 10) | (1 << 13)  # NET_ADMIN, NET_BIND_SERVICE, NET_RAW
            assert int(status["CapEff"], 16) == wanted and int(status["CapPrm"], 16) == wanted
            assert int(status["CapBnd"], 16) == 0 and int(status["CapInh"], 16) == 0 and int(status["CapAmb"], 16) == 0
            assert status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"


def test_every_port_of_every_address_is_caught(ready):  # transparent-003, transparent-006, firewall-001
    targets = [f"{host} {port}" for host in ("198.51.100.7", "2001:db8::7", "10.1.2.3", "169.254.169.254", "fd00:ec2::254", RESOLVER)
               for port in (22, 25, 53, 80, 443, 853, 3000, 3128, 5432, 8080, 15001, 65535)]
    said = ready.space.python(CONNECT, *targets, powerless=True, timeout=30).splitlines()
    assert said == [f"HEARD {target}" for target in targets]
    assert {name for name, *_ in ready.proxy.seen} == {"caught4", "caught6"}
    assert ready.counter("caught") >= len(targets)


def test_the_explicit_proxy_is_on_loopback(ready):
    said = ready.space.python(CONNECT, "127.0.0.1 3128", "::1 3128", powerless=True).splitlines()
    assert said == ["HEARD 127.0.0.1 3128", "HEARD ::1 3128"]
    assert [name for name, *_ in ready.proxy.seen] == ["proxy4", "proxy6"]


def test_the_tasks_own_programs_are_not_caught(ready):
    own = own_program(ready.space, "tcp 0.0.0.0 443", "tcp :: 443")
    try:
        here = ["127.0.0.1 443", "127.9.9.9 443", "10.77.0.2 443", "::1 443", "fd77:7370::2 443"]
        assert ready.space.python(CONNECT, *here).splitlines() == ["own program"] * 5
        # A listener of the task on 0.0.0.0:443 does not catch its connections to other hosts.
        elsewhere = ["198.51.100.7 443", "2001:db8::7 443"]
        assert ready.space.python(CONNECT, *elsewhere).splitlines() == [f"HEARD {target}" for target in elsewhere]
    finally:
        end(own)
    nothing = ["127.0.0.1 443", "10.77.0.2 443", "fd77:7370::2 80", "::1 80"]
    assert ready.space.python(CONNECT, *nothing).splitlines() == ["error 111"] * 4


def test_a_connection_straight_to_the_catch_all_port_can_be_told(ready):  # transparent-005
    targets = ["127.0.0.1 15001", "10.77.0.2 15001", "::1 15001", "fd77:7370::2 15001"]
    ready.space.python(CONNECT, *targets)
    assert [f"{destination} {port}" for _, destination, port, _ in ready.proxy.seen] == targets


def test_a_source_that_the_task_made_up_changes_nothing(ready):  # firewall-009
    code = ("import socket\ns = socket.socket(); s.bind(('203.0.113.77', 0)); s.settimeout(3); s.connect(('198.51.100.7', 80))\n"
            "s.sendall(b'x'); print(s.recv(99).decode().strip())")
    assert ready.space.python(code, powerless=True) == "HEARD 198.51.100.7 80"


def test_udp_fails_at_once(ready):  # transparent-008, firewall-001
    targets = [f"{host} {port}" for host in ("198.51.100.7", "2001:db8::7", "224.0.0.251") for port in (443, 853, 9, 123, 5353, 15001)]
    said = ready.space.python(SEND, *targets, powerless=True).splitlines()
    assert said == ["error 1 at once"] * len(targets)
    assert ready.counter("refused_udp_443") == 3
    assert ready.counter("refused_udp_853") == 3
    assert ready.counter("refused_udp") == 12


def test_udp_between_the_tasks_own_programs_works(ready):
    own = own_program(ready.space, "udp 0.0.0.0 9999", "udp :: 9999")
    code = ("import socket, sys\nfor host in sys.argv[1:]:\n s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM)\n"
            " s.settimeout(3); s.sendto(b'x', (host, 9999)); print(s.recvfrom(99)[0].decode())")
    try:
        assert ready.space.python(code, "127.0.0.1", "10.77.0.2", "::1", "fd77:7370::2").splitlines() == ["own program"] * 4
    finally:
        end(own)
    closed = ("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(('127.0.0.1', 9998)); s.settimeout(3); s.send(b'x')\n"
              "try: s.recv(9)\nexcept OSError as e: print(e.errno)")
    assert ready.space.python(closed) == "111"  # the kernel's notice of a closed port comes through


def test_dns_is_ours_to_answer_whatever_its_address(ready):  # dns-007
    code = """
import socket, struct, sys
query = struct.pack('>HHHHHH', 77, 256, 1, 0, 0, 0) + b'\\6denied\\4test\\0' + struct.pack('>HH', 1, 1)
for host in sys.argv[1:]:
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(3)
    s.sendto(query, (host, 53))
    answer, source = s.recvfrom(512)
    assert answer[:2] == query[:2] and answer[3] & 15 == 3
    print(source[0])
"""
    servers = ["192.0.2.8", RESOLVER, "192.0.2.53", "127.0.0.1", "127.0.0.53", "10.77.0.2", "3fff::8888", "fd53:7079:1:2::1", "::1"]
    assert ready.space.python(code, *servers, powerless=True).splitlines() == servers
    assert [(to, name) for _, to, _, name in ready.proxy.seen] == [(server, "denied.test") for server in servers]


RAW = """
import os, socket, sys
for a in sys.argv[1:]:
    protocol, host = a.split(' ')
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_RAW, int(protocol))
    try:
        s.sendto((b'\\x80' if protocol == '58' else b'\\x08') + bytes(1007), (host, 0))
        print('sent')
    except OSError as e:
        print('error', e.errno)
"""


def test_icmp_and_other_protocols_are_refused(ready):  # firewall-008, firewall-001
    # SCTP (132), GRE (47), ESP (50), experiments (253): as the root of the namespace, who may make such a socket.
    targets = ["1 198.51.100.7", "58 2001:db8::7", "253 198.51.100.7", "132 198.51.100.7", "47 198.51.100.7", "132 2001:db8::7", "50 2001:db8::7"]
    assert ready.space.python(RAW, *targets).splitlines() == ["error 1"] * len(targets)
    assert ready.counter("refused_icmp") == 2 and ready.counter("refused_other") == 5
    assert ready.space.python(RAW, "1 127.0.0.1", "58 ::1").splitlines() == ["sent", "sent"]  # control
    said = ready.space.run(PYTHON, "-c", RAW, "1 198.51.100.7", powerless=True)
    assert said.returncode != 0 and "PermissionError" in said.stderr  # a task has no raw socket at all


def test_a_task_without_power_changes_nothing(ready):  # firewall-003
    # The network namespace alone is shared with it: its powers are those of a user namespace below.
    for command in (["nft", "flush", "ruleset"], ["nft", "add", "rule", "inet", "sallyport", "leaving", "accept"], ["ip", "link", "set", "lo", "down"],
                    ["ip", "route", "add", "192.0.2.0/24", "dev", "lo"], ["ip", "link", "add", "v", "type", "veth"], ["ip", "rule", "add", "lookup", "7"],
                    ["ip", "addr", "add", "192.0.2.1/32", "dev", "lo"], ["unshare", "-Ur", "nft", "flush", "ruleset"]):
        assert ready.space.run(*command, powerless=True).returncode != 0, command
    if ready.space.kind == "root":  # elsewhere the task here is the namespace's uid 0, to which its sysctls belong
        for line in ("echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6", "echo 1 > /proc/sys/net/ipv4/ip_forward"):
            assert ready.space.run("sh", "-c", line, powerless=True).returncode != 0, line
    found = ready.run.probe(os.urandom(16))
    assert not [name for name, outcome in found.items() if outcome[0] == "failed"]


def test_what_root_inside_changes_leads_nowhere_and_is_noticed(program):  # firewall-003
    made = Ready(program, "root-userns")
    try:
        assert made.space.python(CONNECT, "198.51.100.7 80") == "HEARD 198.51.100.7 80"
        made.space.must("nft", "flush", "ruleset")
        assert made.space.python(CONNECT, "198.51.100.7 80") == "error 111"  # no way out: the address is local
        # The catch-all port can be reached directly now; the destination is still what the kernel says.
        assert made.space.python(CONNECT, "198.51.100.7 15001", "127.0.0.1 15001").splitlines() == ["HEARD 198.51.100.7 15001",
                                                                                                 "HEARD 127.0.0.1 15001"]
        found = made.run.probe(os.urandom(16))
        failed = {name for name, outcome in found.items() if outcome[0] == "failed"}
        assert {"ruleset", "raw-address", "ipv6", "metadata", "udp", "udp-443", "icmp"} <= failed
    finally:
        made.close()


def test_an_interface_added_later_is_noticed(program):
    for command, probe in ((["ip", "link", "add", "eth0", "type", "veth", "peer", "name", "eth1"], "interfaces"),
                           (["ip", "route", "add", "blackhole", "169.254.169.254"], "routes"), (["ip", "rule", "add", "lookup", "7"], "rules"),
                           (["nft", "add", "table", "ip", "x"], "ruleset")):
        made = Ready(program, "ordinary")
        try:
            made.space.must(*command)
            assert made.run.probe(os.urandom(16))[probe][0] == "failed"
        finally:
            made.close()


def test_a_foreign_listener_is_noticed(ordinary):
    own = own_program(ordinary.space, "tcp 0.0.0.0 8080")
    try:
        status, _, detail = ordinary.run.probe(os.urandom(16))["foreign-listener"]
        assert status == "failed" and "port 8080" in detail
    finally:
        end(own)


STEAL = """
import socket, sys
for a in sys.argv[1:]:
    kind, host, port = a.split(' ')
    s = socket.socket(socket.AF_INET6 if ':' in host else socket.AF_INET, socket.SOCK_STREAM if kind == 'tcp' else socket.SOCK_DGRAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        s.bind((host, int(port)))
        if kind == 'tcp': s.listen()
        print('bound')
    except OSError as e:
        print('error', e.errno)
    s.close()
"""


def test_no_socket_can_be_bound_beside_ours(ready):
    ours = [f"tcp {host} {port}" for host, port in (("127.0.0.1", 3128), ("0.0.0.0", 3128), ("::1", 3128), ("::", 3128), ("0.0.0.0", 15001),
                                                    ("127.0.0.1", 15001), ("10.77.0.2", 15001), ("::", 15001), ("::1", 15001))]
    ours += [f"udp {host} 53" for host in ("0.0.0.0", "127.0.0.1", RESOLVER, "192.0.2.8", "::", "::1")]
    assert ready.space.python(STEAL, *ours).splitlines() == ["error 98"] * len(ours)
    assert ready.space.python(STEAL, "tcp 0.0.0.0 3129", "udp 0.0.0.0 5353", "tcp ::1 15002").splitlines() == ["bound"] * 3  # control


def test_the_namespaces_buffer_sizes_do_not_reach_our_sockets(program):
    made = Ready(program, "root-userns")
    try:
        made.space.must("sh", "-c", "echo '4096 67108864 67108864' > /proc/sys/net/ipv4/tcp_rmem")
        made.space.python(CONNECT, "198.51.100.7 80", "127.0.0.1 3128")
        assert [one["rcvbuf"] for one in made.proxy.accepted] == [2 * 128 * 1024] * 2
        own = made.space.python("import socket\na = socket.socket(); a.bind(('127.0.0.1', 0)); a.listen()\n"
                                "b = socket.create_connection(a.getsockname()); print(a.accept()[0].getsockopt(1, 8))")
        assert int(own) > 1 << 20  # control: it does reach the task's
    finally:
        made.close()


def test_the_listeners_outlive_attach_and_the_task(ordinary):
    assert len(ordinary.listeners) == len(LISTENERS)
    ordinary.run.probe(os.urandom(16))
    assert ordinary.run.process.wait(5) == 0
    assert ordinary.space.python(CONNECT, "198.51.100.7 80") == "HEARD 198.51.100.7 80"


def test_packets_with_options_and_fragments_stay_inside(program):  # firewall-012
    code = """
import socket
s = socket.socket(); s.settimeout(3)
try:
    s.setsockopt(socket.IPPROTO_IP, 4, b'\\x83\\x07\\x04\\xc6\\x33\\x64\\x09\\x00')  # IP_OPTIONS: loose source route by 198.51.100.9
    s.connect(('198.51.100.7', 80)); s.sendall(b'x'); print(s.recv(99).decode().strip())
except OSError as e:
    print('error', e.errno)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    u.sendto(bytes(60000), ('198.51.100.7', 443)); print('sent')
except OSError as e:
    print('error', e.errno)
"""
    made = Ready(program, "root-userns")
    try:
        for powerless in (True, False):
            options, fragments = made.space.python(code, powerless=powerless).splitlines()
            assert fragments == "error 1"
            assert options.startswith(("error", "HEARD 198.51.100."))
    finally:
        made.close()

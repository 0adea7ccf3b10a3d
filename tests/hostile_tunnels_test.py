"""What a task can do to the proxy through tunnels, and what it costs a second task beside it: readers that never read, bytes one at a time, urgent
data in floods, killed connections, 10,000 CONNECTs that go no further, all descriptors taken. Bounds as in hostile_http_test.py."""

import pytest

from hostile_http_test import KIB, MIB, attack, beside, check_memory  # noqa: F401

CONNECT = r"""
def connect(name="raw.test:5432", seconds=5, small=False):
    s = socket.socket(); s.settimeout(seconds)
    if small: s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.connect(("127.0.0.1", 3128)); s.sendall(f"CONNECT {name} HTTP/1.1\r\nHost: {name}\r\n\r\n".encode()); data = b""
    while b"\r\n\r\n" not in data: data += s.recv(1)
    assert b" 200 " in data, data
    return s
"""


def test_readers_that_never_read_a_tunnel(lab, sallyport, attack):  # noqa: F811
    """Each is sent 4 MiB and takes none of it: little is held for it, in memory or in pipes, and a stream beside them flows."""
    lab.script(5432, b"d" * (4 * MIB), trigger="data")
    attacked = attack(CONNECT + r"""
held = []
for n in range(300): s = connect(small=True); s.sendall(b"go"); held.append(s)
time.sleep(1); say(held=len(held)); say(own=ask()[9:12].decode())
s = connect(); s.sendall(b"go"); got = 0
while got < 4 << 20: got += len(s.recv(1 << 20))
say(beside=got); stay(30)
""")
    assert attacked.until_said("held", 30) == 300 and attacked.until_said("own") == "200" and attacked.until_said("beside") == 4 * MIB
    beside(sallyport)
    check_memory(attacked, 300, 96 * KIB)
    assert attacked.processor_share() < 0.25


def test_bytes_one_at_a_time(lab, sallyport, attack):  # noqa: F811
    lab.script(5432, mode="echo")
    attacked = attack(CONNECT + r"""
held = [connect() for n in range(50)]; say(begun=True); end = time.monotonic() + 3; sent = 0
while time.monotonic() < end:
    for s in held: s.send(b"."); sent += 1
    time.sleep(0.002)
got = 0
for s in held:
    s.shutdown(socket.SHUT_WR)
    while piece := s.recv(65536): got += len(piece)
say(sent=sent, got=got); say(own=ask()[9:12].decode()); stay(10)
""")
    attacked.until_said("begun")
    beside(sallyport)
    assert attacked.until_said("got") == attacked.until_said("sent") > 1000 and attacked.until_said("own") == "200"
    check_memory(attacked, 50)


def test_floods_of_urgent_data(lab, sallyport, attack):  # noqa: F811
    """Also in the middle of what is spliced; afterwards the proxy is at rest although urgent bytes lie unread."""
    lab.script(5432, mode="hold")
    attacked = attack(CONNECT + r"""
held = [connect() for n in range(20)]; say(begun=True); end = time.monotonic() + 3; marks = 0
while time.monotonic() < end:
    for n, s in enumerate(held):
        s.setblocking(False)
        try:
            if n % 2: s.send(b"z" * 100000)
            s.send(b"!", socket.MSG_OOB); marks += 1
        except OSError: pass
    time.sleep(0.001)
time.sleep(0.5); say(marks=marks); say(own=ask()[9:12].decode()); stay(20)
""")
    attacked.until_said("begun")
    beside(sallyport)
    assert attacked.until_said("marks") > 500 and attacked.until_said("own") == "200"
    assert attacked.processor_share() < 0.25
    check_memory(attacked, 20, 96 * KIB)


def test_killed_connections_leave_the_proxy_calm(lab, sallyport, attack):  # noqa: F811
    """`ss -K` with the rights of root in the task's namespace, which a task does not have: on tunnels that stand still and that are blocked."""
    lab.script(5432, b"d" * MIB, trigger="data")
    attacked = attack(CONNECT + r"""
held = [connect(small=n % 2) for n in range(40)]
for s in held[::2]: s.sendall(b"go")
say(held=len(held)); time.sleep(4)
gone = 0
for s in held:
    state = select.poll(); state.register(s, 0); gone += any(events & (select.POLLERR | select.POLLHUP) for _, events in state.poll(0))
say(gone=gone); stay(20)
""")
    assert attacked.until_said("held") == 40
    inside = next(pid for name, pids in attacked.run.processes().items() if name.startswith("python3") for pid in pids)
    lab.exec(["nsenter", f"--net=/proc/{inside}/ns/net", "ss", "-K", "-nt", "state", "established"], timeout=10)
    if attacked.until_said("gone") == 0:
        pytest.skip("this kernel does not kill sockets (CONFIG_INET_DIAG_DESTROY)")
    assert attacked.processor_share() < 0.25
    assert all(c.get("reason") for c in lab.connections("raw")), "an upstream connection outlived its client"
    beside(sallyport, 0.7)


def test_10000_connects_that_go_no_further(lab, sallyport, attack):  # noqa: F811
    """Half of a CONNECT, and tunnels that stand still: the task itself is still served, and so is the neighbour."""
    lab.script(5432, mode="hold")
    attacked = attack(CONNECT + r"""
held = [connect() for n in range(500)]
for n in range(9_500):
    s = dial(seconds=3); s.sendall(b"CONNECT raw.test:5432 HTTP/1.1\r\nHost:"); held.append(s)
say(held=len(held)); say(own=ask()[9:12].decode()); stay(30)
""")
    assert attacked.until_said("held", 45) == 10_000 and attacked.until_said("own") == "200"
    beside(sallyport)
    check_memory(attacked, 10_000)
    assert attacked.processor_share() < 0.25


def test_tunnels_take_all_descriptors(lab, sallyport, attack):  # noqa: F811
    """A proxy that may have few descriptors: tunnels beyond them are refused, those that stand go on (by copying, without pipes), nothing spins,
    the neighbour notices nothing, and with the tunnels gone all is as before."""
    lab.script(5432, mode="echo")
    attacked = attack(CONNECT + r"""
say(own=ask()[9:12].decode()); time.sleep(2); held = [connect()]; refused = 0
for n in range(400):
    try: held.append(connect(seconds=1))
    except (OSError, AssertionError): refused += 1
    if refused > 20: break
say(refused=refused, held=len(held))
s, got = held[0], 0
def send():
    for n in range(64): s.sendall(b"e" * 65536)
threading.Thread(target=send, daemon=True).start()
while got < 4 << 20: got += len(s.recv(1 << 20))
say(echoed=got); time.sleep(2); [s.close() for s in held]; time.sleep(1); say(after=ask()[9:12].decode()); stay(10)
""", wrap=["prlimit", "--nofile=300:300"])
    assert attacked.until_said("own") == "200"
    assert attacked.until_said("refused", 45) > 0
    assert attacked.until_said("echoed", 20) == 4 * MIB
    assert attacked.processor_share() < 0.35
    beside(sallyport, 0.7)
    assert attacked.until_said("after") == "200"

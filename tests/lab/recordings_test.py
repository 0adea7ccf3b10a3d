"""Each recording has a control here: what leaves is seen. Without these, "nothing left" of
another test would prove nothing."""

import os
import signal
from pathlib import Path

import pytest
from lab import Lab, LabError
from miniature import processes
from probes import converse, inside

BOTH = [("198.51.100.30", "192.168.77.2"), ("2001:db8::30", "fd77::2")]


def test_nothing_is_recorded_when_nothing_happens(lab):
    assert inside(lab, "time.sleep(0.2); print(1)") == 1
    for kind in ("packets", "loopback", "dns", "connections", "requests"):
        assert lab.records(kind) == []


@pytest.mark.parametrize("address, source", BOTH)
def test_a_connection_is_seen(lab, address, source):
    converse(lab, address, 8080, b"GET / HTTP/1.1\r\n\r\n", half_close=True)
    (packet,) = lab.packets()
    assert (packet["proto"], packet["src"], packet["dst"], packet["dport"]) == ("tcp", source, address, 8080)
    assert (packet["flags"], packet["event"]) == ("S", "start")
    (connection,) = lab.connections()
    assert (connection["role"], connection["sport"]) == ("raw", packet["sport"])
    assert connection["data"] == b"GET / HTTP/1.1\r\n\r\n" and connection["bytes"] == 18
    assert connection["reason"] == "client-fin"


def test_an_attempt_that_is_refused_is_seen(lab):
    inside(lab, "try: connect('198.51.100.60', 80)\nexcept ConnectionRefusedError: pass")
    assert len(lab.packets(dst="198.51.100.60", dport=80, flags="S")) == 1
    assert lab.connections() == []


@pytest.mark.parametrize("address", ["203.0.113.66", "2001:db8:bad::66", "192.0.2.8", "203.0.113.200"])
def test_a_datagram_is_seen_whether_or_not_anybody_listens(lab, address):
    inside(lab, "datagram(a[0], 443, b'initial')", address)
    (packet,) = lab.packets(proto="udp")
    assert (packet["dst"], packet["dport"], bytes.fromhex(packet["payload"])) == (address, 443, b"initial")


def test_an_echo_request_is_seen(lab):
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.sendto(bytes.fromhex("0800f7fd00010001"), ("203.0.113.66", 0))
s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
s.sendto(bytes.fromhex("8000000000010001"), ("2001:db8:bad::66", 0))
"""
    inside(lab, code)
    assert [(p["proto"], p["icmp_type"]) for p in lab.packets()] == [("icmp", 8), ("icmpv6", 128)]


def test_a_segment_without_a_connection_is_seen(lab):
    """Data can leave in ACK segments that no SYN came before."""
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)
for _ in range(3): s.sendto(struct.pack("!HHIIBBHHH", 5555, 443, 1, 1, 0x50, 0x10, 100, 0, 0) + b"secret", ("203.0.113.66", 0))
"""
    inside(lab, code)
    packets = lab.packets(dst="203.0.113.66", dport=443)
    assert [(p["event"], p["flags"]) for p in packets[:3]] == [("stray", "A")] * 3


def test_fragments_and_foreign_protocols_are_seen(lab):
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, 132); s.sendto(b"sctp", ("203.0.113.66", 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b"f" * 4000, ("203.0.113.66", 9))
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("eth0", 0))
s.send(bytes.fromhex("020000007701" "020000007702" "9999") + b"odd")
s.send(bytes.fromhex("020000007701" "020000007702" "0800") + b"cut")
"""
    inside(lab, code)
    protos = [p["proto"] for p in lab.packets()]
    assert protos == ["ip-132", "udp", "fragment", "fragment", "ethertype-9999", "unreadable"]


def test_the_links_own_upkeep_is_not_taken_for_traffic(lab):
    code = """
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("eth0", 0))
s.send(bytes.fromhex("ffffffffffff" "020000007702" "0806") + b"\\0" * 28)
s.sendall(bytes.fromhex("020000007701" "020000007702" "86dd" "6000000000083aff") + b"\\xfe" * 32 + bytes([135]) + b"\\0" * 7)
"""
    inside(lab, code)
    assert lab.records("packets") == []


def test_what_left_a_moment_ago_is_there_without_sleeping(lab):
    for number in range(20):
        inside(lab, "for n in range(200): datagram('203.0.113.66', 9999, b'%d' % n)")
        packets = lab.packets(dport=9999)
        assert [bytes.fromhex(p["payload"]) for p in packets] == [b"%d" % n for n in range(200)], number
        assert len(lab.connections("attacker")) == 200
        lab.clear_records()


def test_packets_from_every_cpu_are_there(lab):
    code = """
for cpu in os.sched_getaffinity(0):
    os.sched_setaffinity(0, {cpu}); datagram('203.0.113.66', 9999, b'c%d' % cpu)
"""
    for _ in range(20):
        inside(lab, code)
        assert len(lab.packets(dport=9999)) == len(os.sched_getaffinity(0))
        lab.clear_records()


def test_loopback_of_the_appliance_is_watched(lab):
    got, _ = converse(lab, "127.0.0.1", 80, b"x", half_close=True)
    assert b"loopback was reached" in got
    inside(lab, "try: connect('::1', 9)\nexcept OSError: pass")
    assert [(p["dst"], p["dport"]) for p in lab.records("loopback") if p["flags"] == "S"] == [("127.0.0.1", 80), ("::1", 9)]
    assert [c["role"] for c in lab.connections()] == ["loopback"]
    assert lab.records("packets") == []


@pytest.mark.parametrize("role", ["attacker", "internal", "elsewhere"])
def test_every_trap_records_and_answers(lab, role):
    addresses = lab.addresses[role]["v4"] + lab.addresses[role]["v6"]
    for address in addresses:
        for port in (80, 443, 5432, 65535):
            got, _ = converse(lab, address, port, b"are you there?", half_close=True)
            assert f"{role} was reached".encode() in got
    assert [(c["dst"], c["dport"], c["data"]) for c in lab.connections(role)] == [
        (address, port, b"are you there?") for address in addresses for port in (80, 443, 5432, 65535)
    ]


def test_unpermitted_destinations_are_told_from_permitted_ones(lab):
    inside(lab, "for x in a: datagram(x, 9999, b'x')", "198.51.100.10", "2001:db8::10", "10.0.0.5", "169.254.169.254", "fd00:ec2::254")
    assert [p["dst"] for p in lab.packets_to_unpermitted()] == ["10.0.0.5", "169.254.169.254", "fd00:ec2::254"]
    assert [p["dst"] for p in lab.packets_except("10.0.0.0/8", ("198.51.100.10", 9999), ("2001:db8::10", 53))] == [
        "2001:db8::10", "169.254.169.254", "fd00:ec2::254",
    ]


def test_connections_to_nginx_are_counted_to_the_byte(lab):
    request = b"POST /upload HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 3000000\r\nConnection: close\r\n\r\n"
    code = """
s = connect("198.51.100.10", 80); s.sendall(bytes.fromhex(a[0]) + b"u" * 3000000); print(json.dumps(len(read_all(s))))
"""
    received = inside(lab, code, request.hex())
    (connection,) = lab.connections("allowed")
    assert connection["bytes"] == len(request) + 3000000
    closing = [e for e in lab.records("connections") if e["event"] == "close"]
    assert closing[0]["sent"] == received and closing[0]["reason"] == "server-fin"
    (entry,) = lab.records("requests")
    assert (entry["target"], entry["host"], entry["status"]) == ("/upload", "allowed.test", 200)


def test_a_reset_is_told_from_a_fin(lab):
    code = """
for port, host in ((80, "198.51.100.10"), (8080, "198.51.100.30")):
    s = connect(host, port); s.sendall(b"GET"); time.sleep(0.1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close()
"""
    inside(lab, code)
    assert {c["role"]: (c["bytes"], c["reason"]) for c in lab.connections()} == {
        "allowed": (3, "client-reset"), "raw": (3, "client-reset"),
    }


def test_a_connection_still_open_is_already_recorded(lab):
    waiting = lab.start(["/usr/bin/python3", "-c", "import socket,time; s=socket.create_connection(('203.0.113.66', 22)); s.send(b'hold'); print(1, flush=True); time.sleep(60)"])
    try:
        while not waiting.output()[0]:
            pass
        (connection,) = lab.connections("attacker")
        assert connection["data"] == b"hold" and connection["closed"] is None
    finally:
        waiting.kill()


def test_a_finished_request_is_in_the_log(lab):
    code = """
s = connect("198.51.100.10", 80)
s.sendall(b"GET /1m HTTP/1.1\\r\\nHost: allowed.test\\r\\nConnection: close\\r\\n\\r\\n"); print(json.dumps(len(read_all(s))))
"""
    for number in range(1, 31):
        inside(lab, code)
        assert len(lab.records("requests")) == number


def test_a_recording_with_a_hole_is_an_error():
    """While the recorder stands still, more leaves than its buffer holds."""
    with Lab() as lab:
        (sniffer,) = [
            pid for pid, _ in processes.Ledger(lab.dir).read() if Path(f"/proc/{pid}/comm").read_text() == "lab-sniffer\n"
        ]
        os.kill(sniffer, signal.SIGSTOP)
        code = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(80000): s.sendto(b"x" * 1400, ("203.0.113.66", 9))
"""
        inside(lab, code, timeout=30)
        os.kill(sniffer, signal.SIGCONT)
        with pytest.raises(LabError, match="were lost"):
            lab.wait(timeout=10)

"""Connections that were caught on their way to some address, by the cases transparent-*."""

import json
import shutil

import pytest

from raw_exchanges import Send, client_hello, exchange, get

POLICY = """policy: transparent/1
rules:
  - id: clear
    allow: GET,HEAD http://allowed.test/**
  - id: echo
    allow: http://echo.test/**
  - id: raw-http
    allow: GET http://raw.test:8080/**
  - id: raw-tls
    allow: tls://raw.test
  - id: raw-any
    allow: tcp://raw.test:5432
"""
ATTACKER = "203.0.113.66"


def test_transparent_001_the_host_field_does_not_choose_the_upstream(lab, sallyport):
    """transparent-001"""
    elsewhere, wrong_host, control = exchange(sallyport, POLICY, [
        Send(get("/", "allowed.test"), to=(ATTACKER, 80)),
        Send(get("/", "allowed.test"), to=("echo.test", 80)),
        Send(get("/", "echo.test"), to=("echo.test", 80)),
    ])
    assert elsewhere.status == 403
    assert wrong_host.status == 421
    assert control.status == 200
    assert not lab.connections("attacker") and not lab.packets(dst=ATTACKER)


def test_transparent_003_every_port_is_caught(lab, sallyport):
    """transparent-003, dns-008"""
    ports = [22, 25, 53, 853, 3000, 5432, 8080, 65535]
    sends = [Send(b"x" * 40 + b"\r\n\r\n", to=(ATTACKER, port), seconds=2) for port in ports]
    sends += [Send(b"x" * 40 + b"\r\n\r\n", to=("2001:db8:bad::66", port), seconds=2) for port in ports]
    replies = exchange(sallyport, POLICY, sends)
    # 53 is answered here as DNS over TCP, which waits for the rest of its message.
    assert all(r.data == b"" and (r.end in ("fin", "reset") or s.to[1] == 53) for s, r in zip(sends, replies)), replies
    assert not lab.packets_to_unpermitted()
    control, = exchange(sallyport, POLICY, [Send(b"ping\r\n\r\n", to=("raw.test", 5432))])
    assert control.data and lab.connections("raw")


def test_transparent_004_a_proxy_request_on_a_caught_connection_is_400(lab, sallyport):
    """transparent-004, transparent-400"""
    refused, control = exchange(sallyport, POLICY, [
        Send(get("http://denied.test:9/", "denied.test:9"), to=("raw.test", 8080)),
        Send(get("/ok", "raw.test:8080"), to=("raw.test", 8080)),
    ])
    assert refused.status == 400 and refused.end in ("fin", "reset")
    assert control.status == 200
    assert len(lab.connections("raw")) == 1


def test_transparent_005_the_catch_all_itself_is_closed(lab, sallyport):
    """transparent-005"""
    replies = exchange(sallyport, POLICY, [
        Send(get("/", "allowed.test"), to=("127.0.0.1", 15001), seconds=2),
        Send(get("/", "allowed.test"), to=("10.77.0.2", 15001), seconds=2),
        Send(get("/", "allowed.test"), to=("::1", 15001), seconds=2),
        Send(get("/", "allowed.test"), to=("allowed.test", 80)),
    ])
    assert all(r.data == b"" and r.end in ("fin", "reset", "refused") for r in replies[:3]), replies
    assert replies[3].status == 200


def test_transparent_006_the_destination_is_logged_as_meant(lab, sallyport):
    """transparent-006"""
    code = r"""
import socket
for family, address in ((socket.AF_INET, "198.51.100.7"), (socket.AF_INET6, "2001:db8::7")):
    s = socket.socket(family); s.settimeout(3); s.connect((address, 443)); s.sendall(b"\x16\x03\x01"); 
    try: s.recv(10)
    except OSError: pass
"""
    done = sallyport(["/usr/bin/python3", "-IS", "-c", code], policy=POLICY, options=["--quiet", "--state", "/tmp/sallyport-t006"])
    try:
        records = [json.loads(line) for line in open("/tmp/sallyport-t006/audit.jsonl")]
    finally:
        shutil.rmtree("/tmp/sallyport-t006", ignore_errors=True)
    assert done.exit == 0, done
    seen = {r.get("destination") for r in records if r["kind"] == "decision"}
    assert {"198.51.100.7:443", "[2001:db8::7]:443"} <= seen, seen


@pytest.mark.timeout(40)
def test_transparent_007_a_silent_client_is_closed_and_nothing_was_dialled(lab, sallyport):
    """transparent-007"""
    silent, = exchange(sallyport, POLICY, [Send(b"", to=("raw.test", 443), seconds=14, quiet=14)], timeout=35)
    assert silent.data == b"" and silent.end in ("fin", "reset")
    assert not lab.connections("raw")
    exchange(sallyport, POLICY, [Send(client_hello("raw.test"), to=("raw.test", 443), seconds=1)])
    assert lab.connections("raw")


def test_transparent_008_quic_fails_at_once(lab, sallyport):
    """transparent-008"""
    code = r"""
import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
begin = time.monotonic()
try:
    s.sendto(b"\xc0" + b"x" * 1199, (socket.gethostbyname("allowed.test"), 443)); s.recv(10); print("sent")
except PermissionError: print("refused", time.monotonic() - begin < 0.5)
except OSError as e: print("other", e)
t = socket.create_connection(("allowed.test", 80), 3); print("tcp")
"""
    done = sallyport(["/usr/bin/python3", "-IS", "-c", code], policy=POLICY, options=["--quiet"])
    assert done.stdout.split("\n")[:2] == ["refused True", "tcp"], done
    assert not [p for p in lab.packets(proto="udp") if p.get("dport") == 443]


def test_a_caught_tls_connection_with_another_name_is_refused(lab, sallyport):
    """dns-024, policy-011: the name that is presented decides, never the address alone."""
    other, none, right = exchange(sallyport, POLICY, [
        Send(client_hello("denied.test"), to=("raw.test", 443)), Send(client_hello(None), to=("raw.test", 443)),
        Send(client_hello("raw.test"), to=("raw.test", 443), seconds=1)])
    assert other.data[:1] == b"\x15" and none.data[:1] == b"\x15"
    hello = b"".join(c["data"] for c in lab.connections("raw"))
    assert hello[:2] == b"\x16\x03" and b"denied.test" not in hello and len(lab.connections("raw")) == 1
    assert right.data[:1] != b"\x15"

"""CONNECT and tunnels through the explicit proxy, by the cases connect-*. Every refusal stands beside an exchange that succeeds,
and what left is read from the lab's recordings, not from what the client saw."""

from raw_exchanges import Send, client_hello, connect, exchange, get

POLICY = """policy: connect/1
rules:
  - id: web
    allow: tls://allowed.test
  - id: cdn
    allow: tls://cdn-a.test
  - id: clear
    allow: GET,HEAD http://allowed.test/**
  - id: raw
    allow: tcp://raw.test:5432
  - id: raw-tls
    allow: tls://raw.test
  - id: shut
    allow: tcp://refused-tcp.test:5432
  - id: missing
    allow: tcp://nx.test:5432
  - id: read-only
    allow: GET,HEAD http://echo.test/**
"""


def received(lab, role="raw"):
    """All bytes that connections of a role brought, joined."""
    return b"".join(c["data"] for c in lab.connections(role))


def test_tunnel_to_an_allowed_name_opens_and_carries_bytes(lab, sallyport):
    lab.script(5432, mode="echo")
    reply, = exchange(sallyport, POLICY, [Send([connect("raw.test:5432"), b"ping"], pause=0.3)])
    assert reply.data.startswith(b"HTTP/1.1 200 ") and reply.data.endswith(b"ping")


def test_connect_002_one_policy_for_every_way_to_a_denied_host(lab, sallyport):
    """connect-002, dns-002"""
    replies = exchange(sallyport, POLICY, [
        Send(get("http://denied.test/", "denied.test")),
        Send(connect("denied.test:443")),
        Send(connect("denied.test:80")),
        Send(get("/", "denied.test"), to=("denied.test", 80)),  # no such name inside
        Send(get("http://allowed.test/", "allowed.test")),  # control
    ])
    assert [r.status for r in replies[:3]] == [403, 403, 403]
    assert {r.problem()["reason"] for r in replies[:3]} == {"no_rule"}
    assert replies[3].end == "unresolved"
    assert replies[4].status == 200
    assert lab.names_asked() == {"allowed.test"}
    assert not lab.packets(dst="198.51.100.66")


def test_connect_001_a_relay_inside_gets_the_same_refusal(lab, sallyport):
    """connect-001"""
    script = (
        "(timeout 10 nc -l -p 9000 -s 127.0.0.1 < /tmp/f | timeout 10 nc 127.0.0.1 3128 > /tmp/f) & "
        "sleep 0.3; printf 'CONNECT denied.test:443 HTTP/1.1\\r\\nHost: denied.test:443\\r\\n\\r\\n' | timeout 3 nc 127.0.0.1 9000 | head -1; "
        "printf 'CONNECT denied.test:443 HTTP/1.1\\r\\nHost: denied.test:443\\r\\n\\r\\n' | timeout 3 nc 127.0.0.1 3128 | head -1")
    done = sallyport(["/bin/sh", "-c", "mkfifo /tmp/f; " + script], policy=POLICY, options=["--quiet"])
    lines = done.stdout.strip().splitlines()
    assert len(lines) == 2 and lines[0] == lines[1] and " 403 " in lines[0], done


def test_connect_003_an_address_literal_needs_a_rule_of_its_own(lab, sallyport):
    """connect-003"""
    literal = POLICY + "  - id: literal\n    allow: tcp://198.51.100.30:5432\n"
    denied, = exchange(sallyport, POLICY, [Send(connect("198.51.100.10:443"))])
    assert denied.status == 403 and denied.problem()["reason"] == "literal_not_allowed"
    assert not lab.packets(dst="198.51.100.10")
    allowed, = exchange(sallyport, literal, [Send(connect("198.51.100.30:5432"))])
    assert allowed.status == 200


def test_connect_004_and_005_the_greeting_must_name_the_target(lab, sallyport):
    """connect-004, connect-005"""
    replies = exchange(sallyport, POLICY, [
        Send([connect("raw.test:443"), client_hello("denied.test")], pause=0.2),
        Send([connect("raw.test:443"), client_hello(None)], pause=0.2),
        Send([connect("raw.test:443"), client_hello("cdn-b.test")], pause=0.2),
    ])
    for reply in replies:
        head, alert = reply.data.split(b"\r\n\r\n", 1)
        assert head.startswith(b"HTTP/1.1 200 ")
        assert alert[:2] == b"\x15\x03" and alert[6:7] == bytes([112]), alert  # unrecognized_name
        assert reply.end in ("fin", "reset")
    assert received(lab) == b"", "a byte of a ClientHello went upstream"
    control, = exchange(sallyport, POLICY, [Send([connect("raw.test:443"), client_hello("raw.test")], pause=0.2)])
    assert received(lab) == client_hello_like(received(lab)), "the control's ClientHello arrived"
    assert b"raw.test" in received(lab)
    assert control.data.startswith(b"HTTP/1.1 200 ")


def client_hello_like(data):
    return data if data[:2] == b"\x16\x03" else b""


def test_connect_006_what_is_not_tls_does_not_pass_a_tls_rule(lab, sallyport):
    """connect-006"""
    kinds = [b"SSH-2.0-x\r\n", b"GET / HTTP/1.1\r\n\r\n", bytes(range(256)) + b"x" * 44]
    replies = exchange(sallyport, POLICY, [Send([connect("raw.test:443"), kind], pause=0.2) for kind in kinds])
    for reply in replies:
        assert reply.data.startswith(b"HTTP/1.1 200 ") and reply.end in ("fin", "reset")
    assert received(lab) == b""
    exchange(sallyport, POLICY, [Send([connect("raw.test:5432"), kinds[0]], pause=0.2)])  # raw is raw
    assert received(lab) == kinds[0]


def test_connect_007_nothing_behind_a_refused_connect_is_read_as_a_request(lab, sallyport):
    """connect-007"""
    behind = get("http://allowed.test/after-connect-007", "allowed.test")
    refused, control = exchange(sallyport, POLICY, [
        Send(connect("denied.test:443") + behind), Send(get("http://allowed.test/control-007", "allowed.test"))])
    assert refused.statuses == [403] and refused.end in ("fin", "reset")
    assert control.status in (200, 404)
    assert not [r for r in lab.records("requests") if "after-connect-007" in str(r)]
    assert [r for r in lab.records("requests") if "control-007" in str(r)]


def test_connect_008_a_connect_has_no_body(lab, sallyport):
    """connect-008"""
    replies = exchange(sallyport, POLICY, [
        Send(connect("raw.test:5432", extra=b"Content-Length: 30\r\n") + b"x" * 30),
        Send(connect("raw.test:5432", extra=b"Transfer-Encoding: chunked\r\n") + b"0\r\n\r\n"),
        Send(connect("raw.test:5432")),
    ])
    assert [r.status for r in replies] == [400, 400, 200]
    assert [r.end for r in replies[:2]] == ["fin", "fin"]


def test_connect_009_host_must_agree_with_the_target(lab, sallyport):
    """connect-009"""
    differing, same = exchange(sallyport, POLICY, [
        Send(connect("raw.test:5432", host=b"denied.test:5432")), Send(connect("raw.test:5432"))])
    assert differing.status in (400, 409, 421)
    assert same.status == 200
    assert len(lab.connections("raw")) == 1


def test_connect_010_a_rule_about_methods_is_no_tunnel(lab, sallyport):
    """connect-010"""
    # A method rule on a port is served as HTTP inside the CONNECT, request by request; TLS on it is not passed through.
    opaque, allowed, denied = exchange(sallyport, POLICY, [
        Send([connect("echo.test:80"), client_hello("echo.test")], pause=0.2),
        Send([connect("echo.test:80"), get("/", "echo.test")], pause=0.2),
        Send([connect("echo.test:80"), get("/", "echo.test", method=b"DELETE")], pause=0.2),
    ])
    assert b"\x16\x03" not in received(lab, "echo")
    assert allowed.statuses == [200, 200]
    assert denied.statuses == [200, 403]
    assert opaque.statuses[:1] == [200] and opaque.end in ("fin", "reset")


def test_connect_011_the_proxy_does_not_connect_to_itself(lab, sallyport):
    """connect-011"""
    replies = exchange(sallyport, POLICY, [
        Send(connect("127.0.0.1:3128")), Send(connect("[::1]:3128")), Send(connect("10.77.0.2:15001")),
        Send(connect("localhost:3128")), Send(connect("raw.test:5432"))])
    assert [r.status for r in replies] == [403, 403, 403, 403, 200]


def test_connect_012_connect_only_comes_first_and_only_to_the_explicit_proxy(lab, sallyport):
    """connect-012"""
    inside, second, control = exchange(sallyport, POLICY, [
        Send([connect("echo.test:80"), connect("denied.test:443")], pause=0.2),
        Send([get("http://allowed.test/", "allowed.test"), connect("raw.test:5432")], pause=0.4),
        Send(connect("raw.test:5432")),
    ])
    assert inside.statuses[0] == 200 and inside.statuses[1] in (400, 501)
    assert second.statuses[0] == 200 and second.statuses[1] in (400, 501)
    assert control.status == 200
    assert len(lab.connections("raw")) == 1


def test_connect_013_proxy_authorization_stays_here(lab, sallyport):
    """connect-013"""
    secret = b"Proxy-Authorization: Basic dGFzazp0b2tlbg==\r\n"
    explicit, caught = exchange(sallyport, POLICY, [
        Send(get("http://echo.test/headers", "echo.test", secret)),
        Send(get("/headers", "echo.test", secret), to=("echo.test", 80)),
    ])
    for reply in (explicit, caught):
        assert reply.status == 200
        assert b"/headers" in reply.data and b"dGFzazp0b2tlbg" not in reply.data and b"roxy-" not in reply.data.split(b"\r\n\r\n", 1)[1]


def test_connect_014_200_only_once_the_tunnel_stands(lab, sallyport):
    """connect-014, connect-200"""
    denied, refused, missing, control = exchange(sallyport, POLICY, [
        Send(connect("denied.test:5432")), Send(connect("refused-tcp.test:5432")), Send(connect("nx.test:5432")),
        Send(connect("raw.test:5432"))])
    assert denied.status == 403
    assert refused.status in (502, 504)
    assert missing.status == 502
    assert control.status == 200


def test_connect_015_half_close_and_reset(lab, sallyport):
    """connect-015"""
    lab.script(5432, mode="half-close")
    reply, = exchange(sallyport, POLICY, [Send([connect("raw.test:5432"), b"request"], half_close=True, seconds=8, quiet=3, pause=0.2)])
    assert reply.end == "fin"
    assert len(reply.data.split(b"\r\n\r\n", 1)[1]) == 1 << 20
    lab.script(5432, mode="reset", trigger="data")
    reply, = exchange(sallyport, POLICY, [Send([connect("raw.test:5432"), b"request"], seconds=3, quiet=2, pause=0.2)])
    assert reply.end in ("reset", "fin")


def test_connect_016_concurrent_tunnels_are_limited(lab, sallyport):
    """connect-016"""
    limited = POLICY + "budgets:\n  connections: {concurrent: 3}\n"
    lab.script(5432, mode="hold")
    code = r"""
import socket
def tunnel():
    s = socket.create_connection(("127.0.0.1", 3128), 5); s.settimeout(5)
    s.sendall(b"CONNECT raw.test:5432 HTTP/1.1\r\nHost: raw.test:5432\r\n\r\n")
    return s, int(s.recv(4096).split(b" ")[1])
held = [tunnel() for _ in range(3)]
over = tunnel()
held[0][0].close()
import time; time.sleep(0.5)
again = tunnel()
print([h[1] for h in held], over[1], again[1])
"""
    done = sallyport(["/usr/bin/python3", "-IS", "-c", code], policy=limited, options=["--quiet"])
    assert done.stdout.strip() == "[200, 200, 200] 429 200", done

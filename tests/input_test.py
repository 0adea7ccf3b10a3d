"""Hosts, ports and targets as a client may write them, by the cases input-*. What is refused costs no packet and no lookup."""

import pytest

from raw_exchanges import Send, connect, exchange, get

POLICY = """policy: input/1
rules:
  - id: clear
    allow: http://allowed.test/**
  - id: raw-http
    allow: http://raw.test/**
  - id: web
    allow: tls://allowed.test
  - id: below
    allow: tls://*.wild.allowed.test
  - id: below-clear
    allow: http://*.wild.allowed.test/**
  - id: raw
    allow: tcp://raw.test:5432
  - id: no-secrets
    deny: http://secret.wild.allowed.test/**
  - id: no-secret-tunnels
    deny: tls://secret.wild.allowed.test
  - id: idn
    allow: tcp://bücher.test:5432
"""
CONTROLS = [Send(get("http://allowed.test/", "allowed.test")), Send(connect("raw.test:5432"))]
REACHED = {"allowed.test", "raw.test"}


def check(lab, sallyport, sends, statuses, policy=POLICY):
    """All refused with one of `statuses`, nothing looked up or dialled for them; the controls pass in the same run."""
    replies = exchange(sallyport, policy, sends + CONTROLS, at_once=8)
    for send, reply in zip(sends, replies):
        assert reply.status in statuses and len(reply.statuses) == 1, (send.data, reply)
    assert [r.status for r in replies[-2:]] == [200, 200]
    assert lab.names_asked() <= REACHED
    assert not lab.packets(dst="198.51.100.66") and len(lab.records("requests")) == 1 and len(lab.connections("raw")) == 1
    return replies


def raw_get(target, host=b"allowed.test"):
    return Send(b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")


def test_input_001_002_user_info_and_back_slashes(lab, sallyport):
    check(lab, sallyport, [
        raw_get(b"http://allowed.test@denied.test/", b"denied.test"), raw_get(b"http://denied.test@allowed.test/"),
        raw_get(b"http://a:b@allowed.test/"), Send(connect("allowed.test:443@denied.test:443")), Send(connect("x@allowed.test:443")),
        raw_get(b"http://allowed.test\\@denied.test/"), raw_get(b"http://allowed.test\\denied.test/"), raw_get(b"http:\\\\allowed.test/"),
        Send(connect("allowed.test\\:443"))], (400, 501))


def test_input_003_fragments(lab, sallyport):
    check(lab, sallyport, [
        raw_get(b"http://denied.test#.allowed.test/"), raw_get(b"http://allowed.test/#x"), raw_get(b"http://allowed.test/a?b#c"),
        Send(b"GET /public#/../secret HTTP/1.1\r\nHost: allowed.test\r\n\r\n", to=("allowed.test", 80))], (400,))


def test_input_004_005_control_bytes_in_a_host(lab, sallyport):
    bytes_ = [bytes([b]) for b in (*range(0x21), 0x7F, 0x80, 0xFF)]
    sends = [Send(connect(b"denied.test" + b + b".allowed.test:443", host=b"allowed.test:443"), seconds=2) for b in bytes_]
    replies = exchange(sallyport, POLICY, sends + CONTROLS, at_once=8, timeout=60)
    for b, reply in zip(bytes_, replies):
        assert reply.status in (400, 505) and reply.end in ("fin", "reset"), (b, reply)
    assert [r.status for r in replies[-2:]] == [200, 200]
    assert lab.names_asked() <= REACHED


def test_input_006_a_trailing_dot_changes_nothing(lab, sallyport):
    denied, other = check(lab, sallyport, [
        Send(connect("denied.test.:443")), raw_get(b"http://secret.wild.allowed.test./", b"secret.wild.allowed.test.")], (400, 403))[:2]
    assert denied.status in (400, 403) and other.status in (400, 403)


def test_input_007_to_014_and_018_hosts_that_are_none(lab, sallyport):
    hosts = [
        b"[denied.test]", b"[[denied.test]]", b"[allowed.test]", b"denied\xe3\x80\x82test", b"b\xc3\xbccher.test",
        b"2130706433", b"0177.0.0.1", b"0x7f000001", b"127.1", b"127.0.0.01", b"127.0.0.0x1", b"1.2.3.4.5", b"256.1.1.1",
        b"[::1%25.wild.allowed.test]", b"[fe80::1%eth0]", b"[fe80::1%25eth0]", b"[::1", b"::1", b"[v1.x]", b"allowed%2etest", b"allowed..test",
        b".allowed.test", b"-", b"a_b\xff.test", b"*.wild.allowed.test"]
    sends = [Send(connect(h + b":443")) for h in hosts]
    sends += [raw_get(b"http://" + h + b"/", h) for h in (b"denied%E3%80%82test", b"denied%2etest", b"[denied.test]", b"127.1", b"2130706433")]
    check(lab, sallyport, sends, (400,))


def test_input_009_an_a_label_matches_its_rule(lab, sallyport):
    lab.zone("xn--bcher-kva.test", values="198.51.100.30")
    same, other = exchange(sallyport, POLICY, [Send(connect("xn--bcher-kva.test:5432")), Send(connect("xn--bcher-kva.test:5433"))])
    assert same.status == 200 and other.status == 403


def test_input_012_013_literals_by_class(lab, sallyport):
    literals = ["[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::a00:1]", "[2002:a00:1::1]",
                "[2001:0:1234::1]", "[::a00:1]", "[::ffff:0:7f00:1]", "127.0.0.1", "169.254.169.254", "10.0.0.5", "0.0.0.0", "255.255.255.255"]
    replies = check(lab, sallyport, [Send(connect(l + ":80")) for l in literals], (400, 403))
    assert {r.problem()["category"] for r in replies[:-2]} <= {"policy", "address", "protocol"}
    # A rule for the literal does not open its class either.
    writable = ["127.0.0.1", "10.0.0.5", "0.0.0.0", "255.255.255.255", "224.0.0.1"]
    policy = POLICY + "".join(f"  - id: l{i}\n    allow: tcp://{l}:80\n" for i, l in enumerate(writable))
    refused = exchange(sallyport, policy, [Send(connect(l + ":80")) for l in writable])
    assert all(r.status == 403 for r in refused), refused
    floor = sallyport(["true"], policy="policy: p/1\nrules:\n  - id: a\n    allow: tcp://169.254.169.254:80\n", options=["--quiet"])
    assert floor.exit != 0 and "metadata" in floor.stderr
    assert not lab.packets_to_unpermitted()


def test_input_016_017_ports(lab, sallyport):
    ports = [b":65979", b":-1", b":+443", b":0443", b":443x", b":", b": 443", b":0", b":65536", b"", b":4 43", b":443:443", b":%34%34%33"]
    check(lab, sallyport, [Send(connect(b"allowed.test" + p)) for p in ports], (400,))


def test_input_017_a_rule_without_a_port_means_the_standard_port(lab, sallyport):
    replies = check(lab, sallyport, [
        Send(connect("allowed.test:22")), Send(get("http://allowed.test:8080/", "allowed.test:8080")), Send(connect("allowed.test:8443")),
        Send(get("http://allowed.test:443/", "allowed.test:443"))], (403,))
    assert replies[0].problem()["reason"] == "port_not_allowed"


def test_input_019_020_what_a_wildcard_covers(lab, sallyport):
    outside = ["wild.allowed.test", "notwild.allowed.test", "xwild.allowed.test", "a.wild.allowed.test.denied.test", "wild.allowed.test.denied.test"]
    sends = [Send(connect(h + ":443")) for h in outside] + [Send(get(f"http://{h}/", h)) for h in outside] + [
        Send(get("/", h), to=(h, 80)) for h in outside]
    inside = [f"http://{h}/" for h in ("a.wild.allowed.test", "a.b.wild.allowed.test")]
    replies = exchange(sallyport, POLICY, sends + [Send(get(u, u[7:-1])) for u in inside] + [
        Send(connect("a.wild.allowed.test:443")), Send(get("/", "a.wild.allowed.test"), to=("a.wild.allowed.test", 80)),
        Send(get("http://secret.wild.allowed.test/", "secret.wild.allowed.test")), Send(connect("secret.wild.allowed.test:443"))], at_once=8)
    refused, (one, two, tunnel, caught, denied, denied_tunnel) = replies[:len(sends)], replies[len(sends):]
    assert all(r.status == 403 or r.end == "unresolved" for r in refused), refused
    assert [one.status, two.status, tunnel.status, caught.status] == [200, 200, 200, 200]
    assert denied.status == denied_tunnel.status == 403  # policy-002: a deny wins wherever it stands
    assert not any("denied" in n or n.startswith(("notwild", "xwild", "secret")) for n in lab.names_asked())


def test_input_023_schemes(lab, sallyport):
    """input-023: an https:// URL in clear is not silently upgraded."""
    check(lab, sallyport, [
        raw_get(t) for t in (b"https://allowed.test/", b"ftp://allowed.test/x", b"file:///etc/passwd", b"ws://allowed.test/", b"httpx://allowed.test/",
                             b"allowed.test/", b"//allowed.test/", b"http:/allowed.test/", b"http:allowed.test", b"http:///x")], (400, 501))


def test_input_024_no_unix_socket_by_header(lab, sallyport):
    reply, = exchange(sallyport, POLICY, [Send(get("http://raw.test/", "raw.test", b"X-Unix-Socket: /run/docker.sock\r\n"))])
    assert reply.status == 200 and len(lab.connections("raw")) == 1


@pytest.mark.parametrize("text,word", [
    ("login.*.test", "*"), ("*", "*"), ("*.com", "*.com"), ("a*b.test", "*"), ("*.", "*."), ("straße.test", "stra")])
def test_input_010_021_policies_that_do_not_load(lab, sallyport, text, word):
    bad = sallyport(["true"], policy=f"policy: p/1\nrules:\n  - id: a\n    allow: tls://{text}\n", options=["--quiet"])
    assert bad.exit != 0 and word in bad.stderr and "policy.yaml:4:" in bad.stderr, bad

"""Requests in clear HTTP/1.1, byte for byte, by the cases http1-*; what an upstream may do to a client is in http1_response_test.py.

A malformed request is sent to the explicit proxy and on a caught connection. The raw origin records what arrived: of a refused
request nothing may, and of what hides behind it neither."""

import base64
import json

from raw_exchanges import PROXY, Send, connect, exchange, get

POLICY = """policy: http1/1
rules:
  - id: raw
    allow: http://raw.test/**
  - id: echo
    allow: http://echo.test/**
  - id: read
    allow: GET,HEAD http://allowed.test/**
"""
HOST = b"Host: raw.test\r\n"
HIDDEN = b"GET /hidden HTTP/1.1\r\nHost: raw.test\r\n\r\n"
CONTROL = b"POST %s/control HTTP/1.1\r\nHost: raw.test\r\nContent-Length: 4\r\n\r\nbody"


def received(lab, role="raw"):
    """What each connection of a role brought."""
    return [c["data"] for c in lab.connections(role)]


def both_ways(message):
    """A request to raw.test whose target says where `{}` is: absolute to the explicit proxy, origin-form when caught."""
    return [Send(message.replace(b"{}", b"http://raw.test"), seconds=3),
            Send(message.replace(b"{}", b""), to=("raw.test", 80), seconds=3)]


def request(lines, body=b"", method=b"POST", host=HOST, version=b"HTTP/1.1"):
    return method + b" {}/a " + version + b"\r\n" + host + lines + b"\r\n" + body


LENGTHS = [b"+5", b"-5", b"5_0", b"0x10", b"010", b"5 5", b"5,5", b"18446744073709551617", b"5;", b"5.0", b"\x0b5", b"\xa05"]
CODINGS = [b"chunked,", b",chunked", b"chunked, gzip", b"gzip, chunked", b"chunked;x=1", b"\x0bchunked", b"xchunked", b"identity",
           b"chunked chunked", b"", b"\"chunked\"", b"chunked\x00"]
LAST = b"0\r\n\r\n"
MALFORMED = {
    "http1-001 length and chunked": [
        request(b"Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", LAST + b"G"),
        request(b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", LAST)],
    "http1-002 two lengths": [
        request(b"Content-Length: 0\r\nContent-Length: 28\r\n", HIDDEN),
        request(b"Content-Length: 4\r\nX: y\r\nContent-Length: 5\r\n", b"aaaaa")],
    "http1-003 odd lengths": [request(b"Content-Length: " + n + b"\r\n", b"aaaaa") for n in LENGTHS],
    "http1-004 empty length": [
        request(b"Content-Length: \r\n", HIDDEN), request(b"Content-Length:\r\nContent-Length: 4\r\n", b"aaaa")],
    "http1-005 other codings": [request(b"Transfer-Encoding: " + c + b"\r\n", LAST) for c in CODINGS],
    "http1-005 with a length": [request(b"Content-Length: 5\r\nTransfer-Encoding: " + c + b"\r\n", LAST) for c in CODINGS],
    "http1-006 two codings": [
        request(b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", LAST),
        request(b"Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", LAST)],
    "http1-007 space before the colon": [
        request(b"Content-Length : 4\r\n", b"aaaa"), request(b"Transfer-Encoding\t: chunked\r\n", LAST)],
    "http1-008 folding": [
        request(b"", method=b"GET", host=b"\tHost: denied.test\r\nHost: raw.test\r\n"),
        request(b" X: a\r\n", method=b"GET", host=b""), request(b"Transfer-\r\nEncoding: chunked\r\n", LAST),
        request(b"X: a\r\n b\r\n"), request(b"X: a\r\n\tb\r\n")],
    "http1-009 bare line feeds": [
        b"GET {}/a HTTP/1.1\nHost: raw.test\n\n", b"GET {}/a HTTP/1.1\r\nHost: raw.test\nX: y\r\n\r\n",
        b"GET {}/a HTTP/1.1\r\nHost: raw.test\r\n\n"],
    "http1-010 a carriage return in a value": [request(b"X: a\rAuthorization: x\r\nY: z\r\n"), request(b"X: a\r\r\n")],
    "http1-011 NUL": [request(b"", host=b"Host: raw.test\x00.denied.test\r\n"), request(b"X: a\x00b\r\n")],
    "http1-012 no colon, no name": [
        request(line + b"\r\nAuthorization: y\r\n") for line in (b"Foo bar", b": x", b":", b" : x")],
    "http1-013 names that are no tokens": [
        request(line) for line in (b"Content-Length\x85: 10\r\n", b"Foo(bar): 1\r\n", b"X\x00Y: 1\r\n", b"X Y: 1\r\n", b"\xef: 1\r\n")],
    "http1-021 Host": [
        request(b"", method=b"GET", host=b""), request(b"", method=b"GET", host=HOST + HOST),
        request(b"", method=b"GET", host=HOST + b"Host: denied.test\r\n"), request(b"", method=b"GET", host=b"Host:\r\n"),
        request(b"", method=b"GET", host=b"Host: a, b\r\n")],
    "http1-022 version and method": [
        request(b"", method=b"GET", version=v) for v in (b"HTTP/1.17", b"HTTP/4294967297.1", b"HTTP/2.0", b"http/1.1", b"HTTP/1.1x", b"HTTP/0.9")] + [
        b"GET {}/a\nHTTP/1.1\r\n" + HOST + b"\r\n", b"GET {}/a\r\n\r\n", b"G\"E {}/a HTTP/1.1\r\n" + HOST + b"\r\n",
        b"GET  {}/a HTTP/1.1\r\n" + HOST + b"\r\n", b"GET {}/a  HTTP/1.1\r\n" + HOST + b"\r\n", b"GET\t{}/a HTTP/1.1\r\n" + HOST + b"\r\n",
        b" GET {}/a HTTP/1.1\r\n" + HOST + b"\r\n"],
    "http1-023 chunked in HTTP/1.0": [request(b"Transfer-Encoding: chunked\r\n", LAST, version=b"HTTP/1.0")],
    "http1-025 Connection lists what it must not": [
        request(b"Connection: close, " + name + b"\r\nContent-Length: 4\r\n", b"aaaa") for name in (b"Host", b"content-length")],
    "http1-035 TRACE": [request(b"Max-Forwards: 0\r\n", method=b"TRACE"), request(b"", method=b"TRACK")],
}


def test_malformed_requests_are_refused_and_nothing_leaves(lab, sallyport):
    """All of them in one run: it is the same proxy that answers the next request."""
    sends = [(case, send) for case, messages in MALFORMED.items() for message in messages for send in both_ways(message)]
    replies = exchange(sallyport, POLICY, [send for _, send in sends] + both_ways(CONTROL.replace(b"%s", b"{}")), at_once=8)
    for (case, send), reply in zip(sends, replies):
        assert reply.status in (400, 501, 505) and len(reply.statuses) == 1, (case, send.data, reply)
        assert reply.end in ("fin", "reset"), (case, send.data, reply)
    assert [r.status for r in replies[-2:]] == [200, 200]
    arrived = received(lab)
    assert len(arrived) in (1, 2) and all(data.startswith(b"POST /control ") for data in arrived), arrived
    assert lab.names_asked() == {"raw.test"}


def test_what_is_no_http_at_all_is_told_apart_from_bad_http(lab, sallyport):
    others = [b"SSH-2.0-OpenSSH_9.2\r\n", b"\x16\x03\x01\x00\x05hello", b"\x00\x00\x00\x08\x04\xd2\x16\x2f", b"EHLO\r\n", b"\r\nGET / HTTP/1.1\r\n\r\n"]
    sends = [Send(data, to=to, seconds=3) for data in others for to in (PROXY, ("raw.test", 80))]
    bad = [Send(b"GET http://raw.test/ HTTP/1.1\r\nHost : raw.test\r\n\r\n"), Send(b"GET / HTTP/3.0\r\nHost: raw.test\r\n\r\n", to=("raw.test", 80))]
    replies = exchange(sallyport, POLICY, sends + bad, at_once=4)
    assert [(r.status, r.problem()["reason"]) for r in replies[:-2]] == [(400, "not_http")] * len(sends), replies
    assert [(r.status, r.problem()["reason"]) for r in replies[-2:]] == [(400, "malformed"), (505, "malformed")]
    assert received(lab) == []


def test_http1_003_004_what_is_well_formed_passes(lab, sallyport):
    """The accepting twins of the refusals above."""
    good = [request(b"Content-Length: 4\r\n", b"aaaa"), request(b"content-length:4\r\n", b"aaaa"),
            request(b"Transfer-Encoding:  Chunked \r\n", LAST), request(b"X: \xe4\t\xff\r\n", method=b"GET"),
            request(b"Content-Length: 0\r\n"), request(b"!#$%&'*+-.^_`|~9: 1\r\n", method=b"GET")]
    replies = exchange(sallyport, POLICY, [send for message in good for send in both_ways(message)], at_once=8)
    assert [r.status for r in replies] == [200] * len(replies), replies


def test_input_022_sizes(lab, sallyport):
    sends = [
        Send(get("http://raw.test/" + "a" * 70000, "raw.test")),
        Send(get("http://raw.test/", "raw.test", b"".join(b"X-%d: y\r\n" % n for n in range(500)))),
        Send(get("http://raw.test/", "raw.test", b"X: " + b"y" * 70000 + b"\r\n")),
        Send(get("http://" + "a." * 127 + "test/", "a." * 127 + "test")),
        Send(get("http://" + "a" * 64 + ".test/", "a" * 64 + ".test")),
        Send(get("http://raw.test/" + "a" * 4000, "raw.test", b"".join(b"X-%d: y\r\n" % n for n in range(100)))),
    ]
    replies = exchange(sallyport, POLICY, sends)
    assert [r.status for r in replies] == [414, 431, 431, 400, 400, 200]
    assert all(r.end in ("fin", "reset") for r in replies[:5])
    assert len(received(lab)) == 1 and lab.names_asked() <= {"raw.test"}


BAD_CHUNKS = {
    "http1-014 sizes": [s + b"\r\nhello\r\n" + LAST for s in (b"0x5", b"+5", b"-0", b"5_0", b"5 ", b"", b"1zz", b"fffffffffffffffff1", b" 5")],
    "http1-015 bare ends": [b"5\nhello\r\n" + LAST, b"5\r\rQ;zz\r\n" + LAST, b"5\r\nhello\n" + LAST, b"5\r\nhello\r\n0\n\n", b"5\r\nhello\r\n0\r\n\n"],
    "http1-016 extensions": [
        b"3;\x00q\r\nabc\r\n" + LAST, b"3;\rq\r\nabc\r\n" + LAST, (b"1;" + b"x" * 4000 + b"\r\na\r\n") * 20 + LAST],
    "http1-017 data": [b"5\r\nhelloXX" + LAST, b"\r\n\r\n", b"0\r\nY:PUT / HTTP/1.1\r\n\x00\r\n", b"5\r\nhello0\r\n\r\n" + LAST],
}


def test_bad_chunks_end_the_exchange(lab, sallyport):
    lab.script(80, mode="hold")
    sends = [send for bodies in BAD_CHUNKS.values() for body in bodies for send in both_ways(request(b"Transfer-Encoding: chunked\r\n", body + HIDDEN))]
    replies = exchange(sallyport, POLICY, sends, at_once=8)
    for send, reply in zip(sends, replies):
        assert reply.statuses == [400] and reply.end in ("fin", "reset"), (send.data[:200], reply)
    for data in received(lab):
        head, body = data.split(b"\r\n\r\n", 1)
        assert head.startswith(b"POST /a HTTP/1.1\r\n")
        assert b"hidden" not in data and not body.endswith(LAST), data
    lab.reset()
    good = b"5;ext=1\r\nhello\r\n00000003\r\nabc\r\nA\r\n0123456789\r\n0\r\n\r\n"
    control, = exchange(sallyport, POLICY, [Send(get("http://echo.test/a", "echo.test", b"Transfer-Encoding: chunked\r\n", b"POST") + good)])
    assert control.status == 200
    seen = json.loads(control.data.split(b"\r\n\r\n", 1)[1])
    assert base64.b64decode(seen["body_base64"]) == b"helloabc0123456789"
    assert b"ext" not in base64.b64decode(seen["framed_body_base64"])


def test_http1_018_trailers_are_dropped(lab, sallyport):
    trailers = b"5\r\nhello\r\n0\r\nHost: denied.test\r\nContent-Length: 9\r\nAuthorization: x\r\nTransfer-Encoding: chunked\r\nX-Free: y\r\n\r\n"
    reply, after = exchange(sallyport, POLICY, [
        Send(get("http://raw.test/a", "raw.test", b"Transfer-Encoding: chunked\r\nTrailer: X-Free\r\n", b"POST") + trailers, seconds=2),
        Send(get("http://raw.test/", "raw.test"))])
    data = received(lab)[0]
    assert reply.status in (200, 400) and after.status == 200
    assert not any(word in data for word in (b"denied", b"Authorization", b"X-Free", b"Content-Length: 9")), data


def test_http1_019_020_the_host_is_that_of_the_target(lab, sallyport):
    """http1-019, http1-020: in the clear; inside interception with https://."""
    explicit, caught, tunnelled, absolute, control = exchange(sallyport, POLICY, [
        Send(get("http://raw.test/", "denied.test")),
        Send(get("/", "denied.test"), to=("raw.test", 80)),
        Send([connect("raw.test:80"), get("/", "echo.test")], pause=0.2),
        Send([connect("raw.test:80"), get("http://denied.test/x", "raw.test")], pause=0.2),
        Send([connect("raw.test:80"), get("/control", "raw.test")], pause=0.2),
    ])
    assert explicit.status == 421 and explicit.end == "fin"
    assert caught.status == 421 and caught.end == "fin"
    assert tunnelled.statuses == [200, 421] and absolute.statuses[0] == 200 and absolute.statuses[1] in (400, 421)
    assert control.statuses == [200, 200]
    assert [d.split(b" ")[1] for d in received(lab)] == [b"/control"]
    assert lab.names_asked() == {"raw.test"}


def test_http1_024_a_body_of_get_arrives_whole(lab, sallyport):
    reply, = exchange(sallyport, POLICY, [Send(get("http://raw.test/", "raw.test", b"Content-Length: 10\r\n") + b"0123456789" + HIDDEN[:0])])
    data, = received(lab)
    assert reply.status == 200
    assert b"Content-Length: 10\r\n" in data and data.endswith(b"\r\n\r\n0123456789")


def test_http1_025_026_034_what_stays_here(lab, sallyport):
    drop = (b"Connection: close, X-Drop, Keep-Alive\r\nX-Drop: secret-drop\r\nTE: trailers\r\nKeep-Alive: x\r\nProxy-Connection: keep-alive\r\n"
            b"Trailer: X\r\nUpgrade: foo\r\nHTTP2-Settings: AAMAAABk\r\nX-Forwarded-For: 10.9.9.9\r\nForwarded: for=x\r\nVia: 1.1 me\r\n"
            b"X-Real-IP: 1.2.3.4\r\nFly-Src: a\r\nX-Forwarded-Host: denied.test\r\nProxy-Authorization: Basic eDp5\r\n"
            b"X-HTTP_Forwarded-For: q\r\nX_Forwarded_For: 10.8.8.8\r\n")
    explicit, caught = exchange(sallyport, POLICY, [
        Send(get("http://raw.test/a?b=c", "raw.test", drop + b"X-Kept: yes\r\nAuthorization: mine\r\n")),
        Send(get("/a?b=c", "raw.test", drop + b"X-Kept: yes\r\nAuthorization: mine\r\n"), to=("raw.test", 80))])
    assert explicit.status == caught.status == 200
    assert explicit.end == caught.end == "fin", "the client asked for close"
    seen = [d for d in b"".join(received(lab)).split(b"\r\n\r\n") if d]
    assert len(seen) == 2 and seen[0] == seen[1]
    names = {line.split(b":")[0].lower() for line in seen[0].split(b"\r\n")[1:]}
    kept = {b"host", b"x-kept", b"authorization", b"x-http_forwarded-for"}
    assert names <= kept | {b"connection"}, names
    assert {b"host", b"x-kept", b"authorization"} <= names
    assert seen[0].startswith(b"GET /a?b=c HTTP/1.1\r\nHost: raw.test\r\n")
    assert not any(word in seen[0] for word in (b"secret-drop", b"10.9.9.9", b"10.8.8.8", b"10.77.", b"192.168.", b"sallyport"))


def test_http1_027_h2c_is_not_offered_to_the_upstream(lab, sallyport):
    upgrade = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
    plain, = exchange(sallyport, POLICY, [Send(get("http://raw.test/", "raw.test", upgrade))])
    assert plain.status == 200
    assert b"pgrade" not in received(lab)[0] and b"HTTP2" not in received(lab)[0]
    lab.script(80, b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI *")
    switched, = exchange(sallyport, POLICY, [Send([get("http://raw.test/", "raw.test", upgrade), get("http://denied.test/", "denied.test")])])
    assert switched.statuses[0] == 502 and b"PRI" not in switched.data
    assert 403 in switched.statuses or switched.end in ("fin", "reset")


def test_http1_028_policy_013_websocket_needs_a_rule(lab, sallyport):  # policy-013
    upgrade = (b"Connection: Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n")
    explicit, caught, control = exchange(sallyport, POLICY, [
        Send(get("http://raw.test/", "raw.test", upgrade)), Send(get("/", "raw.test", upgrade), to=("raw.test", 80)),
        Send(get("http://raw.test/", "raw.test", upgrade.replace(b"WebSocket\r\n", b"other\r\n")))])
    assert [explicit.status, caught.status, control.status] == [403, 403, 200]
    assert explicit.problem()["reason"] == caught.problem()["reason"] == "upgrade_refused"
    assert len(received(lab)) == 1


def test_http1_029_expect_continue_and_an_early_answer(lab, sallyport):
    lab.script(80, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
    expect = get("http://raw.test/", "raw.test", b"Expect: 100-continue\r\nContent-Length: 60\r\n", b"POST")
    early, = exchange(sallyport, POLICY, [Send([expect, get("http://denied.test/early", "denied.test")], pause=0.5, seconds=5, quiet=3)])
    assert early.statuses == [403] and b"Connection: close" in early.data and early.end in ("fin", "reset")
    assert b"denied" not in b"".join(received(lab))
    lab.reset()
    answered, = exchange(sallyport, POLICY, [Send([expect.replace(b"raw", b"echo"), b"b" * 60], pause=0.5)])
    assert answered.statuses == [100, 200]
    assert base64.b64decode(json.loads(answered.data.rsplit(b"\r\n\r\n", 1)[1])["body_base64"]) == b"b" * 60


def test_http1_029_unknown_expectation_is_417(lab, sallyport):
    unknown, control = exchange(sallyport, POLICY, [
        Send(get("http://raw.test/", "raw.test", b"Expect: more\r\n")), Send(get("http://raw.test/", "raw.test"))])
    assert [unknown.status, control.status] == [417, 200]
    assert len(received(lab)) == 1


def test_http1_031_pipelined_requests_get_their_own_decisions(lab, sallyport):
    one = get("http://allowed.test/1k", "allowed.test")
    reply, caught = exchange(sallyport, POLICY, [
        Send(one + get("http://allowed.test/x", "allowed.test", method=b"DELETE") + get("http://denied.test/", "denied.test") + one, quiet=1),
        Send((get("/1k", "allowed.test") + get("/x", "allowed.test", method=b"DELETE") + get("/", "allowed.test")), to=("allowed.test", 80), quiet=1)])
    assert reply.statuses == [200, 403, 403, 200] and caught.statuses == [200, 403, 200]
    assert [(r["method"], r["target"]) for r in lab.records("requests")] == [("GET", "/1k"), ("GET", "/1k"), ("GET", "/1k"), ("GET", "/")]


def test_keep_alive_and_http_1_0_clients(lab, sallyport):
    old = b"GET http://raw.test/old HTTP/1.0\r\nHost: raw.test\r\n"
    kept, closed, asked = exchange(sallyport, POLICY, [
        Send([get("http://raw.test/1", "raw.test"), get("http://raw.test/2", "raw.test")], pause=0.3),
        Send(old + b"\r\n"), Send(old + b"Connection: keep-alive\r\n\r\n")])
    assert kept.statuses == [200, 200] and kept.end == "open"
    assert closed.status == 200 and closed.end == "fin"
    assert asked.status == 200 and asked.end == "open" and b"Connection: keep-alive" in asked.data
    arrived = received(lab)
    assert len(arrived) == 1, "one upstream connection for all four"
    assert arrived[0].count(b" HTTP/1.1\r\nHost: raw.test\r\n") == 4


def test_http1_035_options_asterisk_and_trace_say_nothing_back(lab, sallyport):
    asterisk = b"OPTIONS * HTTP/1.1\r\nHost: raw.test\r\n\r\n"
    trace = get("http://raw.test/", "raw.test", b"X-Mine: reflected\r\nMax-Forwards: 0\r\n", b"TRACE")
    replies = exchange(sallyport, POLICY, [
        Send(asterisk), Send(asterisk, to=("raw.test", 80)), Send(trace), Send([connect("raw.test:80"), trace.replace(b"http://raw.test", b"")]),
        Send(get("http://raw.test/", "raw.test", method=b"OPTIONS"))])
    assert [r.status for r in replies[:3]] == [400, 400, 501] and replies[3].statuses == [200, 501] and replies[4].status == 200
    assert not any(b"reflected" in r.data for r in replies)
    assert len(received(lab)) == 1


def test_a_refusal_names_the_url(lab, sallyport):
    sends = [Send(get("http://denied.test/x?y=1", "denied.test")), Send(get("http://denied.test:8080/x", "denied.test:8080"))]
    plain, other = exchange(sallyport, POLICY, sends)
    assert "Asked for: GET http://denied.test/x." in plain.problem()["detail"]
    assert "Asked for: GET http://denied.test:8080/x." in other.problem()["detail"]
    assert PROXY == ("127.0.0.1", 3128)

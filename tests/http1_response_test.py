"""What a hostile or clumsy upstream may do to a client and to the requests that come after it: http1-027 to 033, by answers of exact
bytes. Each port of the raw origin plays one of them."""

import hashlib
import json

import pytest

from raw_exchanges import Send, connect, exchange, get

PORTS = (22, 80, 443, 5432, 8080)
POLICY = "policy: responses/1\nrules:\n" + "".join(f"  - id: raw-{p}\n    allow: http://raw.test:{p}/**\n" for p in PORTS) + """
  - id: web
    allow: http://allowed.test/**
  - id: echo
    allow: http://echo.test/**
"""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def name(port):
    return "raw.test" if port == 80 else f"raw.test:{port}"


def ask(port, extra=b"", method=b"GET", path="/a", version=b"1.1"):
    return get(f"http://{name(port)}{path}", name(port), extra, method).replace(b"HTTP/1.1", b"HTTP/" + version)


def answers(lab, sallyport, given, **request):
    """The replies to one request for each of the answers; `after` of a script where the answer is a pair."""
    replies = []
    for start in range(0, len(given), len(PORTS)):
        batch = given[start:start + len(PORTS)]
        for port, answer in zip(PORTS, batch):
            answer, after = answer if isinstance(answer, tuple) else (answer, "close")
            lab.script(port, answer, after=after)
        replies += exchange(sallyport, POLICY, [Send(ask(port, **request), seconds=3) for port, _ in zip(PORTS, batch)], at_once=5)
    return replies


def head(*lines, status=b"200 OK"):
    return b"HTTP/1.1 " + status + b"\r\n" + b"".join(line + b"\r\n" for line in lines) + b"\r\n"


FAULTY = {
    "http1-030 framing": [
        head(b"Content-Length: 2", b"Content-Length: 3") + b"okk", head(b"Content-Length: 2", b"Transfer-Encoding: chunked") + b"ok",
        head(b"Content-Length: +2") + b"ok", head(b"Content-Length: 2, 2") + b"ok", head(b"Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n",
        head(b"Transfer-Encoding: chunked", b"Transfer-Encoding: chunked") + b"0\r\n\r\n",
        head(b"Content-Length: 5", status=b"204 No Content") + b"hello", head(b"Transfer-Encoding: chunked", status=b"204 No Content"),
        head(b"Transfer-Encoding: chunked").replace(b"1.1", b"1.0") + b"0\r\n\r\n"],
    "http1-030 heads": [
        b"garbage\r\n\r\n", b"HTTP/2.0 200 OK\r\n\r\n", b"HTTP/1.1 99 Low\r\n\r\n", b"HTTP/1.1 2000 OK\r\n\r\n", b"\x16\x03\x01\x00\x05hello\r\n\r\n",
        head(b"X : y"), head(b" folded: y"), head(b"X: a", b" folded"), head(b"X: a\x00b"), head(b"X: a\rb"), b"HTTP/1.1 200 OK\nContent-Length: 2\n\nok",
        head(b": y"), head(b"no colon"), head(b"X: " + b"y" * 70000), head(*[b"X-%d: y" % n for n in range(500)])],
    "http1-027 unasked switch": [
        head(b"Upgrade: h2c", b"Connection: Upgrade", status=b"101 Switching Protocols") + b"PRI *",
        head(b"Upgrade: websocket", b"Connection: Upgrade", status=b"101 Switching Protocols")],
    "http1-033 proxy credentials": [head(b'Proxy-Authenticate: Basic realm="x"', b"Content-Length: 0", status=b"407 Proxy Authentication Required")],
    "interim without end": [head(status=b"103 Early Hints") * 20 + OK],
    "nothing": [b"", (b"", "reset"), b"HTTP/1.1 200 OK\r\nContent-"],
}


@pytest.mark.parametrize("case", FAULTY)
def test_faulty_answer_becomes_502(lab, sallyport, case):
    replies = answers(lab, sallyport, FAULTY[case])
    for answer, reply in zip(FAULTY[case], replies):
        final = [s for s in reply.statuses if s >= 200]
        assert final == [502], (answer, reply)
        document = json.loads(reply.data.rsplit(b"\r\n\r\n", 1)[1])
        assert document["reason"] in ("upstream_malformed", "upstream_closed") and b"Proxy-Authenticate" not in reply.data
    assert not any(b"evil" in r.data or b"PRI" in r.data for r in replies)
    control, = answers(lab, sallyport, [OK])
    assert control.status == 200 and control.data.endswith(b"\r\n\r\nok")


def body(reply):
    return reply.data.split(b"\r\n\r\n", 1)[1]


def test_good_answers_pass(lab, sallyport):
    chunked = head(b"Transfer-Encoding: chunked") + b"2;ext=secret\r\nok\r\n1\r\n!\r\n0\r\nX-Trailer: t\r\n\r\n"
    replies = answers(lab, sallyport, [
        OK, chunked, head() + b"until close", head(status=b"204 No Content"), head(status=b"103 Early Hints") + head(status=b"100 Continue") + OK,
        head(b"Content-Length: 4", status=b"426 Upgrade Required") + b"nope", head(b"Content-Length: 9", status=b"304 Not Modified"),
        head(b"Alt-Svc: h3=\":443\"", b"Keep-Alive: x", b"Connection: X-Hop", b"X-Hop: y", b"Proxy-Status: z", b"X-Kept: k", b"Content-Length: 0")])
    assert [[s for s in r.statuses if s >= 200] for r in replies] == [[200], [200], [200], [204], [200], [426], [304], [200]]
    assert body(replies[0]) == b"ok"
    assert body(replies[1]).endswith(b"0\r\n\r\n") and b"secret" not in replies[1].data and b"X-Trailer" not in replies[1].data
    assert b"until close" in body(replies[2]) and b"chunked" in replies[2].data and replies[2].data.endswith(b"0\r\n\r\n")
    assert b"Content-Length" not in replies[3].data and body(replies[3]) == b""
    assert replies[4].statuses[0] == 103
    assert b"Content-Length: 9" in replies[6].data and body(replies[6]) == b""
    last = replies[7].data
    assert b"X-Kept: k" in last and not any(w in last for w in (b"Alt-Svc", b"Keep-Alive", b"X-Hop", b"Proxy-Status"))


def test_answers_to_head_and_to_http_1_0(lab, sallyport):
    chunked = head(b"Transfer-Encoding: chunked") + b"2\r\nok\r\n0\r\n\r\n"
    asked = answers(lab, sallyport, [head(b"Content-Length: 1000"), head(b"Transfer-Encoding: chunked")], method=b"HEAD")
    assert [r.status for r in asked] == [200, 200] and [body(r) for r in asked] == [b"", b""]
    assert b"Content-Length: 1000" in asked[0].data
    old = answers(lab, sallyport, [chunked, head() + b"until close", head(status=b"103 Early Hints") + OK], version=b"1.0")
    assert [r.status for r in old] == [200, 200, 200] and [body(r) for r in old] == [b"ok", b"until close", b"ok"]
    assert all(r.end == "fin" for r in old) and not any(b"chunked" in r.data for r in old)


def test_http1_030_a_second_answer_behind_the_first_is_nobodys(lab, sallyport):
    """The connection that had more to say than it was asked is closed, whoever comes next."""
    extra = OK + b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil"
    for port, answer in zip(PORTS, [extra, head(status=b"204 No Content") + b"evil", head(b"Content-Length: 2") + b"okevil"]):
        lab.script(port, answer)
    sends = [Send([ask(port), ask(port, path="/b")], pause=0.3) for port in PORTS[:3]]
    replies = exchange(sallyport, POLICY, sends, at_once=3)
    assert [r.statuses for r in replies] == [[200, 200], [204, 204], [200, 200]]
    assert not any(b"evil" in r.data for r in replies)
    used = [(c["dport"], c["data"].count(b" HTTP/1.1")) for c in lab.connections("raw")]
    assert sorted(used) == sorted((port, 1) for port in PORTS[:3] for _ in range(2))
    lab.reset()
    control, = exchange(sallyport, POLICY, [Send([ask(80), ask(80)], pause=0.3)])
    assert control.statuses == [200, 200] and len(lab.connections("raw")) == 1


def test_an_answer_that_ends_early_is_not_taken_for_whole(lab, sallyport):
    cut = [head(b"Content-Length: 10") + b"half", head(b"Transfer-Encoding: chunked") + b"5\r\nhe", head(b"Transfer-Encoding: chunked") + b"5\r\nhello\r\n",
           head(b"Transfer-Encoding: chunked") + b"5\r\nhello\r\nzz\r\n", (head() + b"half", "reset")]
    replies = answers(lab, sallyport, cut)
    for answer, reply in zip(cut, replies):
        whole = b"Content-Length: 10" not in reply.data and reply.data.endswith(b"0\r\n\r\n")
        assert reply.status == 502 or (reply.status == 200 and reply.end == "reset" and not whole), (answer, reply)
    control, = answers(lab, sallyport, [head() + b"half"])
    assert control.data.endswith(b"0\r\n\r\n"), "the end of the connection is an end"


def test_http1_033_proxy_authorization_after_a_407_stays_here(lab, sallyport):
    lab.script(80, head(b"Proxy-Authenticate: Basic", b"Content-Length: 0", status=b"407 X"))
    reply, = exchange(sallyport, POLICY, [Send([ask(80), ask(80, b"Proxy-Authorization: Basic c2VjcmV0\r\n")], pause=0.3)])
    assert reply.statuses == [502, 502]
    assert b"c2VjcmV0" not in b"".join(c["data"] for c in lab.connections("raw"))


def test_budget_013_a_post_is_never_sent_twice(lab, sallyport):
    post = ask(80, b"Content-Length: 500000\r\n", b"POST")
    lab.script(80, mode="reset", trigger="data")
    reply, = exchange(sallyport, POLICY, [Send([post + b"x" * 250000, b"x" * 250000], pause=0.3, seconds=6)])
    assert reply.status == 502 and reply.problem()["reason"] == "upstream_closed", reply
    assert len(lab.connections("raw")) == 1


@pytest.mark.parametrize("method,body,tries", [(b"GET", b"", 2), (b"POST", b"", 1), (b"GET", b"x", 1), (b"DELETE", b"", 1)])
def test_budget_013_a_stale_connection_is_tried_anew_only_when_nothing_can_happen_twice(lab, sallyport, method, body, tries):
    lab.script(80, [OK, b""], after="close")  # the second request of a connection finds it closing
    length = b"Content-Length: %d\r\n" % len(body) if body or method == b"POST" else b""
    reply, = exchange(sallyport, POLICY, [Send([ask(80), ask(80, length, method) + body], pause=0.4)])
    assert reply.statuses == ([200, 200] if tries == 2 else [200, 502])
    assert len(lab.connections("raw")) == tries


def test_an_upstream_that_resets_while_the_client_still_sends_is_told(lab, sallyport):
    lab.script(80, head(b"Content-Length: 2", status=b"413 Too Large") + b"no", after="reset")
    early, = exchange(sallyport, POLICY, [Send([ask(80, b"Content-Length: 600000\r\n", b"POST") + b"x" * 300000, b"x" * 300000], pause=0.3, seconds=6)])
    assert early.statuses in ([413], [502]), early
    assert len(lab.connections("raw")) == 1


BULK = r"""
import hashlib, json, socket, base64
MIB = 1 << 20
def connection():
    s = socket.create_connection(("127.0.0.1", 3128), 10); s.settimeout(20); return s, s.makefile("rb")
def head(f):
    lines = []
    while True:
        line = f.readline()
        if line in (b"\r\n", b""): return lines
        lines.append(line.strip())
def read_body(f, lines):
    low = [l.lower() for l in lines]
    if b"transfer-encoding: chunked" in low:
        out = b""
        while True:
            size = int(f.readline(), 16); out += f.read(size); f.readline()
            if size == 0: return out
    return f.read(int([l for l in low if l.startswith(b"content-length:")][0].split(b":")[1]))
def fetch(url, host, extra=b"", pieces=()):
    s, f = connection()
    s.sendall(b"%s %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (b"POST" if pieces else b"GET", url, host, extra))
    for piece in pieces: s.sendall(piece)
    lines = head(f); return lines[0].decode(), read_body(f, lines)
data = hashlib.shake_256(b"seed").digest(10 * MIB)
out = {}
status, got = fetch(b"http://allowed.test/10m", b"allowed.test"); out["down"] = [status, len(got), hashlib.sha256(got).hexdigest()]
status, got = fetch(b"http://echo.test/", b"echo.test", b"Content-Length: %d\r\n" % len(data), [data])
out["up"] = [status, hashlib.sha256(base64.b64decode(json.loads(got)["body_base64"])).hexdigest()]
chunks = [b"%x\r\n%s\r\n" % (len(data[i:i + 70001]), data[i:i + 70001]) for i in range(0, 5 * MIB, 70001)]
status, got = fetch(b"http://echo.test/", b"echo.test", b"Transfer-Encoding: chunked\r\n", chunks + [b"0\r\n\r\n"])
count = len(range(0, 5 * MIB, 70001)) * 70001
out["chunked"] = [status, hashlib.sha256(base64.b64decode(json.loads(got)["body_base64"])).hexdigest() == hashlib.sha256(data[:count]).hexdigest()]
status, got = fetch(b"http://allowed.test/chunked", b"allowed.test"); out["chunked down"] = [status, len(got) > 0]
print(json.dumps(out))
"""


def test_large_bodies_arrive_as_they_were_sent(lab, sallyport):
    done = sallyport(["/usr/bin/python3", "-IS", "-c", BULK], policy=POLICY, options=["--quiet"], timeout=50)
    assert done.exit == 0, done
    out = json.loads(done.stdout)
    sent = hashlib.shake_256(b"seed").digest(10 << 20)
    direct = lab.exec(["curl", "-s", "http://198.51.100.10/10m", "-H", "Host: allowed.test"], timeout=20)
    assert out["down"] == ["HTTP/1.1 200 OK", 10 << 20, hashlib.sha256(direct.stdout_bytes).hexdigest()]
    assert out["up"] == ["HTTP/1.1 200 OK", hashlib.sha256(sent).hexdigest()]
    assert out["chunked"] == ["HTTP/1.1 200 OK", True] and out["chunked down"] == ["HTTP/1.1 200 OK", True]


def test_what_a_connect_carries_is_http_with_the_same_rules(lab, sallyport):
    lab.script(80, [head(b"Content-Length: 2", b"Content-Length: 3") + b"okk"])
    faulty, = exchange(sallyport, POLICY, [Send([connect("raw.test:80"), get("/", "raw.test")], pause=0.2)])
    lab.reset()
    control, = exchange(sallyport, POLICY, [Send([connect("raw.test:80"), get("/", "raw.test")], pause=0.2)])
    assert faulty.statuses == [200, 502] and control.statuses == [200, 200]


def test_a_head_that_broke_off_leaves_nothing_for_the_next_answer(lab, sallyport):
    """On one client connection: the answer of one upstream ends in the middle of its head, then another upstream is asked, and again."""
    lab.script(80, b"HTTP/1.1 207 Stale\r\nX-Stale: yes\r\nContent-Le", after="close")
    lab.script(8080, head(b"Content-Length: 5", b"X-Own: 1") + b"fresh", after="close")
    turns = [ask(80), ask(8080), ask(80), ask(8080)]
    reply, = exchange(sallyport, POLICY, [Send([*turns], seconds=6, pause=0.3)])
    assert reply.statuses == [502, 200, 502, 200], reply
    assert b"X-Stale" not in reply.data and b"207" not in reply.data and reply.data.count(b"\r\n\r\nfresh") == 2

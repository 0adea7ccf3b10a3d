"""What the proxy writes means the same to other people's programs: odd but legal requests as nginx, node, python and Go understand them, odd but
legal responses as python, node and curl do. Compared is with what was sent, after the changes that are documented (core/http/writer.h: what stays
between client and proxy, one Host, one framing; policies/engine/path.h: the canonical path)."""

import base64
import contextlib
import json
import random

import pytest

import go_programs
from origins import nginx, server

POLICY = "policy: differential/1\nrules:\n" + "".join(f"  - allow: http://{n}.test/**\n" for n in ("nginx-server", "node-server", "python-server", "go-server", "odd"))
REQUESTS, RESPONSES = 150, 60
# Registered, and known to all of the servers.
METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "REPORT", "SEARCH", "MKCOL", "LOCK", "ACL", "LINK", "UNLINK"]
KEPT = ["Accept", "accept-LANGUAGE", "X-ODD!#$%&'*+-.^`|~1", "Cookie", "X-Empty", "X-" + "n" * 200, "Priority", "Sec-Fetch-Mode", "Cache-Control", "x"]
KEPT_ONCE = ["range", "If-None-Match", "Authorization", "user-agent", "Referer"]  # servers refuse two of these
DROPPED = ["Via", "Forwarded", "X-Forwarded-For", "x-real-ip", "Proxy-Authorization", "Keep-Alive", "TE", "Upgrade", "Max-Forwards"]
VALUES = [b"", b"a", b"x, y; q=\"z\"", b"a:b:c", b"a  b\tc", b"\xe4\xf6\xfc\xff", b"'\"\\", b"%00%0d%0a", b"=?utf-8?q?=0a?=", b"(comment (nested))", b",,,", b"0", b"v" * 3000]
TARGETS = {"/": "/", "/a%20b?c=d&e": "/a%20b?c=d&e", "/%7Euser/%41": "/~user/A", "/a'b!c(d)*,e": "/a'b!c(d)*,e", "/?": "/?", "/?a?b/../c": "/?a?b/../c", "/x?q=%ff%0A": "/x?q=%ff%0A",
           "/a/": "/a/", "/[x]|{y}": "/%5Bx%5D%7C%7By%7D", "/%c3%a9": "/%C3%A9", "/" + "p" * 4000: "/" + "p" * 4000, "/q?" + "k=v&" * 900: "/q?" + "k=v&" * 900, "/a:b@c": "/a:b@c",
           "/...": "/...", "/.hidden": "/.hidden", "/%2Bplus+plus": "/%2Bplus+plus"}
FRAMING = {"host", "connection", "content-length", "transfer-encoding", "expect"}

NODE = r"""
const http = require('http');
const server = http.createServer({maxHeaderSize: 131072}, (q, r) => { const parts = []; q.on('data', d => parts.push(d)).on('end', () => {
  const h = []; for (let i = 0; i < q.rawHeaders.length; i += 2) h.push([q.rawHeaders[i], Buffer.from(q.rawHeaders[i + 1], 'latin1').toString('base64')]);
  const body = JSON.stringify({method: q.method, target: q.url, headers: h, body: Buffer.concat(parts).toString('base64')}); r.end(body) }) });
server.maxHeadersCount = 0; server.on('checkContinue', (q, r) => { r.writeContinue(); server.emit('request', q, r) }); server.listen(80, process.argv[1]);
"""
PYTHON = r"""
import base64, http.client, http.server, json, sys
http.client._MAXHEADERS = 1000
class Echo(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def __getattr__(self, name):
        if name.startswith("do_"): return self.echo
        raise AttributeError(name)
    def echo(self):
        body = b""
        if self.headers.get("transfer-encoding") == "chunked":
            while size := int(self.rfile.readline(), 16): body += self.rfile.read(size); self.rfile.readline()
            self.rfile.readline()
        else: body = self.rfile.read(int(self.headers.get("content-length", 0)))
        text = json.dumps({"method": self.command, "target": self.path, "headers": [[n, base64.b64encode(v.encode("latin-1")).decode()] for n, v in self.headers.items()],
                           "body": base64.b64encode(body).decode()}).encode()
        self.send_response(200); self.send_header("Content-Length", str(len(text))); self.end_headers(); self.wfile.write(text)
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer((sys.argv[1], 80), Echo).serve_forever()
"""
GO = r"""
package main

import ("encoding/json"; "io"; "net/http"; "os")

func main() {
	http.ListenAndServe(os.Args[1]+":80", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		h := [][]interface{}{}
		for n, vs := range r.Header { for _, v := range vs { h = append(h, []interface{}{n, []byte(v)}) } }
		json.NewEncoder(w).Encode(map[string]interface{}{"method": r.Method, "target": r.RequestURI, "headers": h, "body": b})
	}))
}
"""
# nginx parses, and passes on to the lab's echo host what it understood; under its own name, as the rest of that is the lab's business.
NGINX = """server { listen ADDRESS:80; server_name nginx-server.test; large_client_header_buffers 8 64k; client_header_buffer_size 64k; underscores_in_headers on;
  ignore_invalid_headers off; location / { proxy_http_version 1.1; proxy_pass http://198.51.100.20; proxy_set_header Host $http_host; proxy_set_header X-Method $request_method; } }"""

# Sends each message as it is and reads one answer.
INSIDE = r"""
import base64, http.client, json, socket, sys
given = json.load(sys.stdin); out = []
for to, data in given:
    s = socket.create_connection(tuple(to), 5); s.settimeout(8); s.sendall(base64.b64decode(data))
    r = http.client.HTTPResponse(s)
    try:
        r.begin(); out.append([r.status, r.read().decode("utf-8", "backslashreplace")])
    except Exception as e: out.append([0, repr(e)])
    s.close()
print(json.dumps(out))
"""


class Asked:
    """A request as a client writes it, and what of it a server has to understand."""

    def __init__(self, dice, host, caught):
        self.method, self.host = dice.choice(METHODS), host
        sent_target, self.target = dice.choice(list(TARGETS.items()))
        count = dice.choice([0, 1, 3, 6, 90]) if dice.random() < 0.95 else 110
        fields = [(dice.choice(KEPT), dice.choice(VALUES if count < 10 else VALUES[:-1])) for _ in range(count)]
        fields += [(name, dice.choice(VALUES)) for name in dice.sample(KEPT_ONCE, dice.choice([0, 1, 3]))]
        self.fields = [(n, v.strip(b" \t")) for n, v in fields]
        lines = [dice.choice([b"%s: %s", b"%s:%s", b"%s: \t%s \t"]) % (n.encode(), v) for n, v in fields]
        for name in dice.sample(DROPPED, dice.choice([0, 0, 2])):
            lines.insert(dice.randrange(len(lines) + 1), name.encode() + b": dropped")
        if dice.random() < 0.2:
            lines.insert(dice.randrange(len(lines) + 1), b"X-Hop: dropped")
            lines.append(b"Connection: X-Hop")
        self.body = dice.choice([b"", b"", b"b", bytes(range(256)), b"0\r\n\r\nGET / HTTP/1.1\r\n\r\n", b"z" * 70000])
        payload = self.body
        if self.body and dice.random() < 0.5:
            lines.insert(0, dice.choice([b"Transfer-Encoding: chunked", b"transfer-encoding:  Chunked "]))
            pieces, rest = [], self.body
            while rest:
                size = dice.randint(1, max(1, len(rest)))
                pieces.append(dice.choice([b"%x", b"%X", b"000%x", b"%x;ext=1", b"%x;e=\"q\""]) % size + b"\r\n" + rest[:size] + b"\r\n")
                rest = rest[size:]
            payload = b"".join(pieces) + dice.choice([b"0\r\n\r\n", b"0\r\nX-Trailer: dropped\r\n\r\n"])
        elif self.body or dice.random() < 0.3:
            lines.append(dice.choice([b"Content-Length: %d", b"content-length:%d"]) % len(self.body))
        prefix = "" if caught else dice.choice(["http://" + host, "HTTP://" + host.upper(), f"http://{host}:80"])
        line_host = dice.choice([host, host.upper(), host + ":80"])
        self.to = (host, 80) if caught else ("127.0.0.1", 3128)
        lines.insert(dice.randrange(len(lines) + 1), b"Host: " + line_host.encode())
        self.wire = f"{self.method} {prefix}{sent_target} HTTP/1.1\r\n".encode() + b"\r\n".join(lines) + b"\r\n\r\n" + payload

    def difference(self, seen, keeps_case):
        """What `seen` has otherwise; None if nothing."""
        fields = [(n, base64.b64decode(v)) for n, v in seen["headers"] if n.lower() not in FRAMING]
        mine, fold = self.fields, (lambda n: n) if keeps_case else str.lower
        theirs, mine = [(fold(n), v) for n, v in fields], [(fold(n), v) for n, v in mine]
        if not keeps_case:
            theirs, mine = sorted(theirs), sorted(mine)
        for what, got, wanted in (("method", seen["method"], self.method), ("target", seen["target"], self.target), ("body", base64.b64decode(seen["body"]), self.body), ("fields", theirs, mine)):
            if got != wanted:
                return f"{what}: {str(got)[:300]} instead of {str(wanted)[:300]} for {self.wire[:400]}"
        hosts = [base64.b64decode(v).decode() for n, v in seen["headers"] if n.lower() == "host"]
        return None if hosts in ([self.host], []) else f"host {hosts}"


@contextlib.contextmanager
def servers(lab):
    """Those that this machine has: name → how an answer of it is read."""
    with contextlib.ExitStack() as stack:
        found = {}
        stack.enter_context(nginx(lab, NGINX.replace("ADDRESS", "198.51.100.45"), "nginx-server.test", "198.51.100.45"))
        found["nginx-server.test"] = lambda seen: {
            "method": seen["method"], "target": seen["target"], "body": seen["body_base64"],
            "headers": [[n, base64.b64encode(v.encode("latin-1")).decode()] for n, v in seen["headers"] if n != "X-Method"]}
        stack.enter_context(server(lab, ["/usr/bin/node", "-e", NODE, "198.51.100.46"], "node-server.test", "198.51.100.46"))
        stack.enter_context(server(lab, ["/usr/bin/python3", "-IS", "-c", PYTHON, "198.51.100.47"], "python-server.test", "198.51.100.47"))
        found["node-server.test"] = found["python-server.test"] = lambda seen: seen
        if go_programs.GO:
            stack.enter_context(server(lab, [go_programs.built(GO), "198.51.100.48"], "go-server.test", "198.51.100.48"))
            found["go-server.test"] = lambda seen: seen
        yield found


@pytest.mark.timeout(200)
def test_requests_mean_the_same_to_other_servers(lab, sallyport):
    dice = random.Random(7)
    with servers(lab) as found:
        asked = [Asked(dice, host, caught=n % 3 == 2) for host in found for n in range(REQUESTS)]
        steps = [[list(a.to), base64.b64encode(a.wire).decode()] for a in asked]
        done = sallyport(["/usr/bin/python3", "-IS", "-c", INSIDE], policy=POLICY, options=["--quiet"], stdin=json.dumps(steps).encode(), timeout=100)
    assert done.exit == 0, done
    problems = []
    for request, (status, text) in zip(asked, json.loads(done.stdout)):
        if status != 200:
            problems.append(f"{request.host}: {status} {text[:300]} for {request.wire[:300]}")
            continue
        difference = request.difference(found[request.host](json.loads(text)), keeps_case=request.host != "go-server.test")
        if difference:
            problems.append(f"{request.host}: {difference}")
    assert not problems, f"{len(problems)} of {len(asked)}:\n" + "\n".join(problems[:12])


PIPELINES = r"""
import base64, concurrent.futures, http.client, json, random, socket, sys, threading, time
class Rest:
    # What http.client takes for a socket: all answers of a connection are read from one file.
    def __init__(self, file): self.file = file
    def makefile(self, *a): return self
    def __getattr__(self, name): return getattr(self.file, name)
    def close(self): pass
def one(given):
    to, wire, cuts, methods = given
    wire = base64.b64decode(wire); s = socket.create_connection(tuple(to), 5); s.settimeout(20); s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    def send():
        for start, end in zip([0, *cuts], [*cuts, len(wire)]): s.sendall(wire[start:end]); time.sleep(0.002)
    sender = threading.Thread(target=send, daemon=True); sender.start(); answers, file = [], s.makefile("rb")
    for method in methods:
        r = http.client.HTTPResponse(Rest(file), method=method)
        try: r.begin(); answers.append([r.status, r.read().decode("utf-8", "backslashreplace")])
        except Exception as e: answers.append([0, repr(e)]); break
    sender.join(10); s.close(); return answers
with concurrent.futures.ThreadPoolExecutor(8) as pool: print(json.dumps(list(pool.map(one, json.load(sys.stdin)))))
"""


@pytest.mark.timeout(120)
def test_pipelines_cut_anywhere_are_answered_in_order(lab, sallyport):
    """Requests of all kinds behind each other on one connection, in pieces of any size: each answer is that of its own request."""
    dice, given, asked = random.Random(23), [], []
    with server(lab, ["/usr/bin/node", "-e", NODE, "198.51.100.46"], "node-server.test", "198.51.100.46"):
        for n in range(60):
            requests = [Asked(dice, "node-server.test", caught=n % 2 == 1) for _ in range(dice.randint(2, 7))]
            requests = [r for r in requests if b"close" not in r.wire and len(r.wire) < 20000] or [Asked(random.Random(1), "node-server.test", caught=n % 2 == 1)]
            wire = b"".join(r.wire for r in requests)
            cuts = sorted(dice.sample(range(1, len(wire)), min(len(wire) - 1, dice.choice([0, 1, 5, 60]))))
            given.append([list(requests[0].to), base64.b64encode(wire).decode(), cuts, [r.method for r in requests]])
            asked.append(requests)
        done = sallyport(["/usr/bin/python3", "-IS", "-c", PIPELINES], policy=POLICY, options=["--quiet"], stdin=json.dumps(given).encode(), timeout=100)
    assert done.exit == 0, done
    for requests, answers, (_, _, cuts, _) in zip(asked, json.loads(done.stdout), given):
        assert [status for status, _ in answers] == [200] * len(requests), (cuts, answers, [r.wire[:300] for r in requests])
        for request, (_, text) in zip(requests, answers):
            assert request.difference(json.loads(text), keeps_case=True) is None


# --- the other way ---

ORIGIN = r"""
import base64, json, socket, sys, threading
answers = [base64.b64decode(a) for a in json.load(open(sys.argv[2]))]
def serve(c):
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = c.recv(65536)
        if not piece: return
        head += piece
    c.sendall(answers[int(head.split(b" ")[1][1:])]); c.shutdown(socket.SHUT_WR)
    while c.recv(65536): pass
    c.close()
listener = socket.create_server((sys.argv[1], 80), backlog=64)
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""
CLIENTS = r"""
import base64, http.client, json, subprocess, sys
given = json.load(sys.stdin); out = {"python": [], "node": [], "curl": []}
b64 = lambda b: base64.b64encode(b).decode()
http.client._MAXHEADERS = 1000
for n, method in enumerate(given["methods"]):
    c = http.client.HTTPConnection("127.0.0.1", 3128, timeout=8)
    c.request(method, "http://odd.test/%d" % n, headers={"Host": "odd.test"})
    r = c.getresponse()
    out["python"].append([r.status, r.reason, [[k, b64(v.encode("latin-1"))] for k, v in r.getheaders()], b64(r.read())]); c.close()
script = '''
const http = require('http'), methods = JSON.parse(process.argv[1]), out = [];
const one = n => { if (n == methods.length) return console.log(JSON.stringify(out));
  http.request({host: '127.0.0.1', port: 3128, method: methods[n], path: 'http://odd.test/' + n, headers: {Host: 'odd.test'}, agent: false, maxHeaderSize: 131072}, r => { const p = [];
    r.on('data', d => p.push(d)).on('end', () => { const h = []; for (let i = 0; i < r.rawHeaders.length; i += 2) h.push([r.rawHeaders[i], Buffer.from(r.rawHeaders[i + 1], 'latin1').toString('base64')]);
      out.push([r.statusCode, r.statusMessage, h, Buffer.concat(p).toString('base64')]); one(n + 1) }) }).on('error', e => { out.push([0, String(e), [], '']); one(n + 1) }).end() };
one(0)'''
out["node"] = json.loads(subprocess.run(["/usr/bin/node", "-e", script, json.dumps(given["methods"])], capture_output=True, timeout=40).stdout)
for n, method in enumerate(given["methods"]):
    done = subprocess.run(["curl", "-sS", "-m", "8", *(["-I"] if method == "HEAD" else ["-i", "-X", method]), "-x", "http://127.0.0.1:3128", "http://odd.test/%d" % n], capture_output=True)
    blocks, rest = [], done.stdout
    while rest.startswith(b"HTTP/1.1 "):
        head, rest = rest.split(b"\r\n\r\n", 1); blocks.append(head)
        if not head.startswith(b"HTTP/1.1 1"): break
    line, *fields = blocks[-1].split(b"\r\n") if blocks else [b"HTTP/1.1 0 " + done.stderr]
    status, _, reason = line[9:].partition(b" ")
    out["curl"].append([int(status), reason.decode("latin-1"), [[f.split(b":")[0].decode(), b64(f.split(b":", 1)[1].strip(b" \t"))] for f in fields], b64(rest)])
print(json.dumps(out))
"""
ANSWER_KEPT = ["Content-Type", "ETag", "X-ODD!#$%&'*+-.^_`|~1", "set-cookie", "Set-Cookie", "Location", "Vary", "Server", "x-empty", "Via", "WWW-Authenticate", "X-" + "n" * 100]
ANSWER_DROPPED = ["Alt-Svc", "Keep-Alive", "Proxy-Authenticate", "Upgrade", "Proxy-Connection", "Trailer"]


class Answered:
    def __init__(self, dice):
        self.method = dice.choice(["GET", "GET", "GET", "POST", "HEAD"])
        self.status = dice.choice([200, 200, 200, 201, 204, 206, 299, 304, 404, 418, 451, 499, 500, 503, 599])
        self.reason = dice.choice(["OK", "", "Not Quite", "sp  aces", "8"])
        count = dice.choice([0, 2, 5, 80])
        self.fields = [(dice.choice(ANSWER_KEPT), dice.choice(VALUES[:-1])) for _ in range(count)]
        lines = [dice.choice([b"%s: %s", b"%s:%s", b"%s: %s \t"]) % (n.encode(), v) for n, v in self.fields]
        for name in dice.sample(ANSWER_DROPPED, dice.choice([0, 0, 2])):
            lines.insert(dice.randrange(len(lines) + 1), name.encode() + b": dropped")
        self.body = b"" if self.status in (204, 304) or self.method == "HEAD" else dice.choice([b"", b"b", bytes(range(256)), b"HTTP/1.1 200 OK\r\n\r\n", b"y" * 70000])
        framing, payload = dice.choice(["length", "chunked", "close"]), self.body
        if self.status == 204:
            framing = "none"
        if framing == "length":
            lines.insert(0, b"Content-Length: %d" % (len(self.body) or 5 * (self.method == "HEAD")))
        elif framing == "chunked":
            lines.append(dice.choice([b"Transfer-Encoding: chunked", b"transfer-encoding:CHUNKED"]))
            if self.method != "HEAD" and self.status != 304:
                half = len(self.body) // 2
                pieces = [p for p in (self.body[:half], self.body[half:]) if p]
                payload = b"".join(b"%x;x=y\r\n%s\r\n" % (len(p), p) for p in pieces) + dice.choice([b"0\r\n\r\n", b"00\r\nX-Trailer: dropped\r\n\r\n"])
        self.interim = interim = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * dice.choice([0, 0, 0, 2])
        version = dice.choice([b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0"]) if framing != "chunked" and not interim else b"HTTP/1.1"
        self.wire = interim + version + b" %d %s\r\n" % (self.status, self.reason.encode()) + b"\r\n".join([*lines, b"", b""]) + payload

    def difference(self, seen, client):
        if client == "python" and self.interim:
            return None  # http.client takes any interim answer but 100 for the final one
        status, reason, fields, body = seen
        theirs = [(n, base64.b64decode(v)) for n, v in fields if n.lower() not in FRAMING and n.lower() != "date"]
        for what, got, wanted in (("status", status, self.status), ("reason", reason if self.reason else "", self.reason), ("body", base64.b64decode(body), self.body), ("fields", theirs, self.fields)):
            if got != wanted:
                return f"{what}: {str(got)[:300]} instead of {str(wanted)[:300]} for {self.method} {self.wire[:400]}"
        return None


@pytest.mark.timeout(120)
def test_responses_mean_the_same_to_other_clients(lab, sallyport, tmp_path):
    dice = random.Random(11)
    answers = [Answered(dice) for _ in range(RESPONSES)]
    (tmp_path / "answers.json").write_text(json.dumps([base64.b64encode(a.wire).decode() for a in answers]))
    with server(lab, ["/usr/bin/python3", "-IS", "-c", ORIGIN, "198.51.100.49", tmp_path / "answers.json"], "odd.test", "198.51.100.49"):
        done = sallyport(["/usr/bin/python3", "-IS", "-c", CLIENTS], policy=POLICY, options=["--quiet"], stdin=json.dumps({"methods": [a.method for a in answers]}).encode(), timeout=100)
    assert done.exit == 0, done
    seen, problems = json.loads(done.stdout), []
    for client in ("python", "node", "curl"):
        assert len(seen[client]) == len(answers)
        problems += [f"{client}: {d}" for a, s in zip(answers, seen[client]) if (d := a.difference(s, client))]
    assert not problems, f"{len(problems)}:\n" + "\n".join(problems[:12])

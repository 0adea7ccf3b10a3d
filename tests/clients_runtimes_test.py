"""Programs of other runtimes over clear HTTP: client-002 (node with and without proxy variables), Java's HttpClient, which offers h2c on
every request, client-008 (Go, where a compiler is installed) and the forms of NO_PROXY, client-010 (long streams)."""

import shutil

import pytest

import go_programs
from client_runs import UNRESOLVED, check, run_clients
from origins import server

POLICY = """policy: clients-runtimes/1
rules:
  - id: web
    allow: GET,HEAD http://allowed.test/**
  - id: echo
    allow: http://echo.test/**
  - id: streams
    allow: http://stream.test/**
"""
BOTH_WAYS = pytest.mark.parametrize("variables,user", [(True, None), (False, "ordinary")], ids=["proxy-variables", "caught"])

FETCH = """
const [url, method] = process.argv.slice(1);
fetch(url, {method: method || 'GET'}).then(async r => { const t = await r.text(); console.log(r.status, r.statusText, t.length); process.exit(r.ok ? 0 : 1) })
  .catch(e => { console.log(e.cause || e); process.exit(1) })
"""
AGENT = """
const http = require('http'), agent = new http.Agent({keepAlive: true, maxSockets: 4});
const one = n => new Promise((yes, no) => http.get({host: 'allowed.test', path: '/1k?' + n, agent}, r => { let size = 0; r.on('data', d => size += d.length).on('end', () => yes(size)) }).on('error', no));
Promise.all([...Array(40).keys()].map(one)).then(s => { console.log(s.reduce((a, b) => a + b)); process.exit(0) }, e => { console.log(e); process.exit(1) })
"""
STREAM = """
const r = require('http').request('http://echo.test/', {method: 'POST', headers: {'Transfer-Encoding': 'chunked'}}, a => { let t = ''; a.on('data', d => t += d).on('end', () => console.log(JSON.parse(t).body_base64.length)) });
r.on('error', e => { console.log(e); process.exit(1) }); for (let n = 0; n < 30; n++) r.write('s'.repeat(1000)); r.end()
"""


def node(code, *arguments):
    return ["/usr/bin/node", "-e", code, *arguments]


@BOTH_WAYS
def test_client_002_node(lab, sallyport, variables, user):
    """Node 20 reads no proxy variables, node 24 does with NODE_USE_ENV_PROXY, which the sandbox sets: either way the same is allowed."""
    ended = run_clients(sallyport, POLICY, {
        "fetch": node(FETCH, "http://allowed.test/1m"), "http": node(AGENT), "stream": node(STREAM), "denied": node(FETCH, "http://denied.test/"),
        "method": node(FETCH, "http://allowed.test/upload", "DELETE"), "without": ["env", "-u", "NODE_USE_ENV_PROXY", *node(FETCH, "http://allowed.test/1m")],
    }, variables=variables, user=user)
    check(ended, {
        "fetch": (True, "200 OK 1048576"), "http": (True, "^40960"), "stream": (True, "^40000"), "denied": (False, f"403 .*no_rule|{UNRESOLVED}"),
        "method": (False, "403 .*method_not_allowed"), "without": (True, "200 OK 1048576"),
    })
    assert not lab.packets(dst="198.51.100.66") and not [r for r in lab.records("requests") if r["method"] == "DELETE"]


JAVA = r"""
import java.net.*; import java.net.http.*; import java.net.http.HttpRequest.BodyPublishers; import java.time.Duration; import java.util.concurrent.*; import java.util.stream.*;
public class Ask {
  public static void main(String[] a) throws Exception {
    HttpClient.Builder b = HttpClient.newBuilder().connectTimeout(Duration.ofSeconds(8));
    if (System.getProperty("http.proxyHost") != null) b.proxy(ProxySelector.getDefault());
    HttpClient c = b.build();  // HTTP/2 preferred: offers h2c
    String[][] asked = {{"GET", "http://allowed.test/1m"}, {"POST", "http://echo.test/"}, {"GET", "http://denied.test/"}, {"DELETE", "http://allowed.test/"}};
    for (String[] q : asked) {
      HttpRequest.BodyPublisher body = q[0].equals("POST") ? BodyPublishers.ofString("j".repeat(5000)) : BodyPublishers.noBody();
      try {
        HttpResponse<String> r = c.send(HttpRequest.newBuilder(URI.create(q[1])).timeout(Duration.ofSeconds(8)).method(q[0], body).build(), HttpResponse.BodyHandlers.ofString());
        System.out.println(q[0] + " " + q[1] + " " + r.statusCode() + " " + r.version() + " " + r.body().length() + " " + (r.statusCode() == 403 ? r.body().replace("\n", " ") : ""));
      } catch (Exception e) { System.out.println(q[0] + " " + q[1] + " " + e + " " + e.getCause()); }
    }
    HttpRequest one = HttpRequest.newBuilder(URI.create("http://allowed.test/1k")).build();
    long sum = IntStream.range(0, 40).mapToObj(n -> c.sendAsync(one, HttpResponse.BodyHandlers.ofString())).collect(Collectors.toList()).stream().mapToLong(f -> f.join().body().length()).sum();
    System.out.println("at once " + sum);
    HttpURLConnection old = (HttpURLConnection) new URL("http://allowed.test/1m").openConnection();
    System.out.println("old " + old.getResponseCode() + " " + old.getInputStream().readAllBytes().length);
    HttpURLConnection no = (HttpURLConnection) new URL("http://denied.test/").openConnection();
    try { no.getInputStream(); System.out.println("old denied: passed"); } catch (Exception e) { System.out.println("old denied " + e); }
  }
}
"""


@pytest.mark.skipif(not shutil.which("javac", path="/usr/bin"), reason="no Java compiler in /usr/bin")
@BOTH_WAYS
def test_java(lab, sallyport, variables, user):
    """Its HttpClient asks each clear request to become HTTP/2. The answer is HTTP/1.1, and the upstream is not asked."""
    ended = run_clients(sallyport, POLICY, {"java": ["java", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "Ask.java"]}, files={"Ask.java": JAVA.encode()},
                        variables=variables, user=user, seconds=50)
    denied = "403 .*no_rule" if variables else r"(ConnectException|UnknownHost|UnresolvedAddress)"
    for pattern in (r"GET http://allowed.test/1m 200 HTTP_1_1 1048576", r"POST http://echo.test/ 200 HTTP_1_1 \d+", f"GET http://denied.test/ .*{denied}",
                    r"DELETE http://allowed.test/ 403 HTTP_1_1 .*method_not_allowed", "at once 40960", "old 200 1048576",
                    "old denied .*403" if variables else "old denied .*UnknownHost"):
        check(ended, {"java": (True, pattern)})
    heads = b"".join(c["data"] for c in lab.connections("echo"))
    assert b"POST / HTTP/1.1" in heads and b"pgrade" not in heads and b"HTTP2-Settings" not in heads
    assert not lab.packets(dst="198.51.100.66") and not [r for r in lab.records("requests") if r["method"] == "DELETE"]


GO = r"""
package main

import ("fmt"; "io"; "net/http"; "os")

func main() {
	for _, u := range os.Args[1:] {
		r, err := http.Get(u)
		if err != nil { fmt.Println(u, err); continue }
		b, _ := io.ReadAll(r.Body)
		fmt.Println(u, r.Status, len(b))
	}
}
"""


@pytest.mark.skipif(not go_programs.GO, reason="no Go compiler")
@pytest.mark.timeout(140)
@BOTH_WAYS
def test_client_008_go(lab, sallyport, variables, user):
    ended = run_clients(sallyport, POLICY, {
        "mode": ["chmod", "+x", "ask"], "ask": ["./ask", "http://allowed.test/1m", "http://denied.test/"],
        "bypass": ["env", "NO_PROXY=fe80::1%eth0,198.18.0.0/15,.test,10.0.0.0/8", "./ask", "http://allowed.test/1m", "http://denied.test/"],
    }, files={"ask": go_programs.built(GO).read_bytes()}, variables=variables, user=user)
    check(ended, {"mode": (True, ""), "ask": (True, f"(?s)200 OK 1048576.*(403 .*no_rule|{UNRESOLVED}|no such host)"),
                  "bypass": (True, f"(?s)200 OK 1048576.*({UNRESOLVED}|no such host)")})
    assert not lab.packets(dst="198.51.100.66")


def test_client_008_a_bypass_on_the_client_s_side_meets_the_same_policy(lab, sallyport):
    """Whatever NO_PROXY says, the other way out is the catch-all."""
    get = "import sys, urllib.request; print(len(urllib.request.urlopen(sys.argv[1], timeout=8).read()))"
    forms = ["*", ".test", "allowed.test,denied.test", "198.18.0.0/15,fd53:7079::/32", "fe80::1%eth0,*", "http://allowed.test", ""]
    commands = {}
    for n, form in enumerate(forms):
        commands[f"curl {n}"] = ["env", f"NO_PROXY={form}", f"no_proxy={form}", "curl", "-sS", "--max-time", "8", "-w", "\n%{http_code}", "http://allowed.test/"]
        commands[f"curl denied {n}"] = ["env", f"NO_PROXY={form}", f"no_proxy={form}", "curl", "-sS", "-f", "--max-time", "8", "http://denied.test/"]
        commands[f"python {n}"] = ["env", f"NO_PROXY={form}", f"no_proxy={form}", "/usr/bin/python3", "-c", get, "http://allowed.test/1k"]
    ended = run_clients(sallyport, POLICY, commands)
    expected = {name: (True, "(?s)hello from.*200") if name.startswith("curl ") and "denied" not in name else (True, "1024") for name in commands}
    expected.update({name: (False, f"403|{UNRESOLVED}") for name in commands if "denied" in name})
    check(ended, expected)
    assert not lab.packets(dst="198.51.100.66")


SERVER_SENT = r"""
import http.server, sys, time
class Events(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        self.send_response(200); self.send_header("Content-Type", "text/event-stream"); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
        for n in range(40):
            line = b"data: %d\n\n" % n; self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line)); self.wfile.flush(); time.sleep(0.1)
        self.wfile.write(b"0\r\n\r\n")
    def log_message(self, *a): pass
http.server.ThreadingHTTPServer((sys.argv[1], 80), Events).serve_forever()
"""
LISTEN = r"""
import socket, time
s = socket.create_connection(("127.0.0.1", 3128), 5); s.settimeout(10)
s.sendall(b"GET http://stream.test/ HTTP/1.1\r\nHost: stream.test\r\nConnection: close\r\n\r\n")
seen, data = [], b""
while piece := s.recv(65536):
    data += piece; seen.append((time.monotonic(), data.count(b"data: ")))
gaps = [b[0] - a[0] for a, b in zip(seen, seen[1:])]
print("events", data.count(b"data: "), "arrivals", len(seen), "longest", round(max(gaps), 2), "whole", data.endswith(b"0\r\n\r\n"))
"""


def test_client_010_a_stream_arrives_as_it_is_sent(lab, sallyport):
    """The part of client-010 that is HTTP/1.1: nothing is held back of a stream that pauses. gRPC comes with HTTP/2."""
    with server(lab, ["/usr/bin/python3", "-IS", "-c", SERVER_SENT, "198.51.100.43"], "stream.test", "198.51.100.43"):
        ended = run_clients(sallyport, POLICY, {"events": ["/usr/bin/python3", "-IS", "-c", LISTEN]})
    check(ended, {"events": (True, "events 40 arrivals (3[5-9]|4[0-3]) longest [01].* whole True")})

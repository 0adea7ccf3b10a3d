"""`sallyport proxy --listen`: the same data plane on a loopback port, for whoever points a client at it. Loopback only, no sandbox."""

import contextlib
import http.server
import json
import signal
import socket
import subprocess
import threading
import time

import pytest

CONFIG = "addresses:\n  permit: [127.0.0.0/8]\n"


class Origin(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append(self.path)
        body = b"hello from the origin"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def origin():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def proxy(binaries, tmp_path, policy, port, *options):
    (tmp_path / "policy.yaml").write_text(policy)
    (tmp_path / "appliance.yaml").write_text(CONFIG)
    process = subprocess.Popen(
        [binaries.path("sallyport"), "proxy", "--listen", f"127.0.0.1:{port}", "--policy", tmp_path / "policy.yaml", "--config",
         tmp_path / "appliance.yaml", "--state", tmp_path / "state", *options],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def dial(port):
    end = time.monotonic() + 10
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), 10)
        except ConnectionRefusedError:
            assert time.monotonic() < end
            time.sleep(0.005)


def ask(sock, text):
    sock.settimeout(10)
    sock.sendall(text.encode())
    data = b""
    while piece := sock.recv(65536):
        data += piece
    return int(data.split(b" ")[1]), data.split(b"\r\n\r\n", 1)[1]


def get(url):
    return f"GET {url} HTTP/1.1\r\nHost: {url.split('/')[2]}\r\nConnection: close\r\n\r\n"


def test_it_serves_what_the_policy_allows_and_refuses_the_rest(binaries, tmp_path, origin):
    host = f"127.0.0.1:{origin.server_port}"
    port = free_port()
    with proxy(binaries, tmp_path, f"policy: local/1\nrules:\n  - allow: GET http://{host}/open/**\n", port):
        assert ask(dial(port), get(f"http://{host}/open/a")) == (200, b"hello from the origin")
        status, body = ask(dial(port), get(f"http://{host}/closed"))
        assert status == 403 and json.loads(body)["reason"] == "path_not_allowed"
        status, body = ask(dial(port), f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n" + get("http://x/"))
        assert status in (200, 403) and b"hello" not in body
    assert origin.server_port and origin.seen == ["/open/a"]
    records = [json.loads(line) for line in (tmp_path / "state" / "audit.jsonl").read_text().splitlines()]
    assert [r["verdict"] for r in records if r["kind"] == "decision" and r["layer"] == "http"][:2] == ["allow", "deny"]


def test_who_connects_before_the_policy_has_been_read_waits_and_is_served(binaries, tmp_path, origin):
    host = f"127.0.0.1:{origin.server_port}"
    port = free_port()
    rules = "".join(f"  - allow: http://allowed-{i}.test/**\n" for i in range(30000))
    with proxy(binaries, tmp_path, f"policy: large/1\nrules:\n{rules}  - allow: http://{host}/**\n", port):
        early = dial(port)
        assert ask(early, get(f"http://{host}/early")) == (200, b"hello from the origin")


def test_a_restart_takes_the_same_port_at_once(binaries, tmp_path, origin):
    host = f"127.0.0.1:{origin.server_port}"
    port = free_port()
    for turn in range(2):
        with proxy(binaries, tmp_path, f"policy: local/1\nrules:\n  - allow: http://{host}/**\n", port):
            assert ask(dial(port), get(f"http://{host}/{turn}"))[0] == 200
    assert origin.seen == ["/0", "/1"]


@pytest.mark.parametrize("where", ["0.0.0.0:3128", "192.0.2.1:3128", "[::]:3128", "127.0.0.1", "localhost:3128", "127.0.0.1:0"])
def test_it_listens_on_loopback_only(binaries, tmp_path, where):
    (tmp_path / "policy.yaml").write_text("policy: none/1\nrules:\n  - allow: http://allowed.test/**\n")
    done = subprocess.run([binaries.path("sallyport"), "proxy", "--listen", where, "--policy", tmp_path / "policy.yaml", "--state",
                           tmp_path / "state"], capture_output=True, text=True, timeout=20, stdin=subprocess.DEVNULL)
    assert done.returncode != 0 and "--listen" in done.stderr and "127.0.0.1" in done.stderr, done


def test_without_a_policy_that_loads_nothing_is_served(binaries, tmp_path):
    port = free_port()
    with proxy(binaries, tmp_path, "policy: broken/1\nrules:\n  - allow: everything\n", port) as process:
        assert process.wait(10) != 0 and "policy.yaml:3" in process.stderr.read()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 2)

"""Tasks beside each other and at their end, by the cases lifecycle-*, as far as clear HTTP and tunnels go. What the daemons do when one of
them dies is in processes_test.py."""

import json
import os
import shutil
import signal
import tempfile
import time
from pathlib import Path

import pytest

from raw_exchanges import Send, exchange, get

POLICY = """policy: lifecycle/1
rules:
  - id: raw
    allow: http://raw.test/**
  - id: tcp
    allow: tcp://raw.test:5432
  - id: web
    allow: http://allowed.test/**
"""
PYTHON = ["/usr/bin/python3", "-IS", "-c"]


@pytest.fixture
def state():
    made = Path(tempfile.mkdtemp(prefix="sallyport-lifecycle-", dir="/tmp"))
    yield made / "state"
    shutil.rmtree(made, ignore_errors=True)


def until(condition, seconds=8):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False


def test_lifecycle_010_two_tasks_share_nothing(lab, sallyport):
    """lifecycle-010. The same URL at the same moment: one is denied what the other gets, and each has an upstream connection of its own."""
    answers = [b"HTTP/1.1 200 OK\r\nSet-Cookie: n=%d\r\nContent-Length: 1\r\n\r\n%d" % (n, n) for n in range(4)]
    lab.script(80, answers)
    code = r"""
import socket, time
def ask(path):
    s = socket.create_connection(("127.0.0.1", 3128), 5); s.settimeout(5)
    s.sendall(b"GET http://raw.test/%s HTTP/1.1\r\nHost: raw.test\r\nConnection: close\r\n\r\n" % path)
    data = b""
    while piece := s.recv(4096): data += piece
    return data
time.sleep(max(0, float(WHEN) - time.time()))
print([(d.split(b" ")[1].decode(), d[-1:].decode()) for d in (ask(b"a"), ask(b"a"))])
"""
    code = code.replace("WHEN", repr(str(time.time() + 2)))
    narrow = POLICY.replace("http://raw.test/**", "http://raw.test/other")
    runs = [sallyport.start([*PYTHON, code], policy=p, options=["--quiet"]) for p in (POLICY, POLICY, narrow)]
    one, two, denied = [r.wait(20) for r in runs]
    assert one.stdout.strip() == two.stdout.strip() == "[('200', '0'), ('200', '1')]", (one, two)
    assert denied.stdout.count("403") == 2, denied
    connections = lab.connections("raw")
    assert len(connections) == 2 and all(c["data"].count(b"GET /a ") == 2 for c in connections)
    assert one.receipt["task"] != two.receipt["task"]


def test_lifecycle_007_many_connections_of_one_task_are_its_own_trouble(lab, sallyport):
    code = r"""
import resource, socket, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
def status():
    s = socket.create_connection(("127.0.0.1", 3128), 5); s.settimeout(5)
    s.sendall(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nConnection: close\r\n\r\n"); return s.recv(100)[9:12].decode()
held = []
try:
    for n in range(3000):
        s = socket.create_connection(("127.0.0.1", 3128), 2); s.sendall(b"GET http://allowed.test/ HT"); held.append(s)
except OSError: pass
print(len(held), flush=True); sys.stdin.readline()
for s in held: s.close()
time.sleep(0.5); print(status(), flush=True)
"""
    crowd = sallyport.start([*PYTHON, code + ""], policy=POLICY, options=["--quiet"], stdin=b"")
    other, = exchange(sallyport, POLICY, [Send(get("http://allowed.test/", "allowed.test"))])
    assert other.status == 200
    done = crowd.wait(30)
    count, after = done.stdout.split()
    assert int(count) > 500 and after == "200", done


def test_the_end_of_a_task_ends_its_connections(lab, sallyport):
    lab.script(5432, mode="hold")
    lab.script(80, mode="hold")
    code = r"""
import socket, time
t = socket.create_connection(("127.0.0.1", 3128), 5); t.sendall(b"CONNECT raw.test:5432 HTTP/1.1\r\nHost: raw.test:5432\r\n\r\n"); t.recv(100); t.sendall(b"in the tunnel")
h = socket.create_connection(("127.0.0.1", 3128), 5); h.sendall(b"POST http://raw.test/ HTTP/1.1\r\nHost: raw.test\r\nContent-Length: 100\r\n\r\nhalf")
time.sleep(0.7)
"""
    done = sallyport([*PYTHON, code], policy=POLICY, options=["--quiet"])
    assert done.exit == 0, done
    assert until(lambda: all(c["closed"] for c in lab.connections("raw")))
    tunnel, = [c for c in lab.connections("raw") if c["dport"] == 5432]
    request, = [c for c in lab.connections("raw") if c["dport"] == 80]
    assert tunnel["data"] == b"in the tunnel" and request["data"].endswith(b"\r\n\r\nhalf")
    assert done.receipt["outcome"] == "success", done


@pytest.mark.parametrize("user", [None, "ordinary"])
def test_lifecycle_006_a_proxy_killed_in_an_upload_lets_nothing_pass_for_whole(lab, sallyport, user):
    lab.script(80, mode="hold")
    code = r"""
import socket, time
def start(head):
    s = socket.create_connection(("127.0.0.1", 3128), 5); s.settimeout(5); s.sendall(head); return s
t = start(b"CONNECT raw.test:5432 HTTP/1.1\r\nHost: raw.test:5432\r\n\r\n"); t.recv(100); t.sendall(b"first")
h = start(b"POST http://raw.test/ HTTP/1.1\r\nHost: raw.test\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
print("ready", flush=True)
time.sleep(20)
"""
    lab.script(5432, mode="hold")
    run = sallyport.start([*PYTHON, code], policy=POLICY, options=["--quiet"], user=user)
    assert until(lambda: len([c for c in lab.connections("raw") if c["data"].endswith((b"first", b"half\r\n"))]) == 2)
    proxy, = run.processes()["sallyport-proxy"]
    os.kill(proxy, signal.SIGKILL)
    done = run.wait(15)
    assert done.exit != 0 and done.receipt["outcome"] != "success", done
    assert until(lambda: all(c["closed"] for c in lab.connections("raw")))
    assert not any(c["data"].endswith(b"0\r\n\r\n") for c in lab.connections("raw"))
    assert len(lab.connections("raw")) == 2
    assert not lab.packets_to_unpermitted()


def test_lifecycle_008_and_009_of_every_refusal_one_record(lab, sallyport, state):
    """Each way to be refused in clear HTTP, once: one well-formed record with the reason, and no more."""
    hostile = "/x%0a%1b[31m%22,%22verdict%22:%22allow"
    sends = [
        Send(get("http://denied.test/", "denied.test", b"User-Agent: [2J\xff\xfe\r\n")), Send(get("http://denied.test" + hostile, "denied.test")),
        Send(get("http://denied.test/" + "a" * 7000, "denied.test")), Send(b"GET http://raw.test/ HTTP/1.1\r\nHost: raw.test\r\nX: a\x00\r\n\r\n"),
        Send(get("http://raw.test/", "denied.test")), Send(b"CONNECT denied.test:1 HTTP/1.1\r\nHost: denied.test:1\r\n\r\n"),
        Send(get("/", "raw.test"), to=("203.0.113.66", 80)), Send(get("http://raw.test/ok?token=SECRETVALUE", "raw.test"))]
    done_state = ["--quiet", "--state", state]
    replies = exchange_with(sallyport, sends, done_state)
    assert replies[-1].status == 200 and all(r.status in (400, 403, 421) for r in replies[:-1])
    text = (state / "audit.jsonl").read_text()
    records = [json.loads(line) for line in text.splitlines()]
    denials = [r for r in records if r["kind"] == "decision" and r["verdict"] == "deny"]
    assert len(denials) == len(sends) - 1, [(r["reason"], str(r.get("path"))[:30]) for r in denials]
    assert [r["reason"] for r in denials].count("no_rule") == 3 and {r["reason"] for r in denials} >= {"malformed", "host_mismatch"}
    assert "\x1b" not in text and "SECRETVALUE" not in text and "\xff" not in text
    assert max(len(line) for line in text.splitlines()) < 8192
    request, = [r for r in records if r["kind"] == "request"]
    assert request["status"] == 200 and request["rule"] == "raw" and request["bytes_up"] > 0 and request["bytes_down"] > 0
    assert request["address_dialled"] in ("198.51.100.30:80", "[2001:db8::30]:80")


def exchange_with(sallyport, sends, options):
    class Bound:
        def __call__(self, command, **how):
            return sallyport(command, **{**how, "options": options})

    return exchange(Bound(), POLICY, sends)

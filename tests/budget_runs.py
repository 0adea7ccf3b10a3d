"""What the budget tests share: small tools inside the sandbox, rules, and a run whose audit log is read afterwards."""

import json
import shutil
import tempfile
import textwrap
from pathlib import Path

import pytest

MIB = 1 << 20

# Inside: small tools of raw sockets; a test adds its own lines and puts what it saw in `out`.
TOOLS = r"""
import hashlib, json, socket, sys, threading, time
PROXY = ("127.0.0.1", 3128)
MIB = 1 << 20
out = {}
def dial(to=PROXY):
    s = socket.create_connection(to, 5); s.settimeout(8); return s
def drain(s, limit=1 << 30):
    # What comes until the end: (bytes, how it ended).
    got = bytearray()
    try:
        while len(got) < limit:
            piece = s.recv(65536)
            if not piece: return bytes(got), "fin"
            got += piece
    except socket.timeout: return bytes(got), "timeout"
    except OSError: return bytes(got), "reset"
    return bytes(got), "limit"
def status(data): return int(data.split(b" ", 2)[1]) if data.startswith(b"HTTP/") else None
def problem(data): return json.loads(data.split(b"\r\n\r\n", 1)[1])
def head(url, method="GET", extra=""):
    host = url.split("/")[2]
    return f"{method} {url} HTTP/1.1\r\nHost: {host}\r\n{extra}\r\n".encode()
def ask(url, method="GET", extra="", body=b"", end="Connection: close\r\n"):
    s = dial()
    try: s.sendall(head(url, method, extra + end) + body)
    except OSError: pass
    data, how = drain(s); s.close(); return data, how
def tunnel(authority):
    s = dial(); s.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    data = b""
    while b"\r\n\r\n" not in data:
        piece = s.recv(1)
        if not piece: break
        data += piece
    return s, status(data), data
def push(s, count, unit=65536):
    # Sends until done or cut; what the kernel took.
    sent = 0
    try:
        while sent < count: sent += s.send(b"u" * min(unit, count - sent))
    except OSError: pass
    return sent
def internal(page):
    return json.loads(ask("http://sallyport.internal/" + page)[0].split(b"\r\n\r\n", 1)[1])
def at_once(n, work):
    results = [None] * n
    def one(i):
        results[i] = work(i)
    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    [t.start() for t in threads]; [t.join() for t in threads]; return results
"""

RULES = """policy: budget/1
rules:
  - id: raw
    allow: http://raw.test/**
  - id: raw-2
    allow: http://raw.test:8080/**
  - id: web
    allow: http://allowed.test/**
  - id: echo
    allow: http://echo.test/**
  - id: tcp
    allow: tcp://raw.test:5432
"""


class Ran:
    def __init__(self, done, records):
        self.out, self.records, self.receipt, self.stderr = json.loads(done.stdout), records, done.receipt, done.stderr

    def total(self, field, kinds=("request", "tunnel")):
        return sum(r.get(field, 0) for r in self.records if r["kind"] in kinds)

    def reasons(self):
        return {r.get("reason") for r in self.records if r["kind"] == "decision"}

    def limits(self):
        return {r["limit"] for r in self.records if r["kind"] == "tunnel" and "limit" in r}


@pytest.fixture
def run(lab, sallyport):
    """run(budgets, code, rules=…): the code in a sandbox under the rules above with these budgets: Ran. A fixture by conftest.py."""
    states = []

    def one(budgets, code, rules=RULES, timeout=40):
        state = Path(tempfile.mkdtemp(prefix="sallyport-budget-", dir="/tmp"))
        states.append(state)
        policy = rules + (f"budgets:\n  {budgets}\n" if budgets else "")
        program = TOOLS + textwrap.dedent(code) + "\nprint(json.dumps(out))\n"
        done = sallyport(["/usr/bin/python3", "-IS", "-c", program], policy=policy, timeout=timeout, options=["--state", state / "state"])
        assert done.exit == 0, done
        return Ran(done, [json.loads(line) for line in (state / "state" / "audit.jsonl").read_text().splitlines()])

    yield one
    for state in states:
        shutil.rmtree(state, ignore_errors=True)


def received(lab, role="raw"):
    return sum(c["bytes"] for c in lab.connections(role))


def with_limits(rule, limits):
    return RULES.replace(f"  - id: {rule}\n", f"  - id: {rule}\n    limits: {limits}\n")

"""Large bodies over clear HTTP: whole ones arrive as they were sent, broken ones are never taken for whole, and the proxy holds no more for
them than for small ones."""

import hashlib
import json
from pathlib import Path

import pytest

from client_runs import check, run_clients
from origins import server

MIB = 1 << 20
SIZE = 104 * MIB
MEMORY = 32 * MIB  # of the proxy at its peak: a small part of one body
POLICY = """policy: large/1
rules:
  - id: large
    allow: http://large.test/**
"""

# One thread a connection; the path says what it does. `report` is answered from /reports.
ORIGIN = r"""
import hashlib, json, socket, struct, sys, threading, re
SIZE = int(sys.argv[2]); BLOCK = bytes(range(256)) * 4096; reports = []
def content(start, end):
    while start < end:
        at = start % len(BLOCK); piece = BLOCK[at:at + min(end - start, len(BLOCK) - at)]; start += len(piece); yield piece
def reset(c): c.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); c.close()
class Body:
    def __init__(self, f, head):
        self.f, self.sum, self.count, self.whole = f, hashlib.sha256(), 0, False
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head); self.left = int(length[1]) if length else None
    def take(self, most=1 << 62):
        if self.left is None:
            while self.count < most:
                line = self.f.readline()
                if not line.endswith(b"\r\n"): return
                size = int(line, 16)
                data = self.f.read(size + 2)
                if len(data) < size + 2: return
                if size == 0: self.whole = True; return
                self.count += size; self.sum.update(data[:size])
        while self.left and self.count < most:
            data = self.f.read(min(1 << 20, self.left))
            if not data: return
            self.left -= len(data); self.count += len(data); self.sum.update(data)
        self.whole = self.left == 0
def serve(c):
    f, path = c.makefile("rb"), ""
    try:
        while True:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                line = f.readline()
                if not line: return
                head += line
            path = head.split(b" ")[1].decode(); what = path.split("/")[1]; number = int(path.split("/")[2]) if path.count("/") > 1 else 0
            wanted = re.search(rb"(?i)\r\nrange: bytes=(\d+)-", head); start = int(wanted[1]) if wanted else 0
            if what == "take":
                if b"100-continue" in head: c.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = Body(f, head); body.take(); reports.append(["take", body.count, body.whole])
                if not body.whole: return
                text = b"%d %s\n" % (body.count, body.sum.hexdigest().encode()); c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
            elif what == "refuse-after":
                Body(f, head).take(number); reset(c); return
            elif what == "reports":
                text = json.dumps(reports).encode(); c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
            elif what in ("file", "cut", "reset"):
                end = number if what != "file" else SIZE
                c.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nETag: \"one\"\r\nAccept-Ranges: bytes\r\n" % (b"206 Partial Content" if wanted else b"200 OK", SIZE - start) +
                          (b"Content-Range: bytes %d-%d/%d\r\n" % (start, SIZE - 1, SIZE) if wanted else b"") + b"\r\n")
                for piece in content(start, max(start, end)): c.sendall(piece)
                reports.append(["sent", path, True])
                if what == "reset": reset(c)
                if what != "file": return
            elif what in ("chunks", "cut-chunks"):
                c.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
                for piece in content(0, number or SIZE): c.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
                if what == "cut-chunks": return
                c.sendall(b"0\r\n\r\n")
            elif what == "until-close":
                c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
                for piece in content(0, number): c.sendall(piece)
                return
    except OSError as e: reports.append(["error", path, False])
    finally:
        try: c.shutdown(socket.SHUT_WR)
        except OSError: pass
        c.close()
listener = socket.create_server((sys.argv[1], 80), backlog=64)
while True: threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
"""


def content_sum(size=SIZE):
    block = bytes(range(256)) * 4096
    return hashlib.sha256(block * (size // len(block)) + block[: size % len(block)]).hexdigest()


@pytest.fixture
def origin(lab):
    with server(lab, ["/usr/bin/python3", "-IS", "-c", ORIGIN, "198.51.100.44", str(SIZE)], "large.test", "198.51.100.44") as running:
        yield running


class Memory:
    """Peak resident bytes of the proxy, as seen while the run went on."""

    def __init__(self):
        self.peak = 0

    def __call__(self, run):
        for pid in run.processes().get("sallyport-proxy", []):
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            self.peak = max(self.peak, *(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:")))


def sh(script):
    return ["bash", "-c", script]


URL = "http://large.test"
CURL = "curl -sS --max-time 40"
MAKE = f"python3 -c 'import sys; b = bytes(range(256)) * 4096\nfor n in range({SIZE // MIB}): sys.stdout.buffer.write(b)'"


@pytest.mark.timeout(150)
@pytest.mark.parametrize("variables,user", [(True, None), (False, "ordinary")], ids=["proxy-variables", "caught"])
def test_large_bodies_arrive_and_memory_stays_flat(lab, sallyport, origin, variables, user):
    memory = Memory()
    ended = run_clients(sallyport, POLICY, {
        "make": sh(f"{MAKE} >large"), "down": sh(f"{CURL} {URL}/file | sha256sum"), "down chunked": sh(f"{CURL} {URL}/chunks | sha256sum"),
        "up": sh(f"{CURL} -T large {URL}/take"), "up chunked": sh(f"cat large | {CURL} -T - {URL}/take"),
        "four": sh(f"for n in 1 2 3 4; do {CURL} -o /dev/null -w '%{{size_download}}\\n' {URL}/file & done; wait"),
    }, variables=variables, user=user, watch=memory, seconds=60, timeout=140)
    whole, sent = content_sum(), f"{SIZE} {content_sum()}"
    check(ended, {"make": (True, ""), "down": (True, whole), "down chunked": (True, whole), "up": (True, sent), "up chunked": (True, sent),
                  "four": (True, rf"({SIZE}\n){{4}}")})
    print(f"proxy: {memory.peak / MIB:.1f} MiB at its peak")
    assert 0 < memory.peak <= MEMORY


PYTHON_GET = "import sys, urllib.request; print(len(urllib.request.urlopen(sys.argv[1], timeout=20).read()))"
REQUESTS_GET = "import sys, requests; print(sum(len(c) for c in requests.get(sys.argv[1], stream=True, timeout=20).iter_content(65536)))"


@pytest.mark.timeout(100)
def test_what_broke_is_seen_to_be_broken(lab, sallyport, origin):
    memory = Memory()
    part = 40 * MIB
    ended = run_clients(sallyport, POLICY, {
        "cut": sh(f"{CURL} -o cut {URL}/cut/{part}"), "reset": sh(f"{CURL} -o reset {URL}/reset/{part}"), "cut chunks": sh(f"{CURL} -o chunks {URL}/cut-chunks/{part}"),
        "until close": sh(f"{CURL} -o close {URL}/until-close/{part}; stat -c %s close"), "wget": sh(f"wget -nv -t 1 -T 20 -O wget {URL}/cut/{part}"),
        "urllib": ["/usr/bin/python3", "-c", PYTHON_GET, f"{URL}/cut/1000000"], "urllib chunks": ["/usr/bin/python3", "-c", PYTHON_GET, f"{URL}/cut-chunks/1000000"],
        "requests": ["/usr/bin/python3", "-c", REQUESTS_GET, f"{URL}/cut-chunks/1000000"],
        "node": ["node", "-e", "fetch(process.argv[1]).then(r => r.arrayBuffer()).then(b => console.log(b.byteLength), e => { console.log(e.cause || e); process.exit(1) })", f"{URL}/cut/1000000"],
        "resumed": sh(f"{CURL} -o file {URL}/reset/{part}; stat -c %s file; {CURL} -C - -o file {URL}/file && sha256sum file && rm file"),
        "client leaves": sh(f"{CURL} {URL}/file | head -c 3000000 | wc -c; sleep 1"),
        "up reset": sh(f"{MAKE} | {CURL} -w '%{{http_code}}' -T - {URL}/refuse-after/{part}"),
        "up leaves": sh(f"{MAKE} >large; ({CURL} --limit-rate 20M -T large {URL}/take & p=$!; sleep 1; kill -9 $p; wait $p); sleep 1"),
        "up chunked leaves": sh(f"({MAKE}; sleep 3) | {CURL} --limit-rate 20M -T - {URL}/take & p=$!; sleep 1; kill -9 $p; wait $p; sleep 1"),
        "reports": sh(f"{CURL} {URL}/reports"),
    }, watch=memory, seconds=30, timeout=95)
    reports = json.loads(ended.pop("reports").said)
    check(ended, {
        "cut": (False, r"curl: \((18|56)\)"), "reset": (False, r"curl: \((18|56)\)"), "cut chunks": (False, r"curl: \((18|56)\)"), "until close": (True, f"^{part}\n"),
        "wget": (False, ""), "urllib": (False, "IncompleteRead|reset"), "urllib chunks": (False, "IncompleteRead|reset"),
        "requests": (False, "ChunkedEncodingError|reset"), "node": (False, "(?i)terminated|reset|closed|mismatch"),
        "resumed": (True, content_sum()), "client leaves": (True, "^3000000\n"), "up reset": (True, "502") if ended["up reset"].code == 0 else (False, "curl: "),
        "up leaves": (True, "Killed"), "up chunked leaves": (True, "Killed"),
    })
    taken = [r for r in reports if r[0] == "take" or r[1] == "/take"]
    assert len(taken) == 2 and not any(whole for _, _, whole in taken), taken
    assert ["error", "/file", False] in reports, "the origin of the download that the client left was told"
    assert 0 < memory.peak <= MEMORY

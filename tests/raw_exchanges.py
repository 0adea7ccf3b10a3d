"""Exact bytes from inside a sandbox: a list of exchanges, all in one `sallyport run`, no library that repairs.

    replies = exchange(sallyport, POLICY, [
        Send(b"CONNECT allowed.test:443 HTTP/1.1\\r\\nHost: allowed.test:443\\r\\n\\r\\n"),          # to the explicit proxy
        Send(b"GET / HTTP/1.1\\r\\n…", to=("allowed.test", 80)),                                    # caught
    ])
    replies[0].data, replies[0].end      # end: "fin", "reset", "open" (nothing more came), "refused", "unresolved"
"""

import base64
import dataclasses
import json
import re

PROXY = ("127.0.0.1", 3128)

_INSIDE = r"""
import base64, json, socket, sys, time

def one(step):
    host, port = step["to"]
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return b"", "unresolved"
    sock = socket.socket(infos[0][0], socket.SOCK_STREAM)
    sock.settimeout(5)
    try:
        sock.connect(infos[0][4])
    except OSError as e:
        return b"", "refused"
    got, end = b"", "open"
    try:
        for piece in step["send"]:
            sock.sendall(base64.b64decode(piece))
            if len(step["send"]) > 1:
                time.sleep(step["pause"])
        if step["half_close"]:
            sock.shutdown(socket.SHUT_WR)
        until = time.monotonic() + step["seconds"]
        while time.monotonic() < until:
            sock.settimeout(max(0.01, min(step["quiet"] if got else step["seconds"], until - time.monotonic())))
            piece = sock.recv(65536)
            if not piece:
                end = "fin"
                break
            got += piece
    except socket.timeout:
        pass
    except OSError:
        end = "reset"
    sock.close()
    return got, end

import concurrent.futures
given = json.load(sys.stdin)
with concurrent.futures.ThreadPoolExecutor(given["at_once"]) as pool:
    results = [[base64.b64encode(got).decode(), end] for got, end in pool.map(one, given["steps"])]
print(json.dumps(results))
"""


@dataclasses.dataclass
class Send:
    """Bytes for one connection. `data` may be a list: written in pieces, `pause` seconds apart."""

    data: object
    to: tuple = PROXY
    half_close: bool = False
    seconds: float = 4  # until the first byte and in all
    quiet: float = 0.4  # after the last byte, before the connection counts as open
    pause: float = 0.05


@dataclasses.dataclass
class Reply:
    data: bytes
    end: str

    @property
    def status(self):
        """Of the first response; None if there is none."""
        line = self.data.split(b"\r\n", 1)[0].split(b" ")
        return int(line[1]) if len(line) > 1 and line[0].startswith(b"HTTP/") else None

    @property
    def statuses(self):
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", self.data)]

    def problem(self):
        """The problem document of a refusal."""
        return json.loads(self.data.split(b"\r\n\r\n", 1)[1])


def exchange(sallyport, policy, sends, at_once=1, **how):
    """One after the other, or so many at once where no exchange depends on another."""
    steps = []
    for send in sends:
        pieces = send.data if isinstance(send.data, list) else [send.data]
        steps.append({
            "to": list(send.to), "send": [base64.b64encode(p).decode() for p in pieces], "half_close": send.half_close,
            "seconds": send.seconds, "quiet": send.quiet, "pause": send.pause,
        })
    done = sallyport(["/usr/bin/python3", "-IS", "-c", _INSIDE], policy=policy, stdin=json.dumps({"steps": steps, "at_once": at_once}).encode(),
                     options=["--quiet"], timeout=how.pop("timeout", 50), **how)
    assert done.exit == 0, done
    return [Reply(base64.b64decode(got), end) for got, end in json.loads(done.stdout)]


def connect(authority, host=None, extra=b""):
    name = authority if isinstance(authority, bytes) else authority.encode()
    return b"CONNECT " + name + b" HTTP/1.1\r\nHost: " + (host or name) + b"\r\n" + extra + b"\r\n"


def get(url, host, extra=b"", method=b"GET"):
    return method + b" " + url.encode() + b" HTTP/1.1\r\nHost: " + host.encode() + b"\r\n" + extra + b"\r\n"


def client_hello(name=None):
    """A ClientHello as OpenSSL writes it, with this SNI or none."""
    import ssl

    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()

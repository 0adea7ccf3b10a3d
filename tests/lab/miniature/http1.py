"""Just enough HTTP/1.1 for the lab's own servers. It is lenient and keeps what it got: these
servers report requests, they do not judge them."""

import json
import re

from . import control

MAX_HEAD = 1 << 18
MAX_BODY = 64 << 20
REASONS = {200: "OK", 400: "Bad Request", 404: "Not Found", 413: "Content Too Large", 500: "Internal Server Error"}


class Request:
    def __init__(self, head):
        self.head = head
        lines = head.decode("latin-1").split("\r\n")
        parts = lines[0].split(" ")
        self.method, self.target, self.version = (parts + ["", "", ""])[:3]
        self.headers = [tuple(x.strip() for x in line.split(":", 1)) for line in lines[1:] if ":" in line]
        self.body = b""
        self.framing = b""  # the body as it was on the wire

    def header(self, name):
        values = [v for n, v in self.headers if n.lower() == name]
        return ", ".join(values) if values else None

    @property
    def keeps_alive(self):
        return self.version == "HTTP/1.1" and "close" not in (self.header("connection") or "").lower()


async def read_request(connection, held):
    """The next request of a connection, or None at its end. `held` (bytearray) keeps the rest."""
    while b"\r\n\r\n" not in held:
        data = await connection.recv()
        if not data or len(held) > MAX_HEAD:
            return None
        held += data
    end = held.index(b"\r\n\r\n") + 4
    request = Request(bytes(held[:end]))
    del held[:end]
    if (request.header("expect") or "").lower() == "100-continue":
        await connection.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in (request.header("transfer-encoding") or "").lower():
        complete = await _read_chunked(connection, held, request)
    else:
        length = request.header("content-length") or "0"
        complete = await _read_sized(connection, held, request, int(length) if length.isdigit() else 0)
    return request if complete else None


async def _fill(connection, held, size):
    while len(held) < size:
        data = await connection.recv()
        if not data or size > MAX_BODY:
            return False
        held += data
    return True


async def _read_sized(connection, held, request, length):
    if not await _fill(connection, held, length):
        return False
    request.body = request.framing = bytes(held[:length])
    del held[:length]
    return True


async def _read_chunked(connection, held, request):
    body, framing = bytearray(), bytearray()
    while len(framing) < MAX_BODY:
        while b"\r\n" not in held:
            if not await _fill(connection, held, len(held) + 1):
                return False
        line = held.index(b"\r\n") + 2
        size = re.match(rb"[0-9a-fA-F]{1,8}", held)
        if not size:
            return False
        count = int(size.group(), 16)
        if count and not await _fill(connection, held, line + count + 2):
            return False
        body += held[line : line + count]
        take = line + count + 2 if count else line
        framing += held[:take]
        del held[:take]
        if count == 0:
            return await _read_trailers(connection, held, request, body, framing)
    return False


async def _read_trailers(connection, held, request, body, framing):
    while True:
        while b"\r\n" not in held:
            if not await _fill(connection, held, len(held) + 1):
                return False
        line = held.index(b"\r\n") + 2
        framing += held[:line]
        ended = line == 2
        del held[:line]
        if ended:
            request.body, request.framing = bytes(body), bytes(framing)
            return True


def respond(status, body, content_type="text/plain", extra=(), head_only=False):
    if isinstance(body, (dict, list)):
        body, content_type = json.dumps(body, indent=1).encode() + b"\n", "application/json"
    lines = [f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}", f"Content-Type: {content_type}"]
    lines += [f"{n}: {v}" for n, v in extra] + [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + (b"" if head_only else body)


def describe(request, connection):
    """What the echo host says about a request: everything, the raw head included."""
    return {
        "host": connection.role, "tls": hasattr(connection, "sni"), "sni": getattr(connection, "sni", None),
        "source": connection.src, "address": connection.dst, "port": connection.dport,
        "method": request.method, "target": request.target, "version": request.version,
        "headers": request.headers, "head": request.head.decode("latin-1"),
        "head_base64": control.to_base64(request.head), "body_base64": control.to_base64(request.body),
        "framed_body_base64": control.to_base64(request.framing),
    }


def handler(answer):
    """A connection handler from `answer(request, connection)` → response bytes."""

    async def serve(connection):
        held = bytearray()
        while (request := await read_request(connection, held)) is not None:
            response = answer(request, connection)
            if hasattr(response, "__await__"):
                response = await response
            await connection.send(response)
            if not request.keeps_alive:
                return

    return serve

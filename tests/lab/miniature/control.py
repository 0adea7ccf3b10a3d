"""How a lab's two daemons are told things: one JSON line in, one out, on a Unix socket in the
lab's directory (mode 0600). The path goes through a directory descriptor, so that a long
directory name does not meet the 107 bytes of sun_path."""

import base64
import json
import os
import socket

MAX_MESSAGE = 16 << 20


def to_base64(data):
    return base64.b64encode(data).decode("ascii")


def from_base64(text):
    return base64.b64decode(text, validate=True)


def socket_name(server):
    return f"{server}.sock"


def call(directory, server, request, timeout=5.0):
    """Asks `server` ("world" or "sniffer"); its answer, or ValueError with its complaint."""
    at = os.open(directory, os.O_PATH | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(timeout)
            channel.connect(f"/proc/self/fd/{at}/{socket_name(server)}")
            channel.sendall(json.dumps(request).encode() + b"\n")
            answer = bytearray()
            while not answer.endswith(b"\n"):
                piece = channel.recv(65536)
                if not piece or len(answer) > MAX_MESSAGE:
                    raise ValueError("no whole answer")
                answer += piece
    finally:
        os.close(at)
    decoded = json.loads(answer)
    if "error" in decoded:
        raise ValueError(decoded["error"])
    return decoded

"""Small things that a test does inside the appliance's namespace, without a library that would
repair what it sends."""

import json

PYTHON = ["/usr/bin/python3", "-IS", "-c"]

_PRELUDE = """
import json, os, socket, struct, sys, time
def family(address): return socket.AF_INET6 if ":" in address else socket.AF_INET
def connect(address, port, timeout=3):
    sock = socket.socket(family(address)); sock.settimeout(timeout); sock.connect((address, port)); return sock
def datagram(address, port, data, wait=0):
    sock = socket.socket(family(address), socket.SOCK_DGRAM); sock.settimeout(wait or 1)
    sock.sendto(data, (address, port))
    return sock.recv(65535) if wait else b""
def read_all(sock):
    got = b""
    while piece := sock.recv(65536): got += piece
    return got
"""


def inside(lab, code, *arguments, user=None, timeout=10, stdin=b""):
    """Runs Python in the appliance's namespace; what it printed, parsed as JSON if it printed
    anything. `a` is the list of arguments (strings)."""
    program = _PRELUDE + "a = sys.argv[1:]\n" + code
    done = lab.exec([*PYTHON, program, *map(str, arguments)], user=user, timeout=timeout, stdin=stdin)
    assert done.exit == 0, done
    return json.loads(done.stdout) if done.stdout.strip() else None


def converse(lab, address, port, data, half_close=False, seconds=3):
    """Sends bytes on one TCP connection and returns everything that comes until its end, or
    until `seconds` pass."""
    code = """
sock = connect(a[0], int(a[1])); sock.sendall(sys.stdin.buffer.read()); sock.settimeout(float(a[3]))
if a[2] == "True": sock.shutdown(socket.SHUT_WR)
got, end = b"", "open"
try:
    while piece := sock.recv(65536): got += piece
    end = "fin"
except TimeoutError: pass
except ConnectionResetError: end = "reset"
print(json.dumps([got.hex(), end]))
"""
    got, end = inside(lab, code, address, port, half_close, seconds, stdin=data)
    return bytes.fromhex(got), end

"""sallyport-resolver as its control and its proxy see it, and the DNS servers it asks, scripted.

The messages of resolver/api/resolver.proto are few and flat, so they are written here byte by byte
rather than by generated code: what a test sends is what the test says.
"""

import dataclasses
import ipaddress
import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time

from commands import as_user
from miniature import dnswire

STATUS = ["UNKNOWN", "OK", "NXDOMAIN", "NODATA", "SERVFAIL", "TIMEOUT", "REFUSED_ADDRESS", "OVERLOADED"]
RESOLVER_UID = 1879048194

# Descriptor 3 is the channel, everything else is closed, the environment is empty.
LAUNCH = """
import os, sys
fd = int(sys.argv[1])
if fd != 3:
    os.dup2(fd, 3)
os.set_inheritable(3, True)
os.closerange(4, 1024)
os.execve(sys.argv[2], [sys.argv[2]], {})
"""


def _varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def field(number, value):
    """One protobuf field: an int as varint, bytes and text length-delimited."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def read_fields(message):
    def varint(at):
        value = shift = 0
        while True:
            byte = message[at]
            value |= (byte & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if byte < 0x80:
                return value, at

    at, out = 0, []
    while at < len(message):
        key, at = varint(at)
        value, at = varint(at)
        if key & 7 == 2:
            value, at = message[at : at + value], at + value
        out.append((key >> 3, value))
    return out


@dataclasses.dataclass
class Reply:
    id: int = 0
    status: str = "UNKNOWN"
    addresses: list = dataclasses.field(default_factory=list)
    ttl: int = 0
    detail: str = ""
    records: list = dataclasses.field(default_factory=list)  # RDATA

    @classmethod
    def read(cls, message):
        reply = cls()
        for number, value in read_fields(message):
            if number == 1:
                reply.id = value
            elif number == 2:
                reply.status = STATUS[value]
            elif number == 3:
                reply.addresses.append(str(ipaddress.ip_address(value)))
            elif number == 4:
                reply.ttl = value
            elif number == 5:
                reply.detail = value.decode()
            elif number == 6:
                reply.records.append(bytes(value))
        return reply


class ResolverProcess:
    """A running resolver with one proxy channel. `start` may be given whole, to send an odd one."""

    def __init__(self, binary, servers=(), permit=(), total_ms=3000, try_ms=200, max_in_flight=0, user=None, start=None):
        uid = RESOLVER_UID if user is None and os.geteuid() == 0 else 0
        fields = [field(1, s) for s in servers] + [field(2, total_ms), field(3, try_ms), field(4, max_in_flight)]
        fields += [field(5, p) for p in permit] + [field(7, uid)]
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.proxy, proxy_theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        argv = as_user(user) + [sys.executable, "-c", LAUNCH, str(theirs.fileno()), str(binary)]
        self.process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, pass_fds=(theirs.fileno(),), cwd="/"
        )
        theirs.close()
        self.control.settimeout(10)
        self.proxy.settimeout(10)
        message = b"".join(fields) if start is None else start
        socket.send_fds(self.control, [message], [proxy_theirs.fileno()])
        proxy_theirs.close()
        self.ready = self.control.recv(65536)
        self.next_id = 1

    def ask(self, name, v4=True, v6=True, records=None):
        """Asks for addresses, or for records of one type, a number."""
        number, self.next_id = self.next_id, self.next_id + 1
        wanted = field(5, records) if records else (field(3, 1) if v4 else b"") + (field(4, 1) if v6 else b"")
        self.proxy.send(field(1, number) + field(2, name) + wanted)
        return number

    def reply(self):
        return Reply.read(self.proxy.recv(65536))

    def resolve(self, name, **wanted):
        number = self.ask(name, **wanted)
        reply = self.reply()
        assert reply.id == number
        return reply

    def status(self):
        """/proc/PID/status as a dict."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def end(self):
        """Closes the control channel; the exit status and what stood on stderr."""
        self.control.close()
        try:
            _, stderr = self.process.communicate(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.communicate(timeout=5)
            raise
        self.proxy.close()
        return self.process.returncode, stderr.decode()


class ScriptedDns:
    """A DNS server on 127.0.0.1, UDP and TCP on one port.

    `answer(query, transport)` returns the messages to send, in order; `query` is a dnswire.Query. What was asked is
    in `asked` as (name in lower case, type name, transport, query, client port).
    """

    def __init__(self, answer):
        self.answer, self.asked = answer, []
        self._udp, self._tcp = self._bind()
        self._tcp.listen(64)
        self._stop_read, self._stop = os.pipe()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @staticmethod
    def _bind():
        for _ in range(50):
            udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            udp.bind(("127.0.0.1", 0))
            tcp = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            try:
                tcp.bind(udp.getsockname())
                return udp, tcp
            except OSError:
                udp.close()
                tcp.close()
        raise OSError("no port is free for both UDP and TCP")

    @property
    def address(self):
        return "127.0.0.1:%d" % self._udp.getsockname()[1]

    def count(self, name, qtype=None, transport=None):
        return sum(1 for n, t, via, *_ in self.asked if n == name and qtype in (None, t) and transport in (None, via))

    def _serve(self):
        while True:
            ready, _, _ = select.select([self._udp, self._tcp, self._stop_read], [], [], 60)
            if self._stop_read in ready or not ready:
                return
            if self._udp in ready:
                message, client = self._udp.recvfrom(65535)
                for reply in self._reply(message, "udp", client):
                    self._udp.sendto(reply, client)
            if self._tcp in ready:
                self._serve_connection()

    def _serve_connection(self):
        connection, client = self._tcp.accept()
        with connection:
            connection.settimeout(2)
            try:
                size = struct.unpack("!H", self._exactly(connection, 2))[0]
                for reply in self._reply(self._exactly(connection, size), "tcp", client):
                    connection.sendall(struct.pack("!H", len(reply)) + reply)
            except OSError:
                pass

    @staticmethod
    def _exactly(connection, size):
        data = b""
        while len(data) < size:
            more = connection.recv(size - len(data))
            if not more:
                raise OSError("ended")
            data += more
        return data

    def _reply(self, message, transport, client):
        query = dnswire.parse_query(message)
        kind = dnswire.TYPE_NAMES.get(query.qtype, str(query.qtype))
        self.asked.append((query.name.lower().rstrip("."), kind, transport, query, client[1]))
        return self.answer(query, transport)

    def close(self):
        os.write(self._stop, b"x")
        self._thread.join(5)
        for each in (self._udp, self._tcp):
            each.close()
        os.close(self._stop)
        os.close(self._stop_read)


HERE = b"\xc0\x0c"  # the question's name


def records(query, v4=(), v6=(), ttl=60, owner=HERE):
    """The addresses of the type that was asked for, as records."""
    if query.qtype == dnswire.TYPES["A"]:
        return [dnswire.record(owner, "A", ttl, dnswire.encode_rdata("A", a)) for a in v4]
    return [dnswire.record(owner, "AAAA", ttl, dnswire.encode_rdata("AAAA", a)) for a in v6]


def address_server(v4=(), v6=(), ttl=60):
    """An answer function that gives every name these addresses."""
    return lambda query, transport: [dnswire.response(query, answers=records(query, v4, v6, ttl))]


def wait_until(condition, seconds=5):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "did not come true in time"
        time.sleep(0.01)

"""DNS messages, as much as an authoritative server needs (RFC 1035, RFC 6891).

Reading is strict: a query that a correct resolver would not send is `Malformed`, and the
recording says why. Names are shown as text with every byte outside letters, digits, "-",
"_" and "*" as \\DDD, a dot inside a label too, so that two different names never look alike.
"""

import dataclasses
import ipaddress
import struct

TYPES = {
    "A": 1, "NS": 2, "CNAME": 5, "SOA": 6, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28,
    "SRV": 33, "OPT": 41, "SVCB": 64, "HTTPS": 65, "AXFR": 252, "ANY": 255,
}
TYPE_NAMES = {number: name for name, number in TYPES.items()}
RCODES = {"NOERROR": 0, "FORMERR": 1, "SERVFAIL": 2, "NXDOMAIN": 3, "NOTIMP": 4, "REFUSED": 5}
CLASS_IN = 1
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*")


class Malformed(Exception):
    """Not a query as RFC 1035 writes them. The text says what is wrong."""


@dataclasses.dataclass(frozen=True)
class Query:
    id: int
    flags: int
    labels: tuple  # of bytes, as sent
    qtype: int
    qclass: int
    question: bytes  # the question section, verbatim
    edns_size: object  # None without OPT
    edns_options: bytes

    @property
    def name(self):
        return show_name(self.labels)

    @property
    def type(self):
        return TYPE_NAMES.get(self.qtype, f"TYPE{self.qtype}")


def show_name(labels):
    return ".".join("".join(chr(b) if b in PLAIN else f"\\{b:03d}" for b in label) for label in labels) or "."


def _read_name(message, at):
    labels, start = [], at
    while True:
        if at >= len(message):
            raise Malformed("name runs past the end")
        length = message[at]
        at += 1
        if length == 0:
            return tuple(labels), at
        if length > 63:
            raise Malformed("compressed or reserved label in a question")
        if at + length > len(message):
            raise Malformed("label runs past the end")
        labels.append(message[at : at + length])
        at += length
        if at + 1 - start > 255:
            raise Malformed("name longer than 255 bytes")


def parse_query(message):
    """A query of one question and at most one OPT record, nothing after it."""
    if len(message) < 12:
        raise Malformed("shorter than a header")
    ident, flags, qd, an, ns, ar = struct.unpack("!6H", message[:12])
    if flags & 0x8000:
        raise Malformed("a response")
    if (flags >> 11) & 15:
        raise Malformed("opcode is not QUERY")
    if qd != 1 or an or ns or ar > 1:
        raise Malformed(f"sections of {qd}, {an}, {ns}, {ar} records")
    labels, at = _read_name(message, 12)
    if at + 4 > len(message):
        raise Malformed("question runs past the end")
    qtype, qclass = struct.unpack("!HH", message[at : at + 4])
    question, at = message[12 : at + 4], at + 4
    edns_size, options = None, b""
    if ar:
        if message[at : at + 3] != b"\x00\x00\x29" or at + 11 > len(message):
            raise Malformed("the additional record is not OPT")
        edns_size, _ttl, length = struct.unpack("!HIH", message[at + 3 : at + 11])
        options, at = message[at + 11 : at + 11 + length], at + 11 + length
    if at != len(message):
        raise Malformed("bytes after the last record")
    return Query(ident, flags, labels, qtype, qclass, question, edns_size, options)


def name_to_labels(text):
    text = text.rstrip(".")
    return tuple(label.encode("ascii") for label in text.split(".")) if text else ()


def encode_name(text):
    labels = name_to_labels(text)
    if any(not 0 < len(label) < 64 for label in labels):
        raise ValueError(f"not a name: {text!r}")
    return b"".join(bytes([len(label)]) + label for label in labels) + b"\0"


def type_number(name):
    if name in TYPES:
        return TYPES[name]
    if name.startswith("TYPE") and name[4:].isdigit() and int(name[4:]) < 65536:
        return int(name[4:])
    raise ValueError(f"no such record type: {name!r}")


def encode_rdata(rtype, value):
    """Presentation form to wire; types without one here take hex."""
    if rtype == "A":
        return ipaddress.IPv4Address(value).packed
    if rtype == "AAAA":
        return ipaddress.IPv6Address(value).packed
    if rtype in ("CNAME", "NS", "PTR"):
        return encode_name(value)
    if rtype == "TXT":
        data = value.encode()
        pieces = [data[i : i + 255] for i in range(0, len(data), 255)] or [b""]
        return b"".join(bytes([len(p)]) + p for p in pieces)
    type_number(rtype)
    return bytes.fromhex(value)


def record(owner, rtype, ttl, rdata):
    """One resource record. `owner`: wire bytes (a pointer to the question is b"\\xc0\\x0c")."""
    return owner + struct.pack("!HHIH", type_number(rtype), CLASS_IN, ttl, len(rdata)) + rdata


def response(query, rcode="NOERROR", answers=(), *, truncated=False, ident=None, question=None, limit=65535):
    """The reply to `query`. `answers`: records in wire form. Past `limit` bytes the answers are
    left out and TC is set."""
    opt = b"" if query.edns_size is None else b"\0" + struct.pack("!HHIH", TYPES["OPT"], 1232, 0, 0)
    question = query.question if question is None else question
    size = 12 + len(question) + sum(map(len, answers)) + len(opt)
    if truncated or size > limit:
        truncated, answers = True, ()
    flags = 0x8400 | (query.flags & 0x0100) | (0x0200 if truncated else 0) | RCODES[rcode]
    header = struct.pack(
        "!6H", query.id if ident is None else ident, flags, 1, len(answers), 0, 1 if opt else 0
    )
    return header + question + b"".join(answers) + opt


def format_error(message):
    """The reply to what could not be read: its id, FORMERR, no sections. None if there is no id."""
    return message[:2] + struct.pack("!5H", 0x8401, 0, 0, 0, 0) if len(message) >= 12 else None

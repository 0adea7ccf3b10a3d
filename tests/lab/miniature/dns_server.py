"""The authoritative server: UDP and TCP, each query recorded before it is answered."""

import asyncio
import random
import struct
import time

from . import dnswire, layout

MAX_TCP_QUERIES = 1000
TCP_IDLE = 10.0
FORGED_ADDRESS = layout.ADDRESSES["attacker"][0][0]


class Responder:
    """Replies from a zone. One for the true server; the attacker has one that says yes to all."""

    def __init__(self, zone, recorder, role):
        self.zone, self.recorder, self.role = zone, recorder, role

    def respond(self, message, source, server, transport):
        """(replies, delay): a list of (bytes, forged source or not) in order of sending."""
        entry = {
            "time": time.time(), "role": self.role, "transport": transport, "source": source[0],
            "sport": source[1], "server": server[0], "id": None, "name": None, "type": None, "class": None,
            "edns": None, "edns_options": None, "error": None, "message": message.hex(),
        }
        try:
            query = dnswire.parse_query(message)
        except dnswire.Malformed as problem:
            entry["error"] = str(problem)
            if len(message) >= 2:
                entry["id"] = struct.unpack("!H", message[:2])[0]
            self.recorder.write(entry)
            reply = dnswire.format_error(message)
            return ([(reply, False)] if reply else []), 0
        entry.update({"id": query.id, "name": query.name, "type": query.type, "class": query.qclass})
        entry.update({"edns": query.edns_size, "edns_options": query.edns_options.hex()})
        self.recorder.write(entry)
        return self._replies(query, transport)

    def _replies(self, query, transport):
        records, spec = self.zone.answer(query.name, query.type)
        if spec.get("drop"):
            return [], 0
        udp = transport == "udp"
        if "raw" in spec:
            true = struct.pack("!H", query.id) + bytes.fromhex(spec["raw"])
        else:
            limit = min(max(query.edns_size or 512, 512), 1232) if udp else 65535
            true = dnswire.response(
                query, spec.get("rcode", "NOERROR"), records, truncated=udp and bool(spec.get("tc")), limit=limit
            )
        forged = [self._forgery(query, kind) for kind in spec.get("before", [])] if udp else []
        return forged + [(true, False)], float(spec.get("delay", 0))

    @staticmethod
    def _forgery(query, kind):
        data = dnswire.encode_rdata("A", FORGED_ADDRESS)
        owner, ident, question = b"\xc0\x0c", None, None
        tail = struct.pack("!HH", query.qtype, query.qclass)
        if kind == "wrong-id":
            ident = query.id ^ random.randint(1, 0xFFFF)
        elif kind == "wrong-name":
            question = dnswire.encode_name("bank.test") + tail
        elif kind == "wrong-type":
            question = query.question[:-4] + struct.pack("!HH", query.qtype ^ 0x11, query.qclass)
        reply = dnswire.response(query, "NOERROR", [dnswire.record(owner, "A", 300, data)], ident=ident, question=question)
        return reply, kind == "wrong-source"


class Everything:
    """A zone in which every name is at one place: what a foreign resolver answers here."""

    def __init__(self, address4, address6):
        self._at = {"A": address4, "AAAA": address6}

    def answer(self, _name, rtype):
        if rtype not in self._at:
            return [], {}
        return [dnswire.record(b"\xc0\x0c", rtype, 60, dnswire.encode_rdata(rtype, self._at[rtype]))], {}


class UdpServer(asyncio.DatagramProtocol):
    """One address, port 53. `forger`: a transport with another source address, or None."""

    def __init__(self, responder, address, world, forger=None):
        self.responder, self.address, self.world, self.forger = responder, address, world, forger

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, source):
        self.world.touch()
        replies, delay = self.responder.respond(data, source, self.address, "udp")
        if replies:
            asyncio.get_running_loop().call_later(delay, self._send, replies, source)

    def _send(self, replies, source):
        for reply, forged in replies:
            (self.forger if forged and self.forger else self.transport).sendto(reply, source)


def tcp_handler(responder):
    """Serves DNS over an accepted connection (RFC 7766), bounded in time and number."""

    async def serve(connection):
        held = bytearray()
        for _ in range(MAX_TCP_QUERIES):
            while len(held) < 2 or len(held) < 2 + int.from_bytes(held[:2], "big"):
                piece = await connection.recv(TCP_IDLE)
                if not piece:
                    return
                held += piece
            size = int.from_bytes(held[:2], "big")
            message, held = bytes(held[2 : 2 + size]), held[2 + size :]
            peer = (connection.src, connection.sport)
            replies, delay = responder.respond(message, peer, (connection.dst, connection.dport), "tcp")
            await asyncio.sleep(delay)
            for reply, _ in replies:
                await connection.send(struct.pack("!H", len(reply)) + reply)

    return serve

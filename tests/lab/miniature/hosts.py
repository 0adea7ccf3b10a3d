"""What each host that is not nginx does with a connection."""

import asyncio

from . import http1, layout
from .connection import Closed

SLOW_SECONDS = 5.0
TLS_HANDSHAKE = 0x16

CREDENTIAL = {
    "Code": "Success", "Type": "AWS-HMAC", "AccessKeyId": "ASIALABFAKEFAKEFAKE0",
    "SecretAccessKey": "lab-fake-secret-never-valid", "Token": "lab-fake-session-token",
    "Expiration": "2099-01-01T00:00:00Z",
}


def echo(request, connection):
    return http1.respond(200, http1.describe(request, connection), head_only=request.method == "HEAD")


def api(request, connection):
    """A small JSON service: items, and an echo of the rest."""
    if request.method == "GET" and request.target.split("?")[0] == "/v1/items":
        return http1.respond(200, [{"id": 1, "name": "first"}, {"id": 2, "name": "second"}])
    return echo(request, connection)


def metadata(request, _connection):
    """A cloud's metadata service: a token for PUT, the (false) credential for all else."""
    if request.method == "PUT":
        return http1.respond(200, b"lab-fake-imds-token")
    return http1.respond(200, CREDENTIAL)


async def slow(connection):
    """Answers the first request after five seconds."""
    held = bytearray()
    if await http1.read_request(connection, held):
        await asyncio.sleep(SLOW_SECONDS)
        await connection.send(http1.respond(200, b"slow but here\n"))


def trap(name):
    """Takes anything and answers, in HTTP's form, so that a way out shows as a success."""
    answer = http1.respond(200, f"{name} was reached\n".encode())

    async def serve(connection):
        while await connection.recv():
            await connection.send(answer)

    return serve


class TrapUdp(asyncio.DatagramProtocol):
    """Records a datagram as a connection of its own and sends it back."""

    def __init__(self, world, role):
        self.world, self.role = world, role

    def connection_made(self, transport):
        self.transport = transport

    def datagram_received(self, data, source):
        dst, dport = self.transport.get_extra_info("sockname")[:2]
        self.world.record_datagram(self.role, data, source, (dst, dport))
        self.transport.sendto(data, source)


def with_tls(handler, context_of, sniff=False):
    """`handler` over TLS. With `sniff`, a client that does not begin with a TLS record gets
    the plain handler."""

    async def serve(connection):
        from .connection import TlsConnection

        first = b""
        if sniff:
            first = await connection.recv()
            if first[:1] != bytes([TLS_HANDSHAKE]):
                await handler(Replayed(connection, first))
                return
        tls = TlsConnection(Replayed(connection, first) if first else connection, context_of())
        await tls.handshake()
        await handler(tls)

    return serve


class Replayed:
    """A connection whose first bytes were read already."""

    def __init__(self, connection, first):
        self._connection, self._first = connection, first

    def __getattr__(self, name):
        return getattr(self._connection, name)

    async def recv(self, *timeout):
        first, self._first = self._first, None
        return await self._connection.recv(*timeout) if first is None else first


async def life(handler, connection):
    """Runs a connection to its end and records how it ended."""
    reason = "server-close"
    try:
        await handler(connection)
    except Closed as closed:
        reason = str(closed)
    except (ValueError, KeyError, UnicodeError) as error:
        reason = f"server-error: {type(error).__name__}: {error}"
    finally:
        await connection.finish(reason)


def traps():
    """(role, addresses, TCP ports, UDP ports) of the hosts that catch what should not have left."""
    yield "attacker", layout.role_addresses("attacker"), layout.TRAP_TCP_PORTS, layout.TRAP_UDP_PORTS
    for role in ("internal", "elsewhere"):
        yield role, layout.role_addresses(role), layout.TRAP_TCP_PORTS, [53]
    yield "metadata-other", layout.role_addresses("metadata"), [443], [53]

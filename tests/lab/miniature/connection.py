"""An accepted connection: every byte that arrives is recorded before a handler sees it."""

import asyncio
import itertools
import socket
import ssl
import struct
import time

from . import control

RECORDED_BYTES = 1 << 20  # of one connection and layer; beyond it only counts
LIFETIME = 120.0

_numbers = itertools.count(1)


class Closed(Exception):
    """The peer reset the connection, or its time is over. The text is the reason recorded."""


class Connection:
    """The plain layer. Events in connections.jsonl: open, data, close, with the same `conn`."""

    def __init__(self, reader, writer, role, world):
        self._reader, self._writer, self.world, self.role = reader, writer, world, role
        self._recorder = world.records["connections"]
        self.conn = f"w{next(_numbers)}"
        self.dst, self.dport = writer.get_extra_info("sockname")[:2]
        self.src, self.sport = (writer.get_extra_info("peername") or ("", 0))[:2]
        self.received, self.reason = 0, None
        self._deadline = time.monotonic() + LIFETIME
        self._event("open", role=role, dst=self.dst, dport=self.dport, src=self.src, sport=self.sport)

    def _event(self, event, **fields):
        self.world.touch()
        self._recorder.write({"time": time.time(), "event": event, "conn": self.conn, **fields})

    def record_data(self, layer, data, total):
        room = max(0, RECORDED_BYTES - (total - len(data)))
        self._event("data", layer=layer, bytes=len(data), base64=control.to_base64(data[:room]))

    def record_tls(self, sni, alpn, version):
        self._event("tls", sni=sni, alpn=alpn, version=version)

    async def recv(self, timeout=LIFETIME):
        """What arrives next; b"" after the peer's FIN. Closed on reset or timeout."""
        wait = min(timeout, self._deadline - time.monotonic())
        try:
            data = await asyncio.wait_for(self._reader.read(65536), max(wait, 0))
        except (asyncio.TimeoutError, TimeoutError):
            raise Closed("timeout") from None
        except OSError:
            raise Closed("client-reset") from None
        if data:
            self.received += len(data)
            self.record_data("wire", data, self.received)
        else:
            self.reason = self.reason or "client-fin"
        return data

    async def send(self, data):
        try:
            self._writer.write(data)
            await asyncio.wait_for(self._writer.drain(), max(self._deadline - time.monotonic(), 0))
        except (OSError, RuntimeError):
            raise Closed("client-reset") from None
        except (asyncio.TimeoutError, TimeoutError):
            raise Closed("timeout") from None

    def reset(self):
        """Ends it with a RST."""
        raw = self._writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.reason = "server-reset"
        self._writer.transport.abort()

    async def finish(self, reason):
        reason = self.reason or reason
        self._event("close", bytes=self.received, reason=reason)
        self._writer.close()


class TlsConnection:
    """TLS ended by this process over a Connection, so that both the wire's bytes and the
    decrypted ones are recorded. Same methods as Connection."""

    def __init__(self, plain, context):
        self.plain, self.role, self.sni, self.received = plain, plain.role, None, 0
        self.dst, self.dport, self.src, self.sport = plain.dst, plain.dport, plain.src, plain.sport
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_side=True)
        self._tls.on_sni = self._keep_sni

    def _keep_sni(self, name):
        self.sni = name

    async def _flush(self):
        pending = self._out.read()
        if pending:
            await self.plain.send(pending)

    async def _step(self, call, *args):
        while True:
            try:
                result = call(*args)
                await self._flush()
                return result
            except ssl.SSLWantReadError:
                await self._flush()
                data = await self.plain.recv()
                if not data:
                    self._in.write_eof()
                else:
                    self._in.write(data)
            except ssl.SSLZeroReturnError:
                return b""
            except ssl.SSLError as error:
                await self._flush()
                raise Closed(f"tls: {error.reason or error}") from None

    async def handshake(self):
        await self._step(self._tls.do_handshake)
        self.plain.record_tls(self.sni, self._tls.selected_alpn_protocol(), self._tls.version())

    async def recv(self, _timeout=LIFETIME):
        data = await self._step(self._tls.read, 65536)
        if data:
            self.received += len(data)
            self.plain.record_data("tls", data, self.received)
        return data

    async def send(self, data):
        if data:
            await self._step(self._tls.write, data)

    def reset(self):
        self.plain.reset()


def server_context(certificate, key):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.set_alpn_protocols(["http/1.1"])
    context.sni_callback = lambda tls, name, _: getattr(tls, "on_sni", lambda _: None)(name)
    return context

"""The daemon that is every host of the internet but the nginx ones."""

import asyncio
import itertools
import json
import os
import socket
import time

from . import control, dns_server, git_http, hosts, http1, layout, netns, scripts, zone
from .connection import RECORDED_BYTES, Connection, server_context
from .recorder import open_records

BACKLOG = 1024
# Event loop turns without any activity that count as settled: more than it takes from a ready
# socket to the record (accept, transport, task, timeout wrapper).
QUIET_TURNS = 16
SETTLE_SECONDS = 2.0
MAX_CONNECTIONS = 4096
_datagrams = itertools.count(1)


def open_socket(kind, address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    sock = socket.socket(family, kind)
    sock.setblocking(False)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    if kind == socket.SOCK_STREAM:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.bind((address, port))
    if kind == socket.SOCK_STREAM:
        sock.listen(BACKLOG)
    return sock


class World:
    def __init__(self, directory):
        self.dir = directory
        self.records = open_records(directory, ["dns", "connections"])
        self.zone = zone.Zone(layout.NAMES)
        self.scripts = {}
        self.activity = 0
        self.open = 0
        self._tls = None
        self._keep = []  # servers and transports

    def touch(self):
        """Something happened: what `settle` waits to stop."""
        self.activity += 1

    def tls_context(self):
        return self._tls

    def load_certificates(self):
        self._tls = server_context(f"{self.dir}/tls/site.pem", f"{self.dir}/tls/site.key")

    def record_datagram(self, role, data, source, at):
        self.touch()
        conn = f"u{next(_datagrams)}"
        entry = {"time": time.time(), "conn": conn}
        write = self.records["connections"].write
        write({**entry, "event": "open", "role": role, "dst": at[0], "dport": at[1], "src": source[0],
               "sport": source[1], "transport": "udp"})
        write({**entry, "event": "data", "layer": "wire", "bytes": len(data), "base64": control.to_base64(data[:RECORDED_BYTES])})
        write({**entry, "event": "close", "bytes": len(data), "reason": "datagram"})

    # --- listeners ---

    async def listen(self, role, sockets, handler):
        async def accepted(reader, writer):
            connection = Connection(reader, writer, role, self)
            if self.open >= MAX_CONNECTIONS:
                connection.reset()
                await connection.finish("server-reset")
                return
            self.open += 1
            try:
                await hosts.life(handler, connection)
            finally:
                self.open -= 1

        for sock in sockets:
            self._keep.append(await asyncio.start_server(accepted, sock=sock, backlog=BACKLOG))

    async def at(self, role, ports, handler, addresses=None):
        addresses = layout.role_addresses(role) if addresses is None else addresses
        await self.listen(role, [open_socket(socket.SOCK_STREAM, a, p) for a in addresses for p in ports], handler)

    async def datagrams(self, address, port, protocol):
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(
            lambda: protocol, sock=open_socket(socket.SOCK_DGRAM, address, port)
        )
        self._keep.append(transport)
        return transport

    async def serve_dns(self):
        responder = dns_server.Responder(self.zone, self.records["dns"], "dns")
        for address, forger in zip(layout.role_addresses("dns"), layout.role_addresses("forger")):
            other = await self.datagrams(forger, 53, asyncio.DatagramProtocol())
            await self.datagrams(address, 53, dns_server.UdpServer(responder, (address, 53), self, other))
        await self.at("dns", [53], dns_server.tcp_handler(responder))

    async def serve_hosts(self):
        tls = lambda handler, **how: hosts.with_tls(handler, self.tls_context, **how)  # noqa: E731
        for role, answer in (
            ("echo", hosts.echo), ("api", hosts.api), ("git", git_http.answerer(f"{self.dir}/git"))
        ):
            await self.at(role, [80], http1.handler(answer))
            await self.at(role, [443], tls(http1.handler(answer)))
        await self.at("metadata", [80], http1.handler(hosts.metadata))
        await self.at("slow", [80], hosts.slow)
        for port in layout.RAW_PORTS:
            await self.at("raw", [port], self.scripted("raw", port))
        await self.at("rawtls", [443], tls(self.scripted("rawtls", 443)))

    async def serve_traps(self):
        yes = dns_server.Everything(*layout.role_addresses("attacker"))
        for role, addresses, tcp_ports, udp_ports in hosts.traps():
            responder = dns_server.Responder(yes, self.records["dns"], role)
            handler = hosts.with_tls(hosts.trap(role), self.tls_context, sniff=True)
            await self.at(role, [p for p in tcp_ports if p != 53], handler, addresses)
            if 53 in tcp_ports:
                await self.at(role, [53], dns_server.tcp_handler(responder), addresses)
            for address in addresses:
                for port in udp_ports:
                    if port == 53:
                        protocol = dns_server.UdpServer(responder, (address, 53), self)
                    else:
                        protocol = hosts.TrapUdp(self, role)
                    await self.datagrams(address, port, protocol)

    def scripted(self, host, port):
        async def serve(connection):
            await scripts.play(self.scripts.get((host, port)) or scripts.Script({}), connection)

        return serve

    # --- control ---

    async def command(self, request):
        what = request.get("do")
        if what == "settle":
            await self.settle()
        elif what == "zone":
            self.zone.update(request["records"])
        elif what == "zone-delete":
            self.zone.delete(request["name"], request.get("type"))
        elif what == "zone-reset":
            self.zone.reset()
        elif what == "script":
            self.set_script(request["host"], int(request["port"]), request["script"])
        elif what == "reset":
            self.zone.reset()
            self.scripts.clear()
        else:
            raise ValueError(f"unknown: {what}")
        return {}

    def set_script(self, host, port, given):
        known = {"raw": layout.RAW_PORTS, "rawtls": [443]}
        if port not in known.get(host, []):
            raise ValueError(f"no scripted host {host} with port {port}; there are {known}")
        self.scripts[(host, port)] = scripts.Script(given)

    async def settle(self):
        """Returns after QUIET_TURNS turns of the loop in which no socket was ready: everything
        the kernel had delivered when this was asked is recorded. Under steady traffic, after
        SETTLE_SECONDS."""
        deadline = time.monotonic() + SETTLE_SECONDS
        await self._settle_nginx()
        quiet, seen = 0, -1
        while quiet < QUIET_TURNS and time.monotonic() < deadline:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.activity == seen else 0
            seen = self.activity

    async def _settle_nginx(self):
        """nginx is one thread: when it answers this, it has logged what it answered before."""
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", layout.NGINX_PROBE_PORT), 2)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        await asyncio.wait_for(reader.read(), 2)
        writer.close()

    async def serve_control(self):
        async def talk(reader, writer):
            try:
                request = json.loads(await asyncio.wait_for(reader.readline(), 5))
                answer = await asyncio.wait_for(self.command(request), 5)
            except Exception as error:  # whatever was asked, the asker gets to know
                answer = {"error": f"{type(error).__name__}: {error}"}
            writer.write(json.dumps(answer).encode() + b"\n")
            writer.close()

        self._keep.append(await asyncio.start_unix_server(talk, path=control.socket_name("world"), limit=control.MAX_MESSAGE))
        os.chmod(control.socket_name("world"), 0o600)


def main(directory, appliance, internet, certificates, ready):
    """Runs until it is killed. `certificates`: a descriptor that becomes readable when the
    certificates are there; `ready`: where a byte goes when every listener listens."""
    os.chdir(directory)
    netns.enter(appliance)
    own = {
        role: [open_socket(socket.SOCK_STREAM, a, p) for a in addresses for p in layout.SELF_PORTS]
        for role, addresses in layout.SELF_ADDRESSES.items()
    }
    netns.enter(internet)
    world = World(directory)

    async def run():
        await world.serve_dns()
        await world.serve_hosts()
        await world.serve_traps()
        for role, sockets in own.items():
            await world.listen(role, sockets, hosts.trap(role))
        await world.serve_control()
        await asyncio.get_running_loop().run_in_executor(None, os.read, certificates, 1)
        world.load_certificates()
        os.write(ready, b"+")
        os.close(ready)
        await asyncio.Event().wait()

    asyncio.run(run())

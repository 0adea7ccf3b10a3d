"""The daemon that records what leaves the appliance's namespace, and what is said on its
loopback. Apart from the world, so that a busy server never delays it."""

import json
import os
import selectors
import socket
import time

from . import capture, control, layout, netns, packet
from .flows import Flows
from .recorder import open_records

SKIPPED = {"arp", "upkeep"}
SETTLE_SECONDS = 2.0


class Marker:
    """Frames that go the same way as everything else: when they have come through, so has what
    was sent before them. A queue between two ends of a veth (and of lo) is one a CPU, so one
    marker goes through each."""

    def __init__(self, appliance_interface):
        self._sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self._sock.bind((appliance_interface, 0))
        self._ethernet = b"\xff" * 6 + b"\x02\0\0\0\0\x01" + packet.ETH_MARKER.to_bytes(2, "big")

    def send(self, nonce):
        """One a CPU; the set of payloads to wait for."""
        everywhere, payloads = os.sched_getaffinity(0), set()
        for cpu in everywhere:
            os.sched_setaffinity(0, {cpu})
            payload = nonce + cpu.to_bytes(4, "big") + b"\0" * 32
            self._sock.send(self._ethernet + payload)
            payloads.add(payload)
        os.sched_setaffinity(0, everywhere)
        return payloads


class Watch:
    """One interface: its frames, in order, into one recording."""

    def __init__(self, sock, marker, recorder, flows=None):
        self.sock, self.marker, self._recorder, self._flows = sock, marker, recorder, flows
        self._awaited, self.lost = set(), 0

    def drain(self):
        while True:
            try:
                frame, origin = self.sock.recvfrom(capture.SNAP)
            except BlockingIOError:
                return
            self._take(frame, origin[2])

    def _take(self, frame, kind):
        found = packet.describe(frame)
        segment = found.pop("tcp", None)
        if kind == capture.PACKET_OUTGOING:
            if segment and self._flows:
                key = (found["dst"], found["dport"], found["src"], found["sport"])
                self._flows.to_appliance(key, *segment)
            return
        if found["proto"] == "marker":
            self._awaited.discard(found["payload"])
            return
        if found["proto"] in SKIPPED:
            return
        if segment:
            event = self._segment(found, segment)
            if event not in ("start", "stray"):
                return
            found["event"] = event
        self._recorder.write({"time": time.time(), **found})

    def _segment(self, found, segment):
        flags, seq, _, length = segment
        if self._flows is None:
            return "start" if flags & 2 and not flags & 16 else None
        key = (found["src"], found["sport"], found["dst"], found["dport"])
        return self._flows.from_appliance(key, flags, seq, length)

    def settle(self, deadline):
        self._awaited = self.marker.send(os.urandom(16))
        while self._awaited and time.monotonic() < deadline:
            self.drain()
            if self._awaited:
                time.sleep(0.0005)
        self.lost += capture.dropped(self.sock)
        if self._awaited:
            raise ValueError("the markers did not come through")
        if self.lost:
            raise ValueError(f"{self.lost} frames were lost: the recording has a hole")


def flow_recorder(recorder):
    """Open and close events of connections that nginx accepted (the world records its own)."""
    role_of = {a: role for role in layout.ORIGINS for a in layout.role_addresses(role)}

    def write(event, key, flow, **fields):
        src, sport, dst, dport = key
        if dst in role_of and dport in layout.HTTP_PORTS:
            recorder.write({"time": time.time(), "event": event, "conn": f"s{flow.number}", **fields})

    def opened(key, flow):
        src, sport, dst, dport = key
        write("open", key, flow, role=role_of.get(dst), dst=dst, dport=dport, src=src, sport=sport)

    def closed(key, flow):
        write("close", key, flow, bytes=flow.received, sent=flow.sent, reason=flow.reason)

    return Flows(opened, closed)


def main(directory, appliance, internet, ready):
    os.chdir(directory)
    records = open_records(directory, ["packets", "loopback", "connections"])
    netns.enter(appliance)
    loopback = Watch(capture.open_capture("lo"), Marker("lo"), records["loopback"])
    outward = Marker(layout.APPLIANCE_LINK)
    netns.enter(internet)
    link = capture.open_capture(layout.INTERNET_LINK)
    watches = [Watch(link, outward, records["packets"], flow_recorder(records["connections"])), loopback]

    listener = socket.socket(socket.AF_UNIX)
    listener.bind(control.socket_name("sniffer"))
    os.chmod(control.socket_name("sniffer"), 0o600)
    listener.listen(16)
    selector = selectors.DefaultSelector()
    for watch in watches:
        selector.register(watch.sock, selectors.EVENT_READ, watch)
    selector.register(listener, selectors.EVENT_READ)
    os.write(ready, b"+")
    os.close(ready)
    while True:
        for key, _ in selector.select():
            if key.data is not None:
                key.data.drain()
            else:
                _answer(listener, watches)


def _answer(listener, watches):
    """One request, one answer; a silent client is given a second."""
    channel, _ = listener.accept()
    with channel:
        channel.settimeout(1)
        try:
            request = json.loads(channel.makefile("rb").readline(65536))
            if request.get("do") != "settle":
                raise ValueError(f"unknown: {request.get('do')}")
            deadline = time.monotonic() + SETTLE_SECONDS
            for watch in watches:
                watch.settle(deadline)
            answer = {}
        except (OSError, ValueError, AttributeError) as error:
            answer = {"error": str(error)}
        try:
            channel.sendall(json.dumps(answer).encode() + b"\n")
        except OSError:
            pass

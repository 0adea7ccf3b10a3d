"""Reads what of a captured frame the recordings tell. Never raises: a frame that cannot be
read is "unreadable", which counts as something that left."""

import ipaddress
import struct

ETH_IPV4, ETH_IPV6, ETH_ARP, ETH_MARKER = 0x0800, 0x86DD, 0x0806, 0x88B5
TCP, UDP, ICMP, ICMPV6, IGMP = 6, 17, 1, 58, 2
PROTOCOLS = {TCP: "tcp", UDP: "udp", ICMP: "icmp", ICMPV6: "icmpv6", IGMP: "igmp"}
EXTENSIONS = {0, 43, 60}  # hop-by-hop, routing, destination options
FRAGMENT = 44
# Router and neighbour discovery, multicast listener reports: the link's own upkeep.
LINK_UPKEEP = {130, 131, 132, 133, 134, 135, 136, 143}
FLAG_LETTERS = "FSRPAUEC"
SHOWN = 512


def flag_text(flags):
    return "".join(letter for bit, letter in enumerate(FLAG_LETTERS) if flags & 1 << bit)


def describe(frame):
    """A dict of the frame's fields; `proto` "arp", "marker", "upkeep" are for the caller to skip.
    `tcp` (flags, seq, ack, payload length) is for the flow table and not recorded."""
    try:
        return _ethernet(frame)
    except (struct.error, IndexError, ValueError):
        return {"proto": "unreadable", "length": len(frame), "payload": frame[:SHOWN].hex()}


def _ethernet(frame):
    kind = struct.unpack("!H", frame[12:14])[0]
    body = frame[14:]
    if kind == ETH_ARP:
        return {"proto": "arp"}
    if kind == ETH_MARKER:
        return {"proto": "marker", "payload": body}
    if kind == ETH_IPV4:
        return _ipv4(body)
    if kind == ETH_IPV6:
        return _ipv6(body)
    return {"proto": f"ethertype-{kind:04x}", "length": len(frame), "payload": body[:SHOWN].hex()}


def _ipv4(body):
    header = (body[0] & 15) * 4
    total, fragment, protocol = struct.unpack("!H2xHxB", body[2:10])
    found = {
        "ip": 4, "src": str(ipaddress.IPv4Address(body[12:16])), "dst": str(ipaddress.IPv4Address(body[16:20])),
        "length": total,
    }
    if fragment & 0x1FFF:
        return {**found, "proto": "fragment", "payload": body[header : header + SHOWN].hex()}
    if protocol == IGMP:
        return {"proto": "upkeep"}
    return _transport(found, protocol, body[header:], total - header)


def _ipv6(body):
    length, protocol = struct.unpack("!HB", body[4:7])
    found = {
        "ip": 6, "src": str(ipaddress.IPv6Address(body[8:24])), "dst": str(ipaddress.IPv6Address(body[24:40])),
        "length": length + 40,
    }
    at = 40
    while protocol in EXTENSIONS:
        protocol, size = body[at], (body[at + 1] + 1) * 8
        at += size
    if protocol == FRAGMENT:
        return {**found, "proto": "fragment", "payload": body[at : at + SHOWN].hex()}
    return _transport(found, protocol, body[at:], length + 40 - at)


def _transport(found, protocol, body, size):
    found["proto"] = PROTOCOLS.get(protocol, f"ip-{protocol}")
    if protocol == ICMPV6 and body[0] in LINK_UPKEEP:
        return {"proto": "upkeep"}
    if protocol == TCP:
        sport, dport, seq, ack, offset, flags = struct.unpack("!HHIIBB", body[:14])
        payload = size - (offset >> 4) * 4
        found.update(sport=sport, dport=dport, flags=flag_text(flags), tcp=(flags, seq, ack, payload))
        return found
    if protocol == UDP:
        found["sport"], found["dport"] = struct.unpack("!HH", body[:4])
        body = body[8:]
    elif protocol in (ICMP, ICMPV6):
        found["icmp_type"], found["icmp_code"] = body[0], body[1]
    found["payload"] = body[:SHOWN].hex()
    return found

"""An AF_PACKET socket in the caller's namespace, with a filter that keeps the kernel from
copying what is not needed."""

import ctypes
import socket
import struct

ETH_P_ALL = 0x0003
SOL_PACKET, PACKET_STATISTICS = 263, 6
SO_ATTACH_FILTER, SO_RCVBUFFORCE = 26, 33
PACKET_OUTGOING = 4
BUFFER = 64 << 20
SNAP = 2048

_LD_B, _LD_H, _LD_W, _LDX_IP, _LD_B_IND = 0x30, 0x28, 0x20, 0xB1, 0x50
_JEQ, _JSET, _RET = 0x15, 0x45, 0x06
_PKTTYPE = 0xFFFFF004  # SKF_AD_OFF + SKF_AD_PKTTYPE

def _program():
    """A classic BPF filter, its jumps by name: everything that came in; of what goes out (answers
    of the internet), TCP with SYN, FIN or RST."""
    keep, drop = "keep", "drop"
    code = [
        (None, _LD_W, None, None, _PKTTYPE),
        (None, _JEQ, "out", keep, PACKET_OUTGOING),
        ("out", _LD_H, None, None, 12),
        (None, _JEQ, "v4", "not4", 0x0800),
        ("v4", _LD_B, None, None, 23),
        (None, _JEQ, "tcp4", drop, 6),
        ("tcp4", _LDX_IP, None, None, 14),
        (None, _LD_B_IND, None, None, 14 + 13),
        (None, _JSET, keep, drop, 7),
        ("not4", _JEQ, "v6", drop, 0x86DD),
        ("v6", _LD_B, None, None, 20),
        (None, _JEQ, "tcp6", drop, 6),
        ("tcp6", _LD_B, None, None, 54 + 13),
        (None, _JSET, keep, drop, 7),
        (drop, _RET, None, None, 0),
        (keep, _RET, None, None, SNAP),
    ]
    labels = {line[0]: number for number, line in enumerate(code) if line[0]}
    out = b""
    for number, (_, operation, yes, no, value) in enumerate(code):
        jump = [0 if target is None else labels[target] - number - 1 for target in (yes, no)]
        out += struct.pack("=HBBI", operation, *jump, value)
    return out, len(code)


def open_capture(interface):
    """Frames of `interface`. Its buffer holds 64 MiB; what did not fit is counted by `dropped`."""
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER)
    program, count = _program()
    held = ctypes.create_string_buffer(program)
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", count, ctypes.addressof(held)))
    sock.bind((interface, ETH_P_ALL))
    sock.setblocking(False)
    return sock


def dropped(sock):
    """Frames lost since this was last asked. Not 0: the recording cannot be trusted."""
    _, lost = struct.unpack("II", sock.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
    return lost

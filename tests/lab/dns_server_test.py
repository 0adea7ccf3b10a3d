"""What the authoritative server can be made to do, seen from the wire."""

import struct
import subprocess

import pytest
from lab import COMMAND
from miniature import dnswire
from probes import inside

SERVER = "198.51.100.53"


def query(name, rtype="A", ident=0x1234, edns=False):
    question = dnswire.encode_name(name) + struct.pack("!HH", dnswire.type_number(rtype), 1)
    opt = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 0) if edns else b""
    return struct.pack("!6H", ident, 0x0100, 1, 0, 0, int(edns)) + question + opt


def ask_udp(lab, message, server=SERVER, replies=1, seconds=1.0):
    """Up to `replies` datagrams as (source address, bytes), from an unconnected socket."""
    code = """
s = socket.socket(family(a[0]), socket.SOCK_DGRAM); s.sendto(bytes.fromhex(a[1]), (a[0], 53)); s.settimeout(float(a[3]))
got = []
try:
    while len(got) < int(a[2]):
        data, source = s.recvfrom(65535); got.append([source[0], data.hex()])
except TimeoutError: pass
print(json.dumps(got))
"""
    return [(s, bytes.fromhex(d)) for s, d in inside(lab, code, server, message.hex(), replies, seconds)]


def dig(lab, *arguments):
    return lab.exec(["dig", f"@{SERVER}", "+time=1", "+tries=1", "+nocookie", *arguments], timeout=10).stdout


def short(lab, *arguments):
    return dig(lab, "+short", *arguments).split()


def rcode(message):
    return message[3] & 15


def test_the_fixed_names(lab):
    assert short(lab, "allowed.test", "A") == ["198.51.100.10"]
    assert short(lab, "allowed.test", "AAAA") == ["2001:db8::10"]
    assert short(lab, "deep.er.wild.allowed.test", "A") == ["198.51.100.10"]
    assert short(lab, "wild.allowed.test", "A") == []
    assert short(lab, "v4only.test", "AAAA") == [] and short(lab, "v6only.test", "A") == []
    assert short(lab, "mixed.test", "A") == ["198.51.100.10", "10.0.0.5"]
    assert short(lab, "cname-private.test", "A") == ["private.test.", "10.0.0.5"]
    assert short(lab, "+tcp", "allowed.test", "A") == ["198.51.100.10"]
    assert lab.exec(["dig", "@2001:db8::53", "+short", "echo.test"]).stdout == "198.51.100.20\n"


def test_every_query_is_recorded_as_it_came(lab):
    message = query("AlLoWeD.test", "AAAA", ident=0xBEEF)
    ask_udp(lab, message)
    (entry,) = lab.records("dns")
    assert (entry["role"], entry["transport"], entry["source"]) == ("dns", "udp", "192.168.77.2")
    assert (entry["id"], entry["name"], entry["type"]) == (0xBEEF, "AlLoWeD.test", "AAAA")
    assert bytes.fromhex(entry["message"]) == message
    assert lab.dns_names() == ["AlLoWeD.test"]


def test_errors_and_silence(lab):
    assert "status: NXDOMAIN" in dig(lab, "nx.test") and "status: NXDOMAIN" in dig(lab, "no-such-name.example")
    assert "status: SERVFAIL" in dig(lab, "servfail.test")
    assert "status: NOERROR" in dig(lab, "v4only.test", "AAAA")
    assert "timed out" in dig(lab, "timeout.test")
    assert lab.dns_names() == ["nx.test", "no-such-name.example", "servfail.test", "v4only.test", "timeout.test"]


def test_sixty_addresses_are_truncated_over_udp_and_whole_over_tcp(lab):
    ((_, reply),) = ask_udp(lab, query("many.test", edns=True))
    assert reply[2] & 2 and reply[6:8] == b"\0\0"
    assert len(short(lab, "many.test")) == 60
    assert [q["transport"] for q in lab.records("dns")] == ["udp", "udp", "tcp"]
    lab.zone("long.test", "A", [f"198.51.100.{n}" for n in range(1, 60)])
    ((_, reply),) = ask_udp(lab, query("long.test"))  # no EDNS: 512 bytes
    assert reply[2] & 2
    ((_, reply),) = ask_udp(lab, query("long.test", edns=True))
    assert not reply[2] & 2 and reply[6:8] == b"\0\x3b"


def test_a_sequence_flips_and_reset_restores_it(lab):
    assert [short(lab, "flip.test") for _ in range(3)] == [["198.51.100.10"], ["127.0.0.1"], ["127.0.0.1"]]
    assert dig(lab, "+noall", "+answer", "flip.test").split()[:3] == ["flip.test.", "0", "IN"]
    lab.reset()
    assert short(lab, "flip.test") == ["198.51.100.10"]


def test_a_test_can_change_the_zone(lab):
    lab.zone("allowed.test", "A", ["127.0.0.1"], ttl=0)
    lab.zone("allowed.test", "AAAA", sequence=[["2001:db8::10"], ["::1"]])
    lab.zone("new.test", "CNAME", "allowed.test")
    lab.zone("svcb.test", "HTTPS", ["0001000001000302" + b"h3".hex()])
    assert short(lab, "new.test") == ["allowed.test.", "127.0.0.1"]
    assert [short(lab, "allowed.test", "AAAA") for _ in range(2)] == [["2001:db8::10"], ["::1"]]
    ((_, reply),) = ask_udp(lab, query("svcb.test", "HTTPS"))
    assert reply[6:8] == b"\0\1"
    lab.zone_delete("new.test")
    assert "NXDOMAIN" in dig(lab, "new.test")
    lab.zone("allowed.test", "A", rcode="REFUSED")
    assert "REFUSED" in dig(lab, "allowed.test")
    lab.reset()
    assert short(lab, "allowed.test") == ["198.51.100.10"]


def test_the_shell_can_change_the_zone(lab, tmp_path):
    def zone(*arguments):
        subprocess.run(COMMAND + ["zone", str(lab.dir), *arguments], check=True, timeout=10)

    zone("allowed.test", "A", "198.51.100.1", "--ttl", "0", "--then", "10.0.0.1,10.0.0.2")
    assert [sorted(short(lab, "allowed.test")) for _ in range(2)] == [["198.51.100.1"], ["10.0.0.1", "10.0.0.2"]]
    zone("allowed.test", "A", "--rcode", "SERVFAIL")
    assert "SERVFAIL" in dig(lab, "allowed.test")
    table = tmp_path / "zone.json"
    table.write_text('{"a.test": {"A": ["198.51.100.7"], "AAAA": {"drop": true}}}')
    zone("--json", str(table))
    assert short(lab, "a.test") == ["198.51.100.7"]
    zone("a.test", "--delete")
    assert "NXDOMAIN" in dig(lab, "a.test")


def test_forged_replies_come_before_the_true_one(lab):
    """dns-025: what a resolver must ignore is really sent."""
    message = query("spoofed.test", ident=0x4242)
    replies = ask_udp(lab, message, replies=4)
    sources, texts = [s for s, _ in replies], [d for _, d in replies]
    assert sources == [SERVER, SERVER, "198.51.100.99", SERVER]
    idents = [struct.unpack("!H", d[:2])[0] for d in texts]
    assert idents[0] != 0x4242 and idents[1:] == [0x4242] * 3
    assert b"\4bank\4test" in texts[1]
    forged, true = bytes([203, 0, 113, 66]), bytes([198, 51, 100, 10])
    assert [d.endswith(forged) for d in texts] == [True, True, True, False] and texts[3].endswith(true)


def test_extra_records_and_raw_replies(lab):
    lab.zone("extra.test", "A", ["198.51.100.10"], extra=[["bank.test", "A", "203.0.113.66"]])
    assert "bank.test." in dig(lab, "extra.test")
    lab.zone("odd.test", "A", raw="81800001000000000000" + "c00c00010001")
    ((_, reply),) = ask_udp(lab, query("odd.test", ident=7))
    assert reply.hex() == "0007" + "81800001000000000000" + "c00c00010001"


def test_a_delayed_reply_delays_only_itself(lab):
    lab.zone("late.test", "A", ["198.51.100.10"], delay=0.4)
    code = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(3)
for m in a: s.sendto(bytes.fromhex(m), ("198.51.100.53", 53))
print(json.dumps([s.recv(999)[1] for _ in a]))
"""
    assert inside(lab, code, query("late.test", ident=1).hex(), query("allowed.test", ident=2).hex()) == [2, 1]


@pytest.mark.parametrize(
    "message, why",
    [
        (b"\0\1", "shorter"),
        (bytes.fromhex("000101000001000000000000c00c00010001"), "compressed"),
        (query("a.test")[:-1], "runs past"),
        (query("a.test") + b"x", "after the last"),
        (b"\0\1\x28\0" + query("a.test")[4:], "opcode"),
        (b"\0\1\x81\0" + query("a.test")[4:], "response"),
        (struct.pack("!6H", 1, 0x100, 2, 0, 0, 0) + query("a.test")[12:] * 2, "sections"),
    ],
)
def test_malformed_queries_are_recorded_and_not_answered_with_data(lab, message, why):
    replies = ask_udp(lab, message, seconds=0.3)
    (entry,) = lab.records("dns")
    assert why in entry["error"] and entry["name"] is None and bytes.fromhex(entry["message"]) == message
    assert all(rcode(d) == 1 and len(d) == 12 for _, d in replies)


def test_bytes_in_a_label_are_shown_unmistakably(lab):
    """dns-016, dns-017: a dot or NUL inside a label does not look like another name."""
    label = b"denied.allo\0"
    ask_udp(lab, struct.pack("!6H", 1, 0x100, 1, 0, 0, 0) + bytes([len(label)]) + label + b"\4test\0\0\1\0\1")
    assert lab.dns_names() == ["denied\\046allo\\000.test"]


def test_edns_options_are_recorded(lab):
    dig(lab, "allowed.test", "+ednsopt=65001:c0ffee")
    (entry,) = lab.records("dns")
    assert entry["edns_options"] == "fde90003c0ffee"


def test_a_foreign_resolver_says_yes_to_everything(lab):
    for server in ("192.0.2.8", "203.0.113.66", "3fff::8888"):
        assert lab.exec(["dig", f"@{server}", "+short", "whatever.example"]).stdout == "203.0.113.66\n"
    assert [q["role"] for q in lab.records("dns")] == ["elsewhere", "attacker", "elsewhere"]

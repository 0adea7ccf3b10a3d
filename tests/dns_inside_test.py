"""Names as a task sees them, by the cases dns-*: exact datagrams and dig from inside a sandbox, and what answers of upstream servers
lead to when something is connected to. Whether anything was asked upstream is read from the lab's recordings."""

import dataclasses
import ipaddress
import json
import random
import shutil
import struct
import tempfile
from pathlib import Path

import pytest

from raw_exchanges import Send, connect, exchange, get

POLICY = """policy: names/1
rules:
  - id: web
    allow: GET,HEAD http://allowed.test/**
  - id: below
    allow: GET http://*.wild.allowed.test/**
"""
OURS, FOREIGN4, FOREIGN6 = "the resolver", "192.0.2.8", "3fff::8888"
NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 2, 3, 4, 5
A, NULL, PTR, MX, TXT, AAAA, SRV, SVCB, HTTPS, AXFR, ANY = 1, 10, 12, 15, 16, 28, 33, 64, 65, 252, 255

# Sends every message of stdin from a socket of its own, all at once, and prints what came back (null: nothing, "refused": an error).
INSIDE = r"""
import json, re, select, socket, struct, sys, time
ours = re.search(r"nameserver\s+(\S+)", open("/etc/resolv.conf").read()).group(1)
steps = json.load(sys.stdin)
replies, waiting = [None] * len(steps), {}
for number, step in enumerate(steps):
    address = ours if step["to"] == "the resolver" else step["to"]
    data = bytes.fromhex(step["hex"])
    sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM if step["tcp"] else socket.SOCK_DGRAM)
    sock.settimeout(3)
    try:
        sock.connect((address, 53))  # connected: only a reply from the very address that was asked is taken
        if step["tcp"]:
            framed = struct.pack("!H", len(data)) + data
            half = len(framed) // 2
            sock.sendall(framed[:half]); time.sleep(0.01); sock.sendall(framed[half:])
        else:
            sock.send(data)
        waiting[sock] = (number, step["tcp"])
    except OSError as e:
        replies[number] = "refused"
end = time.monotonic() + 1.5
while waiting and time.monotonic() < end:
    for sock in select.select(list(waiting), [], [], 0.1)[0]:
        number, tcp = waiting.pop(sock)
        try:
            got = sock.recv(65535)
            if tcp:
                while got and len(got) < 2 + struct.unpack("!H", got[:2])[0]:
                    piece = sock.recv(65535)
                    if not piece: break
                    got += piece
                got = got[2:]
            replies[number] = got.hex()
        except OSError:
            replies[number] = "refused"
print(json.dumps(replies))
"""


def name(*labels):
    """Wire form of a name from labels of bytes or text, whatever is in them."""
    pieces = [label.encode("latin-1") if isinstance(label, str) else label for label in labels]
    return b"".join(bytes([len(p)]) + p for p in pieces) + b"\0"


def named(text):
    return name(*[label for label in text.rstrip(".").split(".")])


def opt(options=b"", size=1232, version=0):
    return b"\0" + struct.pack("!HHBBHH", 41, size, 0, version, 0, len(options)) + options


def query(owner, qtype=A, *, opcode=0, counts=(1, 0, 0), extra=b"", edns=opt(), ident=0x5350, klass=1):
    """A question; `counts` are those of the header's first three sections; `extra` follows the question."""
    owner = named(owner) if isinstance(owner, str) else owner
    header = struct.pack("!6H", ident, 0x0100 | opcode << 11, *counts, 1 if edns else 0)
    return header + owner + struct.pack("!HH", qtype, klass) + extra + edns


@dataclasses.dataclass
class Ask:
    message: bytes
    to: str = OURS
    tcp: bool = False


@dataclasses.dataclass
class Reply:
    raw: bytes
    rcode: int = None
    addresses: tuple = ()
    types: tuple = ()  # of the records of the answer section
    errors: tuple = ()  # (code, text) of Extended DNS Errors


def read_name(message, at):
    while True:
        length = message[at]
        if length == 0:
            return at + 1
        if length & 0xC0:
            return at + 2
        at += 1 + length


def parse(raw):
    reply = Reply(raw, rcode=raw[3] & 15)
    questions, *sections = struct.unpack("!4H", raw[4:12])
    at = 12
    for _ in range(questions):
        at = read_name(raw, at) + 4
    for section, count in enumerate(sections):
        for _ in range(count):
            at = read_name(raw, at)
            rtype, _, _, length = struct.unpack("!HHIH", raw[at : at + 10])
            data, at = raw[at + 10 : at + 10 + length], at + 10 + length
            if section == 0:
                reply.types += (rtype,)
                if rtype in (A, AAAA):
                    reply.addresses += (ipaddress.ip_address(data),)
            if rtype == 41:
                while data:
                    code, size = struct.unpack("!HH", data[:4])
                    if code == 15:
                        reply.errors += ((struct.unpack("!H", data[4:6])[0], data[6 : 4 + size].decode()),)
                    data = data[4 + size :]
    assert at == len(raw), "nothing after the last record"
    return reply


def ask(sallyport, asks, policy=POLICY, **how):
    """Replies to messages that are sent from one sandbox: Reply, or None where none came."""
    steps = [{"to": a.to, "tcp": a.tcp, "hex": a.message.hex()} for a in asks]
    options = ["--quiet", *how.pop("options", [])]
    done = sallyport(["/usr/bin/python3", "-IS", "-c", INSIDE], policy=policy, stdin=json.dumps(steps).encode(), options=options, **how)
    assert done.exit == 0, done
    replies = json.loads(done.stdout)
    assert "refused" not in replies, replies
    return [None if raw is None else parse(bytes.fromhex(raw)) for raw in replies]


def is_synthetic(address):
    return address in ipaddress.ip_network("198.18.0.0/15" if address.version == 4 else "fd53:7079::/32")


def is_answer(reply):
    """An allowed name's: one address of the task's own pool."""
    return reply is not None and reply.rcode == NOERROR and len(reply.addresses) == 1 and is_synthetic(reply.addresses[0])


def is_denial(reply):
    return reply is not None and reply.rcode == NXDOMAIN and not reply.types


@pytest.fixture
def state():
    made = Path(tempfile.mkdtemp(prefix="sallyport-state-", dir="/tmp"))
    yield made
    shutil.rmtree(made, ignore_errors=True)


def log_of(state):
    return [json.loads(line) for line in (state / "audit.jsonl").read_text().splitlines()]


CONTROL = Ask(query("allowed.test"))


# --- what is answered, and that it costs nothing upstream ---


@pytest.mark.parametrize("user", [None, "ordinary"], ids=["root", "ordinary"])
def test_names_are_answered_here_and_nothing_is_asked_upstream(lab, sallyport, state, user):  # dns-001, dns-015
    carried = "4e6f7753656372657421.x.denied.test"
    options = [] if user else ["--state", state]
    replies = ask(sallyport, [
        CONTROL, Ask(query("allowed.test", AAAA)), Ask(query("AlLoWeD.TeSt")), Ask(query("one.wild.allowed.test")), Ask(query("a.b.wild.allowed.test")),
        Ask(query(carried)), Ask(query(carried, AAAA)), Ask(query(carried, TXT)), Ask(query("DeNiEd.TeSt")), Ask(query("sub.allowed.test")),
        Ask(query("wild.allowed.test")), Ask(query(carried), tcp=True), Ask(query("allowed.test"), tcp=True)], user=user, options=options)
    assert all(map(is_answer, replies[:5] + replies[12:])), replies
    assert replies[0].addresses == replies[2].addresses == replies[12].addresses, "one name, one address"
    assert len({r.addresses for r in replies[:5]}) == 4
    for reply in replies[5:12]:
        assert is_denial(reply), reply
        (code, text), = reply.errors
        assert code == 15 and text.startswith("no_rule: No rule of the policy"), reply.errors  # Blocked
    assert not lab.packets() and not lab.records("dns")
    if not user:
        denied = [r for r in log_of(state) if r.get("layer") == "dns" and r["verdict"] == "deny"]
        assert carried in {r["name_used"] for r in denied}, denied
    assert lab.exec(["curl", "-s", "http://allowed.test/"], names=True).exit == 0
    assert lab.records("dns"), "the control: the lab would have seen a question"


def test_dns_002_a_denied_request_is_not_looked_up_by_the_proxy_either(lab, sallyport):
    denied, tunnel, control = exchange(sallyport, POLICY, [
        Send(get("http://4e6f77.x.denied.test/", "4e6f77.x.denied.test")), Send(connect("4e6f77.x.denied.test:443")),
        Send(get("http://allowed.test/", "allowed.test"))])
    assert denied.status == tunnel.status == 403 and control.status == 200
    assert lab.names_asked() == {"allowed.test"}
    assert not lab.packets_to_unpermitted()


def test_dns_007_and_006_whatever_address_is_asked(lab, sallyport):
    foreign = [FOREIGN4, FOREIGN6, "203.0.113.66", "2001:db8:bad::66", "10.0.0.5", "169.254.169.254", "198.51.100.53"]
    asks = [Ask(query(owner), to, tcp) for to in foreign for owner in ("denied.test", "allowed.test") for tcp in (False, True)]
    replies = ask(sallyport, asks)
    for step, reply in zip(asks, replies):
        allowed = b"allowed" in step.message
        assert is_answer(reply) if allowed else is_denial(reply), (step, reply)
    assert not lab.packets()
    direct = lab.exec(["dig", "+tries=1", "+time=2", "+short", "@" + FOREIGN4, "denied.test"])
    assert direct.stdout.strip() and lab.packets(dst=FOREIGN4), "the control: without Sallyport that server answers"


def test_dns_006_many_questions_on_one_tcp_connection(lab, sallyport):
    def framed(*messages):
        return b"".join(struct.pack("!H", len(m)) + m for m in messages)

    asked = [query("allowed.test", ident=1), query("denied.test", ident=2), query("one.wild.allowed.test", AAAA, ident=3)]
    both, cut, bad = exchange(sallyport, POLICY, [
        Send(framed(*asked), to=(FOREIGN4, 53), seconds=2), Send(framed(asked[0])[:-3], to=(FOREIGN4, 53), half_close=True, seconds=2),
        Send(framed(b"\xff" * 40, asked[0]), to=(FOREIGN4, 53), seconds=2)])
    replies, data = [], both.data
    while data:
        length = struct.unpack("!H", data[:2])[0]
        replies.append(parse(data[2 : 2 + length]))
        data = data[2 + length :]
    assert [r.raw[1] for r in replies] == [1, 2, 3]
    assert is_answer(replies[0]) and is_denial(replies[1]) and is_answer(replies[2])
    assert cut.data == b"" and bad.data == b"" and bad.end in ("fin", "reset")
    assert not lab.packets()


def test_dns_004_and_010_other_types_get_nothing(lab, sallyport):
    lab.zone("allowed.test", "TYPE65", ["0001000001000302683300040004c6336414" + "0005" + "0004" + "aabbccdd"])
    lab.zone("allowed.test", "TXT", ["from the outside"])
    types = [TXT, NULL, SRV, SVCB, HTTPS, 65399, ANY, AXFR]
    replies = ask(sallyport, [Ask(query("allowed.test", t), tcp=tcp) for tcp in (False, True) for t in types] + [CONTROL])
    for qtype, reply in zip(types * 2, replies):
        assert reply.types == () and b"\xaa\xbb\xcc\xdd" not in reply.raw and b"outside" not in reply.raw
        assert reply.rcode == (REFUSED if qtype in (ANY, AXFR) else NOERROR), (qtype, reply)
    assert is_answer(replies[-1])
    assert not lab.packets()


def test_dns_005_options_of_the_task_go_nowhere(lab, sallyport):
    secret = b"stolen-by-edns-" + bytes(range(200))
    private = struct.pack("!HH", 65001, len(secret)) + secret
    subnet = struct.pack("!HHHBB", 8, 8, 1, 32, 0) + bytes([203, 0, 113, 7])
    replies = ask(sallyport, [Ask(query("allowed.test", edns=opt(private))), Ask(query("allowed.test", edns=opt(subnet))),
                              Ask(query("denied.test", edns=opt(private))), Ask(query("allowed.test", edns=b""))])
    assert is_answer(replies[0]) and is_answer(replies[1]) and is_denial(replies[2]) and is_answer(replies[3])
    assert all(b"stolen" not in r.raw for r in replies) and not lab.packets()
    # Not even once the name is looked up for a connection: that question is made from scratch.
    exchange(sallyport, POLICY, [Send(get("http://allowed.test/", "allowed.test"))])
    asked = [bytes.fromhex(record["message"]) for record in lab.records("dns")]
    assert asked and all(b"stolen" not in m and private[:2] not in m[12 + 18 :] for m in asked)


# --- what is no question ---


def test_messages_that_are_no_question_are_refused_here(lab, sallyport, state):
    chosen = random.Random(16)
    payload = bytes(chosen.randrange(256) for _ in range(1200))
    dot, nul = name("denied.allowed.test"), name("denied.\0xyz", "allowed", "test")
    loop = struct.pack("!6H", 0x5350, 0x0100, 1, 0, 0, 0) + b"\xc0\x0c\x00\x01\x00\x01"
    second = named("denied.test") + struct.pack("!HH", A, 1)
    cases = {
        "dns-016 dot in a label": (Ask(query(dot)), FORMERR),
        "dns-016 dot below a wildcard": (Ask(query(name("x.wild.allowed", "test"))), FORMERR),
        "dns-017 NUL in a label": (Ask(query(nul)), FORMERR),
        "dns-018 pointer to itself": (Ask(loop), FORMERR),
        "dns-018 pointer chain": (Ask(query(b"\xc0\x0e\xc0\x0c")), FORMERR),
        "dns-019 two questions": (Ask(query("allowed.test", counts=(2, 0, 0), extra=second, edns=b"")), FORMERR),
        "dns-019 no question": (Ask(query("allowed.test", counts=(0, 0, 0), edns=b"")), FORMERR),
        "dns-020 UPDATE": (Ask(query("allowed.test", opcode=5)), NOTIMP),
        "dns-020 NOTIFY": (Ask(query("allowed.test", opcode=4)), NOTIMP),
        "dns-020 zone transfer": (Ask(query("allowed.test", AXFR)), REFUSED),
        "dns-021 payload": (Ask(payload), None),
        "dns-021 payload as a question": (Ask(payload[:2] + b"\x01\x00" + payload[4:]), FORMERR),
        "dns-021 payload as a response": (Ask(payload[:2] + b"\x81\x00" + payload[4:]), None),
        "dns-021 trailing bytes": (Ask(query("allowed.test", edns=b"", extra=payload[:1000])), FORMERR),
        "dns-021 shorter than a header": (Ask(b"\x53\x50\x01"), None),
        "an answer in the question": (Ask(query("allowed.test", counts=(1, 1, 0), extra=b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4abcd", edns=b"")), FORMERR),
        "another class": (Ask(query("allowed.test", klass=3)), REFUSED),
        "EDNS options cut off": (Ask(query("allowed.test", edns=opt(b"\xfd\xe9\x00\xff"))), FORMERR),
        "a label longer than 63": (Ask(query(b"\x40" + b"a" * 64 + b"\0")), FORMERR),
    }
    replies = ask(sallyport, [step for step, _ in cases.values()] + [CONTROL, Ask(query("denied.test"))], options=["--state", state])
    for (case, (step, rcode)), reply in zip(cases.items(), replies):
        if rcode is None:
            assert reply is None or (reply.rcode in (FORMERR, NOTIMP) and len(reply.raw) == 12), (case, reply)
        else:
            assert reply is not None and reply.rcode == rcode and not reply.types, (case, reply)
        if reply is not None and rcode == FORMERR:
            assert len(reply.raw) == 12, (case, "nothing of the message is given back but its id")
    assert is_answer(replies[-2]) and is_denial(replies[-1]), "others are served"
    assert not lab.packets()
    log = (state / "audit.jsonl").read_bytes()
    assert all(0x20 <= byte < 0x7F or byte == 0x0A for byte in log)
    asked = {r.get("name_asked") for r in log_of(state) if r["kind"] == "dns" and r["verdict"] == "deny"}
    assert {r"denied\x2eallowed\x2etest", r"denied\x2e\x00xyz.allowed.test"} <= asked, asked


# --- names with a meaning of their own ---


def test_dns_022_and_027_special_names_stay_here(lab, sallyport):
    loopback = {A: "127.0.0.1", AAAA: "::1"}
    local = ["localhost", "x.localhost"]
    nowhere = ["foo.invalid", "printer.local", "x.onion", "x.alt", "1.0.0.127.in-addr.arpa", "192.0.2.8.in-addr.arpa", "use-application-dns.net",
               "metadata.google.internal"]
    replies = ask(sallyport, [Ask(query(n, t)) for n in local for t in loopback] + [Ask(query(n, t)) for n in nowhere for t in (A, AAAA, PTR)] + [
        CONTROL, Ask(query("sallyport.internal"))])
    for at, reply in enumerate(replies[:4]):
        assert [str(a) for a in reply.addresses] == [list(loopback.values())[at % 2]], reply
    assert all(map(is_denial, replies[4:-2])), replies
    assert is_answer(replies[-2]) and is_answer(replies[-1])
    assert not lab.packets()


def test_dns_022_a_rule_does_not_change_that(lab, sallyport):
    def policy(host):
        return f"policy: special/1\nrules:\n  - id: special\n    allow: tcp://{host}:80\n"

    for host in ("foo.invalid", "printer.local", "x.localhost", "metadata.google.internal"):  # the loader says so at once
        refused = sallyport(["true"], policy=policy(host), options=["--quiet"])
        assert refused.exit == 125 and "never leaves the task" in refused.stderr or "which nothing opens" in refused.stderr, refused
    assert not lab.packets() and not lab.records("loopback")


def test_reverse_names_know_only_this_tasks_addresses(lab, sallyport):
    code = r"""
import socket
address = socket.gethostbyname("allowed.test")
print(socket.gethostbyaddr(address)[0])
try: print(socket.gethostbyaddr("198.51.100.10")[0])
except OSError: print("unknown")
"""
    done = sallyport(["/usr/bin/python3", "-IS", "-c", code], policy=POLICY, options=["--quiet"])
    assert done.stdout.split() == ["allowed.test", "unknown"], done
    assert not lab.packets()


def test_dns_014_a_search_suffix_costs_nothing(lab, sallyport):
    code = "cat /etc/resolv.conf; getent hosts allowed.test.corp.test; getent hosts allowed.test | wc -l; dig +short +search +domain=corp.test allowed.test"
    done = sallyport(["sh", "-c", code], policy=POLICY, options=["--quiet"])
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.startswith(("search", "domain"))], done
    assert lines[-2] == "1" and is_synthetic(ipaddress.ip_address(lines[-1])), done
    assert not lab.packets()


def test_dig_shows_the_reason(lab, sallyport):
    script = "; echo ==; ".join([
        "dig denied.test", "dig +tcp @192.0.2.8 denied.test", "dig @3fff::8888 allowed.test AAAA", "dig metadata.google.internal",
        "dig allowed.test HTTPS"])
    done = sallyport(["sh", "-c", script], policy=POLICY, options=["--quiet"])
    denied, by_tcp, allowed, floor, https = done.stdout.split("==\n")
    for text in (denied, by_tcp):
        assert "status: NXDOMAIN" in text and "EDE: 15 (Blocked)" in text and "no_rule: No rule of the policy mentions this host" in text, text
    assert "status: NOERROR" in allowed and "ANSWER: 1" in allowed and "fd53:7079:" in allowed and "EDE" not in allowed
    assert "floor: Cloud metadata" in floor
    assert "status: NOERROR" in https and "ANSWER: 0" in https
    assert "malformed" not in done.stdout.lower() and "warning" not in done.stdout.lower(), done.stdout
    assert not lab.packets()


# --- what upstream servers answer, when something connects ---


def rules(names, port=80):
    return "policy: upstream/1\nrules:\n" + "".join(f"  - id: r{i}\n    allow: tcp://{n}:{port}\n" for i, n in enumerate(names))


# name -> the class that the refusal must name
REFUSED_NAMES = {
    "private.test": "private", "loop.test": "loopback", "cgnat.test": "carrier-grade-nat", "zero.test": "unspecified", "mapped.test": "v4-mapped",
    "nat64.test": "nat64", "self.test": "private", "cname-private.test": "private", "mixed.test": "private", "mixed-refused.test": "private",
    "meta.test": "metadata",
}


def test_dns_011_012_013_addresses_of_answers_are_checked(lab, sallyport):
    names = [*REFUSED_NAMES, "allowed.test", "cname.test"]
    replies = exchange(sallyport, rules(names), [Send(connect(f"{n}:80"), seconds=3) for n in names])
    for host, reply in zip(REFUSED_NAMES, replies):
        assert reply.status == 403 and reply.problem()["reason"] == "address_refused", (host, reply)
        assert f"its class is {REFUSED_NAMES[host]}" in reply.problem()["detail"], (host, reply.problem())
    assert [r.status for r in replies[-2:]] == [200, 200], "the controls: a public address, and a CNAME to one"
    assert not lab.packets_to_unpermitted()
    assert {p["dst"] for p in lab.packets() if p["proto"] == "tcp" and p.get("dport") != 53} <= {"198.51.100.10", "2001:db8::10"}
    assert not lab.records("loopback") and not lab.connections("loopback") and not lab.connections("self") and not lab.connections("internal")


def test_dns_011_a_permitted_range_is_dialled_and_the_floor_is_not(lab, sallyport):
    config = Path(tempfile.mkdtemp(prefix="sallyport-config-", dir="/tmp"))
    try:
        file = config / "appliance.yaml"
        text = lab.config.read_text()
        assert "permit:" in text
        file.write_text(text.replace("198.51.100.0/24", "198.51.100.0/24, 10.0.0.0/8, \"fd00::/16\"", 1))
        allowed, = exchange(sallyport, rules(["private.test"]), [Send(connect("private.test:80"))], config=file)
        assert allowed.status == 200 and lab.connections("internal"), "the control: the lab would have seen it"
        # The floor is not opened by it.
        file.write_text(text.replace("198.51.100.0/24", "198.51.100.0/24, 169.254.0.0/16, \"fd00:ec2::/32\"", 1))
        floor, = exchange(sallyport, rules(["meta.test"]), [Send(connect("meta.test:80"))], config=file)
        assert floor.status == 403 and not lab.connections("metadata")
    finally:
        shutil.rmtree(config)


def test_dns_013_the_end_of_a_cname_does_not_become_allowed(lab, sallyport):
    lab.zone("alias.test", "CNAME", ["denied.test"])
    alias, itself, by_name = exchange(sallyport, rules(["alias.test"]), [
        Send(connect("alias.test:80")), Send(connect("denied.test:80")), Send(b"x", to=("denied.test", 80))])
    assert alias.status == 200 and itself.status == 403 and by_name.end == "unresolved"
    assert len(lab.packets(dst="198.51.100.66", dport=80)) + len(lab.packets(dst="2001:db8::66", dport=80)) == 1


@pytest.mark.parametrize("kind", ["tunnel", "request"])
def test_dns_023_each_connection_resolves_once_and_dials_what_was_checked(lab, sallyport, kind):
    if kind == "tunnel":
        policy, sends = rules(["flip.test"]), [Send(connect("flip.test:80"))] * 3
    else:
        policy = "policy: flip/1\nrules:\n  - id: flip\n    allow: http://flip.test/**\n"
        # An upstream connection that is kept would need no name: the upstream closes it.
        lab.zone("flip.test", "A", ttl=0, sequence=[["198.51.100.30"], ["127.0.0.1"]])
        lab.script(80, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
        sends = [Send(get("http://flip.test/", "flip.test"))] * 3
    replies = exchange(sallyport, policy, sends)
    assert [r.status for r in replies] == [200, 403, 403]
    assert all(r.problem()["reason"] == "address_refused" for r in replies[1:])
    assert not lab.records("loopback") and not lab.packets_to_unpermitted()
    assert [q["type"] for q in lab.records("dns")].count("A") >= 2, "the second asked again"


def test_dns_025_and_026_forged_and_many(lab, sallyport):
    lab.zone("many.test", "A", [f"198.51.100.{n}" for n in range(100, 160)], tc=True)
    spoofed, many = exchange(sallyport, rules(["spoofed.test", "many.test"]), [
        Send(connect("spoofed.test:80")), Send(connect("many.test:80"), seconds=12)])
    assert spoofed.status == 200
    assert lab.packets(dst="198.51.100.10", dport=80) and not lab.packets(dst="203.0.113.66")
    asked = [q for q in lab.records("dns") if (q["name"] or "").lower() == "many.test"]
    assert "tcp" in {q["transport"] for q in asked}, "a truncated answer is asked for again by TCP"
    vetted = {f"198.51.100.{n}" for n in range(100, 160)}
    dialled = [p["dst"] for p in lab.packets(dport=80) if p["dst"] != "198.51.100.10"]
    assert dialled and set(dialled) <= vetted and len(set(dialled)) <= 16, dialled
    assert many.status in (200, 502, 504), many


def test_dns_over_https_is_a_resolver_of_its_own(lab, sallyport):
    """dns-009: a DNS message inside an allowed request is refused; the same request without one passes."""
    import raw_exchanges as raw

    policy = "policy: doh/1\nrules:\n  - id: echo\n    allow: http://echo.test/**\n"
    message = b"AAABAAABAAAAAAAAB2V4YW1wbGUEdGVzdAAAAQAB"
    post = b"POST http://echo.test/dns-query HTTP/1.1\r\nHost: echo.test\r\nContent-Type: %s\r\nContent-Length: 4\r\n\r\nabcd"
    replies = raw.exchange(sallyport, policy, [
        raw.Send(post % b"application/dns-message"),
        raw.Send(raw.get("http://echo.test/dns-query?dns=" + message.decode(), "echo.test")),
        raw.Send(raw.get("/dns-query?dns=" + message.decode(), "echo.test"), to=("echo.test", 80)),
        raw.Send(raw.get("http://echo.test/x", "echo.test", b"Accept: application/dns-json\r\n")),
        raw.Send(post % b"application/octet-stream"),
        raw.Send(raw.get("http://echo.test/zone?dns=on", "echo.test")),
    ])
    assert [r.status for r in replies] == [403, 403, 403, 403, 200, 200]
    assert {r.problem()["reason"] for r in replies[:4]} == {"dns_over_https"}
    assert message not in b"".join(c["data"] for c in lab.connections("echo"))

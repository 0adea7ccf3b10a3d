"""Opaque tunnels, spliced and copied: the first bytes of tls:// tunnels, Encrypted ClientHello, limits to the byte, half-close and resets.
What the origin received, what the audit log says and what http://sallyport.internal/ shows are compared with each other."""

import collections
import json
import time

import pytest

from budget_runs import MIB, received
from raw_exchanges import client_hello

RULES = """policy: tunnel/1
rules:
  - id: tls
    allow: tls://raw.test
  - id: open
    allow: tls://raw.test:8080
    ech: allow
  - id: tcp
    allow: tcp://raw.test:5432
"""


def with_limits(limits):
    return RULES.replace("  - id: tcp\n", f"  - id: tcp\n    limits: {limits}\n")


# --- greetings ---

class Hello:
    """A ClientHello, taken apart so that a test can bend it."""

    def __init__(self, name="raw.test"):
        bytes_ = client_hello(name)
        self.message = bytearray(bytes_[5:])

    def records(self, *sizes):
        """Split over records of these sizes, the rest in the last."""
        out, rest = b"", bytes(self.message)
        for size in [*sizes, len(rest)]:
            piece, rest = rest[:size], rest[size:]
            if piece:
                out += b"\x16\x03\x01" + len(piece).to_bytes(2, "big") + piece
        return out

    def _extensions_at(self):
        at = 4 + 2 + 32
        at += 1 + self.message[at]
        at += 2 + int.from_bytes(self.message[at:at + 2], "big")
        return at + 1 + self.message[at]

    def add(self, kind, data):
        """One more extension, before the others: the last must stay (a pre-shared key would)."""
        at = self._extensions_at()
        more = kind.to_bytes(2, "big") + len(data).to_bytes(2, "big") + data
        size = int.from_bytes(self.message[at:at + 2], "big") + len(more)
        self.message[at:at + 2] = size.to_bytes(2, "big") + more
        self.message[1:4] = (len(self.message) - 4).to_bytes(3, "big")
        return self


def server_name(*names, kind=0):
    entries = b"".join(bytes([kind]) + len(n).to_bytes(2, "big") + n for n in names)
    return len(entries).to_bytes(2, "big") + entries


GREASE_ECH = b"\x00\x00\x01\x00\x01" + b"\x07" + b"\x00\x20" + b"k" * 32 + b"\x00\x90" + b"p" * 144
WHOLE = Hello().records()
# Case: the pieces that are sent, and the reason in the audit log; None: it passes.
GREETINGS = {
    "whole": ([WHOLE], None),
    "a byte at a time at first": ([WHOLE[:1], WHOLE[1:2], WHOLE[2:5], WHOLE[5:6], WHOLE[6:100], WHOLE[100:]], None),
    "split over records": ([Hello().records(1, 2, 3, 100)], None),
    "split over records and segments": ([Hello().records(40)[:30], Hello().records(40)[30:60], Hello().records(40)[60:]], None),
    "followed by more": ([WHOLE + b"\x14\x03\x03\x00\x01\x01"], None),
    "another name": ([Hello("denied.test").records()], "sni_mismatch"),
    "no name": ([Hello(None).records()], "no_sni"),
    "a name twice": ([Hello().add(0, server_name(b"raw.test")).records()], "malformed"),
    "two names": ([Hello(None).add(0, server_name(b"raw.test", b"denied.test")).records()], "malformed"),
    "no name in the list": ([Hello(None).add(0, server_name()).records()], "malformed"),
    "another kind of name": ([Hello(None).add(0, server_name(b"raw.test", kind=1)).records()], "malformed"),
    "an address as name": ([Hello(None).add(0, server_name(b"198.51.100.30")).records()], "malformed"),
    "a dot behind the name": ([Hello(None).add(0, server_name(b"raw.test.")).records()], "malformed"),
    "a zero in the name": ([Hello(None).add(0, server_name(b"raw.test\0.denied.test")).records()], "malformed"),
    "too large": ([b"\x16\x03\x01\x40\x00\x01\x01\x00\x00" + b"\x03\x03" + b"x" * 16000], "malformed"),
    "too many records": ([Hello().records(*[1] * 80)], "malformed"),
    "another record inside": ([WHOLE[:0] + Hello().records(50)[:55] + b"\x17\x03\x03\x00\x01x"], "malformed"),
    "an alert": ([b"\x15\x03\x01\x00\x02\x01\x00"], "not_tls"),
    "ssh": ([b"SSH-2.0-x\r\n"], "not_tls"),
    "http": ([b"GET / HTTP/1.1\r\nHost: raw.test\r\n\r\n"], "not_tls"),
    "SSL 2": ([b"\x80\x2e\x01\x03\x01" + b"x" * 43], "not_tls"),
    "ECH": ([Hello().add(0xFE0D, GREASE_ECH).records()], "ech_refused"),
    "ESNI": ([Hello().add(0xFFCE, b"\x13\x01" + b"e" * 60).records()], "ech_refused"),
    "ECH and another name": ([Hello("denied.test").add(0xFE0D, GREASE_ECH).records()], "ech_refused"),
    "slow": ([bytes([b]) for b in WHOLE[:8]], "classification_timeout"),
    "silent": ([], "classification_timeout"),
}

GREET = """
    import base64
    cases = json.loads(base64.b64decode("%s")); port = %d
    def greet(i):
        name, form, pieces, passes = cases[i]
        s = tunnel("raw.test:%%d" %% port)[0] if form == "explicit" else dial(("raw.test", port))
        s.settimeout(13); sent = b""
        try:
            for p in pieces:
                p = base64.b64decode(p); s.sendall(p); sent += p; time.sleep(1.0 if name == "slow" else 0.06)
        except OSError: pass
        data, how = drain(s, len(sent) if passes else 1 << 30); s.close()
        return [name, form, "echoed" if passes and data == sent else data[:2].hex() + data[6:7].hex(), how]
    out["greetings"] = at_once(len(cases), greet)
    out["denials"] = internal("denials")["recent"]
"""


def denied(ran):
    """Denials by reason, with those that the log tells in one line as so many of the same."""
    count = collections.Counter()
    for record in ran.records:
        if record["kind"] in ("decision", "coalesced") and record["verdict"] == "deny":
            count[record["reason"]] += record.get("repeated", 1)
    return count


def greet(lab, run, greetings, port):
    import base64

    lab.script(port, mode="echo")
    cases = [[name, form, [base64.b64encode(p).decode() for p in pieces], reason is None]
             for name, (pieces, reason) in greetings.items() for form in ("explicit", "caught")]
    ran = run(None, GREET % (base64.b64encode(json.dumps(cases).encode()).decode(), port), RULES)
    return ran, {(name, form): (said, how) for name, form, said, how in ran.out["greetings"]}


def test_only_a_right_greeting_opens_a_tls_tunnel(lab, run):
    """connect-004, connect-005, connect-006, transparent-007, tls-008, tls-010: explicit and caught alike; nothing else reaches the origin."""
    ran, said = greet(lab, run, GREETINGS, 443)
    wrong = {}
    for (name, form), (what, how) in said.items():
        reason = GREETINGS[name][1]
        if reason is None:
            right = what == "echoed"
        elif reason in ("not_tls", "classification_timeout"):
            right = (what, how) == ("", "reset")
        else:
            right = what[:4] == "1503" and len(what) == 6
        if not right:
            wrong[name, form] = (what, how)
    assert not wrong
    expected = collections.Counter(reason for _, reason in GREETINGS.values() if reason)
    assert denied(ran) == {reason: 2 * count for reason, count in expected.items()}
    shown = collections.Counter()
    for denial in ran.out["denials"]:
        shown[denial["reason"]] += denial["count"]
    assert shown == denied(ran)
    passed = sum(2 * sum(map(len, pieces)) for pieces, reason in GREETINGS.values() if reason is None)
    assert received(lab) == passed == ran.total("bytes_up")
    assert {r["sni"] for r in ran.records if r.get("reason") == "sni_mismatch"} == {"denied.test"}
    # Caught connections are classified before anything is dialled.
    assert len(lab.connections("raw")) == len(GREETINGS) + sum(reason is None for _, reason in GREETINGS.values())


def test_a_rule_can_let_the_name_inside_go_unseen(lab, run):
    """tls-010: `ech: allow`. The outer name is checked all the same, and ESNI has none."""
    picked = {name: GREETINGS[name] for name in ("whole", "another name", "ESNI")}
    picked |= {"ECH": (GREETINGS["ECH"][0], None), "ECH and another name": (GREETINGS["ECH and another name"][0], "sni_mismatch")}
    ran, said = greet(lab, run, picked, 8080)
    for (name, form), (what, how) in said.items():
        assert what == "echoed" if picked[name][1] is None else what[:4] == "1503", (name, form, what, how)
    assert denied(ran) == {"sni_mismatch": 4, "ech_refused": 2}


# --- limits ---

def agreed(lab, ran, limit):
    """The origin, the audit log and sallyport.internal agree, to the byte, once the origin has read what it was sent."""
    end = time.monotonic() + 15
    while not all(c.get("reason") for c in lab.connections("raw")) and time.monotonic() < end:
        time.sleep(0.1)
    assert received(lab) == ran.total("bytes_up") == ran.out["used"] <= limit, (received(lab), ran.total("bytes_up"), ran.out["used"])
    return received(lab)


SHARED = """
    def upload(i):
        s, code, _ = tunnel("raw.test:5432"); push(s, %d, %d); s.settimeout(6); how = drain(s)[1]; return [code, how]
    out["ends"] = at_once(%d, upload); time.sleep(0.5); out["used"] = internal("budgets")["upload"]["used"]
"""


@pytest.mark.parametrize("each,unit,tunnels,limit", [(40_000, 3000, 64, MIB), (400_000, 65536, 64, MIB), (16 * MIB, 262144, 8, 48 * MIB + 12345)],
                         ids=["copied", "mixed", "spliced"])
def test_tunnels_share_an_upload_budget_to_the_byte(lab, run, each, unit, tunnels, limit):
    """budget-007, budget-012. The cut tunnels' origin gets every byte that was counted, and an orderly end."""
    lab.script(5432, mode="hold")
    ran = run(f"upload: {limit}B", SHARED % (each, unit, tunnels), RULES)
    assert {code for code, _ in ran.out["ends"]} == {200}
    assert agreed(lab, ran, limit) == limit
    assert ran.limits() == {"upload"} and "budget_upload" in ran.reasons()


def test_what_fits_passes_spliced_to_the_byte(lab, run):
    """The accepting twin."""
    ran = run(f"upload: {48 * MIB}B", """
        def upload(i):
            s, code, _ = tunnel("raw.test:5432"); push(s, 6 * MIB, 262144); s.shutdown(socket.SHUT_WR); return [code, drain(s)[1]]
        out["ends"] = at_once(8, upload); out["used"] = internal("budgets")["upload"]["used"]
    """, RULES)
    assert ran.out["ends"] == [[200, "fin"]] * 8 and agreed(lab, ran, 48 * MIB) == 48 * MIB and not ran.limits()


@pytest.mark.parametrize("whose", ["task", "rule"])
def test_downloads_are_cut_to_the_byte(lab, run, whose):
    """budget-007: a busy, spliced download."""
    limit = 9 * MIB + 4321
    lab.script(5432, b"d" * (4 * MIB), trigger="data")
    code = """
        def download(i):
            s, code, _ = tunnel("raw.test:5432"); s.sendall(b"go"); data, how = drain(s); return [len(data), how]
        out["ends"] = at_once(3, download); out["budgets"] = internal("budgets")
    """
    ran = run(f"download: {limit}B", code, RULES) if whose == "task" else run(None, code, with_limits(f"{{download: {limit}B}}"))
    assert sum(size for size, _ in ran.out["ends"]) <= limit == ran.total("bytes_down") and "reset" in {how for _, how in ran.out["ends"]}
    budgets = ran.out["budgets"] if whose == "task" else ran.out["budgets"]["rules"][0]
    assert budgets["download"]["left"] == 0 and ran.limits() == {"download"} and "budget_download" in ran.reasons()
    lab.script(5432, b"d" * MIB, trigger="data", after="close")
    twin = run(f"download: {MIB}B", code.replace("at_once(3, download)", "at_once(1, download)"), RULES)
    assert twin.out["ends"] == [[MIB, "fin"]] and not twin.limits()


@pytest.mark.parametrize("after", ["close", "reset"])
def test_an_origin_that_leaves_midway_is_charged_as_handed_over(lab, run, after):
    """What the origin did not take back out of its socket was handed to it all the same; nothing more was."""
    lab.script(5432, b"bye", trigger="data", after=after)
    ran = run("upload: 64MiB", """
        s, code, _ = tunnel("raw.test:5432"); sent = push(s, 32 * MIB); out["end"] = drain(s)[1]; time.sleep(0.3)
        out["sent"] = sent; out["used"] = internal("budgets")["upload"]["used"]
    """, RULES)
    assert received(lab) <= ran.out["used"] == ran.total("bytes_up") <= ran.out["sent"] < 32 * MIB
    assert ran.out["end"] in ("reset", "fin") and not ran.limits()


@pytest.mark.parametrize("whose", ["task", "rule"])
def test_budget_010_time_ends_a_busy_tunnel(lab, run, whose):
    """budget-010: a byte every 0.2 s, and one that is spliced all the time; then both slots are free."""
    lab.script(5432, mode="echo")
    code = """
        def busy(s):
            while True: s.sendall(b"."); s.recv(10); time.sleep(0.2)
        def bulky(s):
            reader = threading.Thread(target=drain, args=(s,), daemon=True); reader.start()
            while True: s.sendall(b"b" * 262144)
        def one(i):
            s, code, _ = tunnel("raw.test:5432"); begin = time.monotonic()
            try: (busy, bulky)[i](s)
            except OSError: return [code, round(time.monotonic() - begin, 1)]
        out["ends"] = at_once(2, one); time.sleep(0.3); out["again"] = [tunnel("raw.test:5432")[1] for _ in range(2)]
        out["denials"] = sorted({d["reason"] for d in internal("denials")["recent"]})
    """
    if whose == "task":
        ran = run("connections: {duration: 2s, concurrent: 2}", code, RULES)
    else:
        ran = run(None, code, with_limits("{duration: 2s, connections: {concurrent: 2}}"))
    assert all(code == 200 and 1.8 <= took <= 3.5 for code, took in ran.out["ends"]) and ran.out["again"] == [200, 200]
    assert ran.limits() == {"connections.duration"} and ran.out["denials"] == ["budget_duration"] == sorted(ran.reasons() - {"allowed"})


@pytest.mark.parametrize("whose", ["task", "rule"])
def test_connection_counts_of_tunnels(lab, run, whose):
    """connect-016, and connections in all: the third at once, and the fourth in all, is one too many; whose limit it was is in the text."""
    lab.script(5432, mode="hold")
    limits = "{concurrent: 2, total: 3}"
    code = """
        held = [tunnel("raw.test:5432") for _ in range(2)]; out["held"] = [h[1] for h in held]
        def refused():
            s, code, data = tunnel("raw.test:5432"); return [code, problem(data + drain(s)[0])]
        out["over"] = refused(); held[0][0].close(); time.sleep(0.5); out["again"] = tunnel("raw.test:5432")[1]; held[1][0].close(); time.sleep(0.5)
        out["last"] = refused(); out["denials"] = [d["reason"] for d in internal("denials")["recent"]]
    """
    ran = run(f"connections: {limits}", code, RULES) if whose == "task" else run(None, code, with_limits(f"{{connections: {limits}}}"))
    assert ran.out["held"] == [200, 200] and ran.out["again"] == 200
    for (code, problem), reason in ((ran.out["over"], "budget_concurrent"), (ran.out["last"], "budget_connections")):
        assert code == 429 and problem["reason"] == reason and f"the {whose}'s" in problem["detail"]
    assert ran.out["denials"] == ["budget_connections", "budget_concurrent"]
    assert len(lab.connections("raw")) == 3


def test_idle_tunnels_end_and_busy_ones_stay(lab, run):
    """budget-009"""
    lab.script(5432, mode="echo")
    ran = run("idle: 2s", """
        def one(i):
            s, code, _ = tunnel("raw.test:5432"); begin = time.monotonic(); s.settimeout(0.6)
            while time.monotonic() - begin < 5:
                try:
                    if i: s.sendall(b".")
                    if not s.recv(10): break
                except socket.timeout: continue
                except OSError: break
                time.sleep(0.5)
            return round(time.monotonic() - begin, 1)
        out["took"] = at_once(2, one); out["denials"] = [d["reason"] for d in internal("denials")["recent"]]
    """, RULES)
    assert 1.8 <= ran.out["took"][0] <= 3.2 and ran.out["took"][1] >= 5 and ran.out["denials"] == ["idle"] and ran.limits() == {"idle"}


# --- ends ---

def test_connect_015_ends_are_passed_on(lab, run):
    """connect-015: a half-closed tunnel waits for a late answer; a reset takes both sides and the slot within a second, also while the client
    reads nothing and its buffers are full."""
    lab.script(5432, b"a" * MIB, trigger="eof", delay=5, after="close")
    late = run(None, """
        s, code, _ = tunnel("raw.test:5432"); s.sendall(b"request"); s.shutdown(socket.SHUT_WR); data, how = drain(s); out["late"] = [len(data), how]
    """, RULES)
    assert late.out["late"] == [MIB, "fin"] and late.total("bytes_down") == MIB and late.total("bytes_up") == 7
    lab.script(5432, b"a" * (4 * MIB), trigger="data", after="reset")
    reset = run("connections: {concurrent: 1}", """
        def one(reads):
            s, code, _ = tunnel("raw.test:5432"); s.sendall(b"request")
            if reads: data, how = drain(s)
            time.sleep(3 if not reads else 1); again = tunnel("raw.test:5432"); again[0].close(); time.sleep(0.3); return [code, again[1]]
        out["ends"] = [one(True), one(False)]
    """, RULES)
    assert reset.out["ends"] == [[200, 200]] * 2


def test_a_half_closed_tunnel_keeps_the_tail_of_its_download(lab, run):
    """connect-015: the origin has sent all and closed, and the client, which ended its stream long ago, pauses before it reads."""
    lab.script(5432, b"a" * (4 * MIB), trigger="eof", after="close")
    ran = run(None, """
        s, code, _ = tunnel("raw.test:5432"); s.sendall(b"request"); s.shutdown(socket.SHUT_WR); time.sleep(1.5)
        data, how = drain(s); out["tail"] = [len(data), how]
    """, RULES)
    assert ran.out["tail"] == [4 * MIB, "fin"] and ran.total("bytes_down") == 4 * MIB


def test_a_client_that_resets_takes_the_upstream_along(lab, run):
    lab.script(5432, mode="hold")
    ran = run("connections: {concurrent: 1}", """
        import struct
        s, code, _ = tunnel("raw.test:5432"); s.sendall(b"x" * 100); time.sleep(0.2)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); s.close(); time.sleep(1); out["again"] = tunnel("raw.test:5432")[1]
    """, RULES)
    assert ran.out["again"] == 200 and lab.connections("raw")[0]["reason"] == "client-reset"


def test_urgent_data_is_left_out_and_the_rest_arrives(lab, run):
    """Urgent bytes stop splice(2). The one that is still urgent when it is reached is not carried on; all that stands around it is, and earlier
    ones that a later one has made ordinary (RFC 6093)."""
    ran = run(None, """
        s, code, _ = tunnel("raw.test:5432")
        for n in range(300):
            s.sendall(b"u" * 20000); s.send(b"!", socket.MSG_OOB)
        s.sendall(b"end"); s.shutdown(socket.SHUT_WR); out["end"] = drain(s)[1]
    """, RULES)
    assert ran.out["end"] == "fin" and 300 * 20000 + 3 <= received(lab) == ran.total("bytes_up") < 300 * 20001 + 3

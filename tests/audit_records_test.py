"""What a run's audit log says: that it verifies, that every decision left a record, and that hostile text makes one well-formed record."""

import json
import shutil

import pytest

from process_runs import POLICY, USERS, state_of
from raw_exchanges import Send, client_hello, connect, exchange, get


@pytest.fixture
def states():
    made = []

    def make(user=None):
        made.append(state_of(user))
        return made[-1]

    yield make
    for directory in made:
        shutil.rmtree(directory, ignore_errors=True)


def records_of(state):
    return [json.loads(line) for line in (state / "audit.jsonl").read_text().splitlines()]


@USERS
def test_the_audit_log_verifies_and_a_flipped_byte_shows(sallyport, states, user):
    state = states(user)
    done = sallyport(["curl", "-s", "http://allowed.test/"], policy=POLICY, user=user, options=["--quiet", "--state", state])
    assert done.exit == 0, done
    log = state / "audit.jsonl"
    sound = sallyport.plain(["audit", "verify", str(log)], user=user)
    assert sound.exit == 0, sound
    whole = log.read_bytes()
    records = records_of(state)
    for end in done.receipt["audit"].values():
        assert records[end["sequence"] - 1]["hash"] == end["hash"], "the receipt names lines of the log"
    flipped = bytearray(whole)
    flipped[whole.index(b"allowed.test") + 2] ^= 1
    lines_of = whole.splitlines(keepends=True)
    for name, forged in {"a flipped byte": bytes(flipped), "a line taken out": b"".join(lines_of[:2] + lines_of[3:]),
                         "two lines exchanged": b"".join([lines_of[1], lines_of[0], *lines_of[2:]])}.items():
        log.write_bytes(forged)
        found = sallyport.plain(["audit", "verify", str(log)], user=user)
        assert found.exit == 1, (name, found)
    log.write_bytes(whole)
    assert sallyport.plain(["audit", "verify", str(log)], user=user).exit == 0


BUDGETED = POLICY + """  - id: few
    allow: GET http://cdn-a.test/**
    limits: {requests: 1}
  - id: short
    allow: GET http://cdn-b.test/**
    limits: {download: 64KiB}
"""


def test_lifecycle_009_every_decision_leaves_a_record(lab, sallyport, states):
    state = states()
    hello = client_hello("raw.test")
    sends = {
        "explicit allow": Send(get("http://allowed.test/explicit?secret=value-1", "allowed.test")),
        "explicit deny": Send(get("http://denied.test/explicit?secret=value-2", "denied.test")),
        "caught allow": Send(get("/caught?secret=value-3", "allowed.test"), to=("allowed.test", 80)),
        "caught deny": Send(get("/1", "198.51.100.66"), to=("198.51.100.66", 80)),
        "method deny": Send(get("/method", "allowed.test", method=b"DELETE"), to=("allowed.test", 80)),
        "tunnel allow": Send([connect("raw.test:5432"), b"ping\r\n\r\n"], pause=0.2),
        "tunnel deny": Send(connect("raw.test:22")),
        "tls allow": Send(hello, to=("raw.test", 443), seconds=1),
        "tls deny": Send(client_hello("denied.test"), to=("raw.test", 443)),
        "dns deny": Send(b"", to=("dns-denied.test", 80)),
        "request budget, first": Send(get("http://cdn-a.test/1k", "cdn-a.test")),
        "request budget, second": Send(get("http://cdn-a.test/1k", "cdn-a.test")),
        "download budget": Send(get("http://cdn-b.test/1m", "cdn-b.test")),
        "parser error": Send(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        "not HTTP": Send(b"\x00\x01\x02garbage\r\n\r\n", to=("allowed.test", 80)),
    }
    replies = dict(zip(sends, exchange_with_state(sallyport, BUDGETED, list(sends.values()), state)))
    assert [replies[k].status for k in ("explicit allow", "explicit deny", "caught allow", "caught deny", "method deny")] == [404, 403, 404, 403, 403]
    assert replies["request budget, first"].status == 200 and replies["request budget, second"].status == 429
    assert len(replies["download budget"].data) < 80_000

    text = (state / "audit.jsonl").read_text()
    assert "value-" not in text, "a query value was logged"
    records = records_of(state)
    task = next(r["task"] for r in records if r["kind"] == "task_started")
    assert all(r["task"] == task and r["time"] for r in records if r["kind"] in ("decision", "request", "tunnel", "dns"))

    def one(kind, **fields):
        found = [r for r in records if r["kind"] == kind and all(r.get(k) == v for k, v in fields.items())]
        assert found, (kind, fields, [r for r in records if r["kind"] == kind])
        return found[0]

    web = {"name_used": "allowed.test", "port": 80, "rule": "web", "verdict": "allow", "reason": "allowed"}
    one("decision", client_form="explicit", path="/explicit", method="GET", **web)
    one("decision", client_form="caught", path="/caught", method="GET", **web)
    requests = [one("request", path="/explicit", rule="web", status=404), one("request", path="/caught", rule="web", status=404)]
    assert all(r["bytes_up"] > 0 and r["bytes_down"] > 0 and "duration_us" in r for r in requests)
    dialled = {r.get("address_dialled", "") for r in requests}
    assert all(d.startswith(("198.51.100.10", "[2001:db8::10]")) for d in dialled), dialled
    denied = one("decision", verdict="deny", reason="no_rule", client_form="explicit", method="GET", path="/explicit")
    assert denied["name_used"] == "denied.test" and denied["decision_id"] == replies["explicit deny"].problem()["decision"]
    one("decision", verdict="deny", reason="literal_not_allowed", client_form="caught", destination="198.51.100.66:80")
    one("decision", verdict="deny", reason="method_not_allowed", method="DELETE", path="/method", nearest_rule="web")
    one("decision", verdict="allow", layer="connect", client_form="explicit", name_used="raw.test", port=5432, rule="raw")
    one("decision", verdict="deny", layer="connect", client_form="explicit", name_used="raw.test", port=22, reason="port_not_allowed")
    one("decision", verdict="allow", name_used="raw.test", port=443, rule="raw-tls", client_form="caught", layer="connect")
    one("decision", verdict="deny", reason="sni_mismatch", sni="denied.test", port=443)
    tunnel = one("tunnel", name_used="raw.test", port=5432)
    assert tunnel["bytes_up"] == 8 and tunnel["bytes_down"] > 0 and tunnel["address_dialled"], tunnel
    one("decision", verdict="deny", layer="dns", reason="no_rule", name_used="dns-denied.test")
    one("dns", verdict="allow", name_asked="raw.test")
    one("decision", verdict="deny", reason="budget_requests", name_used="cdn-a.test", rule="few")
    cut = one("request", name_used="cdn-b.test")
    assert cut["error"] == "budget_download" and cut["bytes_down"] <= 65536, cut
    one("decision", verdict="deny", reason="malformed", client_form="explicit")
    one("decision", verdict="deny", reason="not_http", client_form="caught", name_used="allowed.test", port=80)
    assert [r["kind"] for r in records if r["kind"].startswith("task_")] == ["task_started", "task_ended"]


def exchange_with_state(sallyport, policy, sends, state):
    return exchange(Stateful(sallyport, state), policy, sends)


class Stateful:
    """A `sallyport` that keeps its audit log where the test can read it."""

    def __init__(self, sallyport, state):
        self.sallyport, self.state = sallyport, state

    def __call__(self, command, *, options=(), **how):
        return self.sallyport(command, options=[*options, "--state", self.state], **how)


HOSTILE = [b"\x1b[2J", b"%0a", b"\xff\xfe", b'","allow":true', b"\xe2\x80\xae", b"\x7f", b"\\u000a"]


def test_lifecycle_008_hostile_text_makes_one_well_formed_record(lab, sallyport, states):
    state = states()
    sends = []
    for text in HOSTILE:
        sends += [Send(b"GET http://x" + text + b".test/a HTTP/1.1\r\nHost: x" + text + b".test\r\n\r\n"),
                  Send(b"GET http://denied.test/a" + text + b" HTTP/1.1\r\nHost: denied.test\r\n\r\n"),
                  Send(b"GE" + text + b" http://denied.test/ HTTP/1.1\r\nHost: denied.test\r\n\r\n"),
                  Send(b"CONNECT x" + text + b":443 HTTP/1.1\r\nHost: x" + text + b":443\r\n\r\n"),
                  Send(b"GET http://denied.test/ua HTTP/1.1\r\nHost: denied.test\r\nUser-Agent: " + text + b"\r\n\r\n")]
    sends += [Send(hello_with(text.ljust(8, b"x")), to=("raw.test", 443)) for text in HOSTILE]
    sends += [Send(b"GET http://denied.test/" + b"a" * (1 << 20) + b" HTTP/1.1\r\nHost: denied.test\r\n\r\n"),
              Send(get("http://denied.test/" + "b" * 4000, "denied.test")), Send(get("http://allowed.test/control", "allowed.test"))]
    replies = exchange_with_state(sallyport, POLICY, sends, state)
    assert replies[-1].status == 404
    for send, reply in zip(sends[:-1], replies[:-1]):
        assert b"\x1b" not in reply.data and (not reply.data or reply.status in (400, 403, 414, 421, 431) or reply.data[:1] == b"\x15"), (send, reply)
    raw = (state / "audit.jsonl").read_bytes()
    assert all(0x20 <= byte < 0x7f or byte == 0x0a for byte in raw), "a control byte is in the log"
    assert max(map(len, raw.splitlines())) < 8192
    records = [json.loads(line, object_pairs_hook=unique) for line in raw.splitlines()]
    assert not [r for r in records if "allow" in r]
    decisions = [r for r in records if r["kind"] == "decision"]
    # What repeats within a second is counted in one more record instead.
    refused = len([r for r in decisions if r["verdict"] == "deny"]) + sum(r["repeated"] for r in records if r["kind"] == "coalesced")
    assert refused == len(sends) - 1, (refused, len(sends) - 1)
    assert [r["name_used"] for r in decisions if r["verdict"] == "allow" and r["layer"] == "http"] == ["allowed.test"]
    assert sallyport.plain(["audit", "verify", state / "audit.jsonl"]).exit == 0
    shown = sallyport.plain(["audit", "tail", "-n", "200", state / "audit.jsonl"])
    assert shown.exit == 0 and all(0x20 <= byte < 0x7f or byte == 0x0a for byte in shown.stdout_bytes), shown
    assert lab.names_asked() == {"allowed.test"} and not lab.packets_to_unpermitted()


def unique(pairs):
    keys = [key for key, _ in pairs]
    assert len(set(keys)) == len(keys), keys
    return dict(pairs)


def hello_with(name):
    """A ClientHello whose server name is these bytes, whatever they are."""
    marker = b"m" * (len(name) - 5) + b".test"
    return client_hello(marker.decode()).replace(marker, name)

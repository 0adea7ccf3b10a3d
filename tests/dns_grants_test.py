"""What a policy can say of names beyond allowing them: `dns: [TXT, ...]`, `dns: real`, `denied: explain` and the budgets of questions
and of names. Cases: dns-003, dns-004, dns-011, dns-012, dns-013, dns-024, dns-026."""

import ipaddress
import json
import struct

from dns_inside_test import (
    A, AAAA, ANY, HTTPS, MX, NOERROR, NXDOMAIN, PTR, REFUSED, SERVFAIL, SRV, TXT, Ask, ask, is_answer, is_denial, log_of, query, state,  # noqa: F401
)
from raw_exchanges import Send, client_hello, connect, exchange, get


def policy(*rules, **settings):
    text = "policy: grants/1\nrules:\n" + "".join(f"  - {rule}\n" for rule in rules)
    return text + "".join(f"{key}: {value}\n" for key, value in settings.items())


def read_answers(raw):
    """(type, RDATA) of the answer section."""
    questions, answers = struct.unpack("!2H", raw[4:8])
    at, out = 12, []

    def skip(at):
        while raw[at] and raw[at] < 0xC0:
            at += raw[at] + 1
        return at + (2 if raw[at] else 1)

    for _ in range(questions):
        at = skip(at) + 4
    for _ in range(answers):
        at = skip(at)
        kind, _, _, size = struct.unpack("!HHIH", raw[at : at + 10])
        out.append((kind, raw[at + 10 : at + 10 + size]))
        at += 10 + size
    return out


# --- budgets ---


def test_dns_003_distinct_names_are_bounded(lab, sallyport, state):  # noqa: F811
    rules = policy("allow: http://*.allowed.test/**", "allow: http://other-allowed.test/**", budgets="{dns: {names: 50}}")
    names = [f"{n:032x}.allowed.test" for n in range(200)]
    asks = [Ask(query(n)) for n in names[:50]]
    asks += [Ask(query(n, t), tcp=tcp) for n in names[50:] for t, tcp in [(A, False)]]
    asks += [Ask(query(names[0].upper(), AAAA)), Ask(query(names[49] + "."), tcp=True), Ask(query(names[60], AAAA)), Ask(query(names[61]), tcp=True)]
    asks += [Ask(query("denied.test")), Ask(query("localhost")), Ask(query("sallyport.internal"))]
    replies = ask(sallyport, asks, policy=rules, options=["--state", state])
    assert sum(map(is_answer, replies[:200])) == 50 and all(map(is_answer, replies[200:202])), "repeats cost nothing"
    over = [r for r in replies[:204] if not is_answer(r)]
    assert len(over) == 152 and all(r.rcode == REFUSED and r.errors[0][1].startswith("budget_names") for r in over)
    assert is_denial(replies[204]) and replies[205].addresses and replies[206].addresses, "what is no name of the task's costs none"
    assert not lab.packets()
    told = {r["name_used"] for r in log_of(state) if r.get("reason") == "budget_names"}
    assert len(told) == 150 or sum(r.get("repeated", 0) for r in log_of(state)) > 0


def test_dns_003_names_that_are_connected_to_count_too(lab, sallyport):
    rules = policy("allow: http://*.wild.allowed.test/**", "allow: tcp://*.bench.test:80", budgets="{dns: {names: 2}}")
    replies = exchange(sallyport, rules, [
        Send(get("http://one.wild.allowed.test/", "one.wild.allowed.test")), Send(connect("two.bench.test:80")),
        Send(get("http://three.wild.allowed.test/", "three.wild.allowed.test")), Send(connect("four.bench.test:80")),
        Send(get("/", "five.wild.allowed.test"), to=("five.wild.allowed.test", 80)),
        Send(get("http://one.wild.allowed.test/", "one.wild.allowed.test")), Send(connect("two.bench.test:80"))])
    assert [r.status for r in replies] == [200, 200, 429, 429, None, 200, 200]
    assert replies[2].problem()["reason"] == "budget_names" and replies[4].end == "unresolved"
    assert lab.names_asked() == {"one.wild.allowed.test", "two.bench.test"}


def test_questions_are_bounded(lab, sallyport):
    rules = policy("allow: http://allowed.test/**", budgets="{dns: {queries: 10}}")
    replies = ask(sallyport, [Ask(query("allowed.test", t)) for t in (A, AAAA, HTTPS, A, A)] + [Ask(query("denied.test"))] * 10 +
                  [Ask(query("allowed.test"), tcp=True)], policy=rules)
    over = [r for r in replies if r.rcode == REFUSED]
    assert len(over) == 6 and all(r.errors[0][1].startswith("budget_queries") for r in over)
    assert not lab.packets()


# --- denied: explain ---


def test_denied_names_lead_to_a_readable_refusal(lab, sallyport, state):  # noqa: F811
    rules = policy("allow: http://allowed.test/**", denied="explain")
    replies = ask(sallyport, [Ask(query("denied.test")), Ask(query("DENIED.test", AAAA)), Ask(query("denied.test", HTTPS)), Ask(query("denied.test", TXT)),
                              Ask(query("metadata.google.internal")), Ask(query("x.onion")), Ask(query("allowed.test"))], policy=rules, options=["--state", state])
    assert is_answer(replies[0]) and is_answer(replies[1]) and is_answer(replies[6])
    assert replies[0].errors[0][0] == 4 and "no_rule" in replies[0].errors[0][1]
    assert [r.rcode for r in replies[2:4]] == [NOERROR, NOERROR] and not replies[2].types and not replies[3].types
    assert is_denial(replies[4]) and is_denial(replies[5]), "the floor and special names stay"
    assert [r["name_used"] for r in log_of(state) if r.get("layer") == "dns" and r["reason"] == "no_rule"][0] == "denied.test"

    http, tls, other, allowed = exchange(sallyport, rules, [
        Send(get("/secret", "denied.test"), to=("denied.test", 80)), Send(client_hello("denied.test"), to=("denied.test", 443)),
        Send(b"SSH-2.0-x\r\n", to=("denied.test", 22)), Send(get("/", "allowed.test"), to=("allowed.test", 80))])
    assert http.status == 403 and http.problem()["reason"] == "no_rule" and "denied.test" in json.dumps(http.problem())
    assert tls.data[:1] == b"\x15" and other.data == b"" and other.end in ("reset", "fin")
    assert allowed.status == 200
    assert lab.names_asked() == {"allowed.test"} and not lab.packets(dst="198.51.100.66")


def test_explained_names_count_and_are_bounded(lab, sallyport):
    rules = policy("allow: http://*.allowed.test/**", denied="explain", budgets="{dns: {names: 20}}")
    replies = ask(sallyport, [Ask(query(f"n{n}.denied.test")) for n in range(40)] + [Ask(query("n3.denied.test")), Ask(query("new.allowed.test"))], policy=rules)
    assert all(map(is_answer, replies[:20])) and all(map(is_denial, replies[20:40])) and is_answer(replies[40])
    assert replies[41].rcode == REFUSED, "they count against the same budget"
    assert not lab.packets()


# --- dns: [TXT, ...] ---


def test_dns_004_records_of_a_granted_type_are_the_true_ones(lab, sallyport, state):  # noqa: F811
    lab.zone("allowed.test", "TXT", ["v=one", "two"])
    lab.zone("allowed.test", "MX", ["000a" + b"\x04mail\x06denied\x04test\x00".hex()])
    lab.zone("denied.test", "TXT", ["from the outside"])
    lab.zone("alias.test", "CNAME", ["denied.test"])
    lab.zone("other-allowed.test", "TXT", ["never"])
    rules = policy("{allow: 'http://allowed.test/**', dns: [TXT, MX]}", "{allow: 'tls://alias.test', dns: [TXT]}", "allow: http://other-allowed.test/**")
    secret = b"\0" + struct.pack("!HHIH", 41, 1232, 0, 24) + struct.pack("!HH", 65001, 20) + b"stolen-by-edns-12345"
    replies = ask(sallyport, [
        Ask(query("allowed.test", TXT)), Ask(query("ALLOWED.test", TXT), tcp=True), Ask(query("allowed.test", MX, edns=secret)), Ask(query("alias.test", TXT)),
        Ask(query("allowed.test", SRV)), Ask(query("other-allowed.test", TXT)), Ask(query("denied.test", TXT)), Ask(query("x.allowed.test", TXT)),
        Ask(query("allowed.test", ANY)), Ask(query("allowed.test"))], policy=rules, options=["--state", state])
    texts = [{data for _, data in read_answers(r.raw)} for r in replies]
    assert texts[0] == texts[1] == {b"\x05v=one", b"\x03two"}, replies[0]
    assert [(kind, data.lower()) for kind, data in read_answers(replies[2].raw)] == [(MX, b"\x00\x0a\x04mail\x06denied\x04test\x00")]
    assert read_answers(replies[3].raw) == [(TXT, b"\x10from the outside")], "an alias does not show; its end is what was granted"
    for reply in replies[4:6]:
        assert reply.rcode == NOERROR and not reply.types and "record_type_not_allowed" in reply.errors[0][1]
    assert is_denial(replies[6]) and is_denial(replies[7]) and replies[8].rcode == REFUSED and is_answer(replies[9])
    asked = {((q["name"] or "").lower(), q["type"]) for q in lab.records("dns")}
    assert asked == {("allowed.test", "TXT"), ("allowed.test", "MX"), ("alias.test", "TXT")}, asked
    assert all(b"stolen" not in bytes.fromhex(q["message"]) for q in lab.records("dns"))
    assert not lab.packets_to_unpermitted()
    allowed = [r for r in log_of(state) if r["kind"] == "dns" and r["verdict"] == "allow"]
    assert len(allowed) >= 4, "what was looked up is on file"


def test_dns_026_many_records_fit_a_stream(lab, sallyport):
    lab.zone("allowed.test", "TXT", [f"{n:03d}" + "x" * 200 for n in range(30)], tc=True)
    rules = policy("{allow: 'http://allowed.test/**', dns: [TXT]}")
    by_udp, by_tcp = ask(sallyport, [Ask(query("allowed.test", TXT)), Ask(query("allowed.test", TXT), tcp=True)], policy=rules)
    assert by_udp.raw[2] & 0x02 and not by_udp.types, "truncated: the client asks again"
    assert len(read_answers(by_tcp.raw)) == 30
    dig = sallyport(["dig", "+short", "allowed.test", "TXT"], policy=rules, options=["--quiet"])
    assert len(dig.stdout.splitlines()) == 30, dig


def test_what_fails_upstream_fails_here(lab, sallyport):
    rules = policy("{allow: 'tls://servfail.test', dns: [TXT, real]}", "{allow: 'tls://nx.test', dns: [TXT, real]}", "{allow: 'tls://allowed.test', dns: [TXT]}")
    replies = ask(sallyport, [Ask(query(n, t)) for n in ("servfail.test", "nx.test") for t in (TXT, A)] + [Ask(query("allowed.test", TXT))], policy=rules)
    assert [r.rcode for r in replies] == [SERVFAIL, SERVFAIL, NXDOMAIN, NXDOMAIN, NOERROR]
    assert not any(r.types for r in replies)


# --- dns: real ---

REAL = policy("{allow: 'http://allowed.test/**', dns: real}", "{allow: 'tcp://other-allowed.test:80', dns: real}", "{allow: 'tcp://mixed.test:80', dns: real}",
              "{allow: 'tls://private.test', dns: real}", "allow: http://api.test/**")


def test_names_with_true_addresses(lab, sallyport, state):  # noqa: F811
    replies = ask(sallyport, [Ask(query("allowed.test")), Ask(query("allowed.test", AAAA), tcp=True), Ask(query("mixed.test")), Ask(query("private.test")),
                              Ask(query("api.test")), Ask(query("10.100.51.198.in-addr.arpa", PTR))], policy=REAL, options=["--state", state])
    assert [str(a) for a in replies[0].addresses] == ["198.51.100.10"] and [str(a) for a in replies[1].addresses] == ["2001:db8::10"]
    for reply, word in ((replies[2], "private"), (replies[3], "private")):  # dns-011, dns-012
        assert reply.rcode == SERVFAIL and not reply.types and "address_refused" in reply.errors[0][1] and word in reply.errors[0][1]
    assert is_answer(replies[4]) and is_denial(replies[5])
    assert lab.names_asked() == {"allowed.test", "mixed.test", "private.test"}


def test_connections_to_true_addresses_are_for_the_name(lab, sallyport):
    code = ["sh", "-c", "curl --noproxy '*' -s http://allowed.test/; echo; curl --noproxy '*' -s -o /dev/null -w '%{http_code}\\n' -H 'Host: denied.test' http://allowed.test/; "
            "curl --noproxy '*' -s -o /dev/null -w '%{remote_ip}\\n' http://other-allowed.test/; curl --noproxy '*' -s -m 3 -o /dev/null -w '%{http_code}\\n' http://198.51.100.20/; "
            "curl --noproxy '*' -s -o /dev/null -w '%{http_code}\\n' http://allowed.test/1k -H 'Host: allowed.test:80'"]
    done = sallyport(code, policy=REAL, options=["--quiet"])
    lines = done.stdout.split()
    assert lines[:3] == ["hello", "from", "allowed.test"], done
    assert lines[3] == "421", "dns-024: the address is shared by nothing but the name it was given for"
    assert ipaddress.ip_address(lines[4]) in (ipaddress.ip_address("198.51.100.11"), ipaddress.ip_address("2001:db8::11"))
    assert lines[5] in ("403", "000") and lines[6] == "200", done
    assert not lab.packets(dst="198.51.100.20") and not lab.packets_to_unpermitted()


def test_dns_024_names_that_share_a_true_address(lab, sallyport):
    rules = policy("{allow: 'http://cdn-a.test/**', dns: real}", "{allow: 'http://cdn-b.test/1k', dns: real}", "{allow: 'tls://cdn-a.test', dns: real}",
                   "{allow: 'tls://cdn-b.test', dns: real}", "{allow: 'tcp://cdn-a.test:8080', dns: real}", "{allow: 'tcp://cdn-b.test:8080', dns: real}")
    lab.zone("denied.test", "A", ["198.51.100.12"])
    shared = ("198.51.100.12", 80)
    replies = exchange(sallyport, rules, [
        Send(get("/", "cdn-a.test"), to=("cdn-a.test", 80)), Send(get("/1k", "cdn-b.test"), to=("cdn-b.test", 80)),  # both are known now
        Send(get("/", "cdn-a.test"), to=shared), Send(get("/1k", "cdn-b.test"), to=shared), Send(get("/", "cdn-b.test"), to=shared),
        Send(get("/", "denied.test"), to=shared), Send([b"GET /1k HTTP/1.1\r\nHo", b"st: cdn-b.test\r\n\r\n"], to=shared),
        Send(client_hello("cdn-b.test"), to=("198.51.100.12", 443), seconds=3), Send(client_hello("denied.test"), to=("198.51.100.12", 443)),
        Send(client_hello(None), to=("198.51.100.12", 443)), Send(b"\x00\x01binary", to=("198.51.100.12", 8080), seconds=2)])
    assert [r.status for r in replies[:7]] == [200, 200, 200, 200, 403, 421, 200], replies
    assert replies[4].problem()["reason"] == "path_not_allowed" and replies[5].problem()["reason"] == "host_mismatch"
    assert replies[7].data[:1] == b"\x16", "a server's greeting"
    assert replies[8].data[:1] == b"\x15" and replies[9].data[:1] == b"\x15", "alerts"
    assert replies[10].data == b"" and not lab.packets(dport=8080)
    assert {p["dst"] for p in lab.packets(proto="tcp") if p.get("dport") in (80, 443)} == {"198.51.100.12"}, "only the address that was chosen"


def test_a_true_address_that_was_not_given_is_an_address_like_any_other(lab, sallyport):
    direct, by_name, direct_again, by_proxy = exchange(sallyport, REAL, [
        Send(get("/", "allowed.test"), to=("198.51.100.10", 80)), Send(get("/", "allowed.test"), to=("allowed.test", 80)),
        Send(get("/", "allowed.test"), to=("198.51.100.10", 80)), Send(get("http://allowed.test/", "allowed.test"))])
    assert [r.status for r in (direct, by_name, direct_again, by_proxy)] == [403, 200, 200, 200]
    assert direct.problem()["reason"] == "literal_not_allowed"

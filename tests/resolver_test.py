"""sallyport-resolver, the process, against scripted servers on loopback. Cases: dns-005, 011, 012, 013, 023, 025, 026."""

import dataclasses
import os
import socket
import struct
import threading
import time

import pytest
from miniature import dnswire
from resolver_driver import HERE, RESOLVER_UID, ResolverProcess, ScriptedDns, address_server, field, records, wait_until

PUBLIC = "8.8.4.4"
PUBLIC6 = "2606:4700::1111"


@pytest.fixture
def resolving(binaries):
    """Starts servers and a resolver: resolving(answer, answer, ..., **options of ResolverProcess)."""
    made = []

    def start(*answers, servers=None, **options):
        dns = [ScriptedDns(answer) for answer in answers]
        made.extend(each.close for each in dns)
        addresses = [each.address for each in dns] if servers is None else servers
        resolver = ResolverProcess(binaries.path("sallyport-resolver"), addresses, **options)
        made.append(lambda: resolver.process.poll() is None and resolver.end())
        return (resolver, *dns)

    yield start
    for close in reversed(made):
        close()


def test_resolves_both_families_at_once(resolving):
    resolver, dns = resolving(address_server([PUBLIC], [PUBLIC6], ttl=30))
    reply = resolver.resolve("www.allowed.test")
    assert (reply.status, reply.addresses, reply.ttl) == ("OK", [PUBLIC6, PUBLIC], 30)
    assert sorted(t for _, t, *_ in dns.asked) == ["A", "AAAA"]
    only4 = resolver.resolve("www.allowed.test", v6=False)
    assert only4.addresses == [PUBLIC]
    only6 = resolver.resolve("www.allowed.test", v4=False)
    assert only6.addresses == [PUBLIC6]


def test_ends_with_its_control_channel(resolving):
    resolver, _ = resolving(address_server([PUBLIC]))
    assert resolver.ready
    assert resolver.end() == (0, "")


def test_ends_on_a_second_control_message(resolving):
    resolver, _ = resolving(address_server([PUBLIC]))
    resolver.control.send(b"\x08\x01")
    assert resolver.process.wait(5) == 1


@pytest.mark.parametrize(
    "start",
    [b"\xff\xff", field(1, "not an address"), field(1, "127.0.0.1:0"), field(1, "127.0.0.1") + field(5, "10.0.0.1/8"), field(99, 1)],
)
def test_refuses_a_bad_start(resolving, start):
    resolver, = resolving(servers=[], start=start)
    assert resolver.ready == b""
    assert resolver.process.wait(5) == 1


def test_is_confined(resolving):
    resolver, _ = resolving(address_server([PUBLIC]))
    status = resolver.status()
    assert (status["Seccomp"], status["NoNewPrivs"], int(status["CapEff"], 16)) == ("2", "1", 0)
    if os.geteuid() == 0:
        assert status["Uid"].split() == [str(RESOLVER_UID)] * 4
    assert resolver.resolve("after.confinement.test").status == "OK"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become an ordinary user")
def test_is_confined_for_an_ordinary_user(resolving):
    resolver, _ = resolving(address_server([PUBLIC]), user="ordinary")
    status = resolver.status()
    assert (status["Seccomp"], status["NoNewPrivs"], int(status["CapEff"], 16)) == ("2", "1", 0)
    assert resolver.resolve("after.confinement.test").status == "OK"


# dns-005
def test_question_is_written_from_scratch(resolving):
    resolver, dns = resolving(address_server([PUBLIC]))
    names = [f"abcdefghijklmnopqrstuvwxyz{i}.test" for i in range(8)]
    for name in names:
        assert resolver.resolve(name).status == "OK"
    queries = [query for *_, query, _ in dns.asked]
    assert all(query.edns_options == b"" and query.edns_size == 1232 for query in queries)
    assert len({query.id for query in queries}) > 12
    assert len({port for *_, port in dns.asked}) > 12  # a source port of its own for each
    assert any(query.name != query.name.lower() for query in queries)


# dns-011
@pytest.mark.parametrize(
    "address, word",
    [("10.0.0.5", "private"), ("169.254.169.254", "metadata"), ("127.0.0.1", "loopback"),
     ("100.64.0.1", "carrier-grade-nat"), ("0.0.0.0", "unspecified")],
)
def test_withholds_addresses_refused_by_class(resolving, address, word):
    resolver, _ = resolving(address_server([address]))
    reply = resolver.resolve("allowed.test")
    assert (reply.status, reply.addresses) == ("REFUSED_ADDRESS", [])
    assert address in reply.detail and word in reply.detail


# dns-012
@pytest.mark.parametrize(
    "v4, v6",
    [([PUBLIC, "10.0.0.5"], []), (["10.0.0.5", PUBLIC], []), ([PUBLIC], ["fd00::1"]), ([PUBLIC], [PUBLIC6, "::ffff:8.8.8.8"]),
     ([f"8.8.4.{i}" for i in range(40)] + ["10.0.0.5"], [])],
)
def test_one_refused_address_refuses_the_name(resolving, v4, v6):
    resolver, _ = resolving(address_server(v4, v6))
    reply = resolver.resolve("allowed.test")
    assert (reply.status, reply.addresses) == ("REFUSED_ADDRESS", [])


def test_permitted_range_is_given(resolving):
    resolver, _ = resolving(address_server([PUBLIC, "10.0.0.5"]), permit=["10.0.0.0/24"])
    assert resolver.resolve("allowed.test").addresses == [PUBLIC, "10.0.0.5"]


# dns-013
@pytest.mark.parametrize("address, status", [("10.1.1.1", "REFUSED_ADDRESS"), (PUBLIC, "OK")])
def test_checks_the_end_of_a_cname_chain(resolving, address, status):
    def answer(query, _):
        target = dnswire.encode_name("db.internal.test")
        chain = dnswire.record(HERE, "CNAME", 60, target)
        return [dnswire.response(query, answers=[chain] + records(query, [address], owner=target))]

    resolver, dns = resolving(answer)
    assert resolver.resolve("allowed.test").status == status
    assert dns.count("db.internal.test") == 0


# dns-023
def test_zero_ttl_is_used_once(resolving):
    addresses = iter([PUBLIC])

    def answer(query, _):
        if query.qtype != dnswire.TYPES["A"]:
            return [dnswire.response(query)]
        return [dnswire.response(query, answers=records(query, [next(addresses, "127.0.0.1")], ttl=0))]

    resolver, dns = resolving(answer)
    first = resolver.resolve("allowed.test")
    assert (first.status, first.addresses, first.ttl) == ("OK", [PUBLIC], 0)
    second = resolver.resolve("allowed.test")
    assert (second.status, second.addresses) == ("REFUSED_ADDRESS", [])
    assert dns.count("allowed.test", "A") == 2


def test_keeps_an_answer_for_its_ttl_and_no_longer_than_a_minute(resolving):
    resolver, dns = resolving(address_server([PUBLIC], [PUBLIC6], ttl=86400))
    assert resolver.resolve("allowed.test").ttl == 60
    for _ in range(3):
        assert 58 <= resolver.resolve("allowed.test").ttl <= 60
    assert dns.count("allowed.test", "A") == 1


def test_asks_again_after_the_ttl(resolving):
    resolver, dns = resolving(address_server([PUBLIC], [PUBLIC6], ttl=1))
    resolver.resolve("allowed.test")
    time.sleep(1.1)
    resolver.resolve("allowed.test")
    assert dns.count("allowed.test", "A") == 2


# dns-025
def test_ignores_replies_to_other_questions(resolving):
    def answer(query, _):
        other = dnswire.encode_name("allowee.test") + query.question[-4:]
        bank = dnswire.record(dnswire.encode_name("bank.test"), "A", 60, dnswire.encode_rdata("A", "9.9.9.9"))
        return [
            dnswire.response(query, ident=query.id ^ 1, answers=records(query, ["9.9.9.9"], ["2620:fe::9"])),
            dnswire.response(query, question=other, answers=records(query, ["9.9.9.9"], ["2620:fe::9"])),
            dnswire.response(query, answers=[bank] + records(query, [PUBLIC], [PUBLIC6])),
        ]

    resolver, dns = resolving(answer)
    assert sorted(resolver.resolve("allowed.test").addresses) == sorted([PUBLIC, PUBLIC6])
    resolver.resolve("bank.test")
    assert dns.count("bank.test") == 2  # nothing about it was kept


def test_asks_again_over_tcp_when_the_case_is_not_echoed(resolving):
    def answer(query, transport):
        question = query.question.lower() if transport == "udp" else query.question
        address = "9.9.9.9" if transport == "udp" else PUBLIC
        return [dnswire.response(query, question=question, answers=records(query, [address]))]

    resolver, dns = resolving(answer)
    name = "abcdefghijklmnopqrstuvwxyz.allowed.test"
    assert resolver.resolve(name).addresses == [PUBLIC]
    assert dns.count(name, "A", "tcp") == 1


# dns-026
def test_retries_over_tcp_and_caps_the_addresses(resolving):
    addresses = [f"8.8.4.{i}" for i in range(60)]

    def answer(query, transport):
        return [dnswire.response(query, answers=records(query, addresses), truncated=transport == "udp" and query.qtype == 1)]

    resolver, dns = resolving(answer)
    reply = resolver.resolve("allowed.test")
    assert reply.addresses == addresses[:16]
    assert dns.count("allowed.test", "A", "tcp") == 1


TXT, MX, CNAME = 16, 15, 5


def record(kind, owner, data, ttl=60):
    return owner + struct.pack("!HHIH", kind, 1, ttl, len(data)) + data


def test_records_are_written_anew(resolving):
    mail = dnswire.encode_name("mail.allowed.test")

    def answer(query, _):
        bank = dnswire.encode_name("bank.test")
        chain = [record(CNAME, HERE, b"\x04deep\xc0\x0c", ttl=20)]
        deep = b"\x04deep\xc0\x0c"
        data = {TXT: b"\x03yes\x00", MX: b"\x00\x0a\x04mail" + HERE}[query.qtype]
        return [dnswire.response(query, answers=chain + [record(query.qtype, deep, data), record(query.qtype, bank, data), record(query.qtype, HERE, data)])]

    resolver, dns = resolving(answer)
    txt = resolver.resolve("allowed.test", records=TXT)
    assert (txt.status, txt.records, txt.ttl, txt.addresses) == ("OK", [b"\x03yes\x00"], 20, [])
    assert resolver.resolve("allowed.test", records=MX).records[0].lower() == b"\x00\x0a" + mail, "names come out whole"
    assert resolver.resolve("allowed.test", records=TXT).records == txt.records
    assert dns.count("allowed.test") == 2, "one question a type, the second is kept"
    assert all(query.edns_options == b"" for *_, query, _ in dns.asked)


@pytest.mark.parametrize("data", [b"", b"\x05four", b"\x01a\x09"])
def test_a_malformed_record_is_a_failure(resolving, data):
    resolver, dns = resolving(lambda query, _: [dnswire.response(query, answers=[record(TXT, HERE, data)])])
    assert resolver.resolve("allowed.test", records=TXT).status == "SERVFAIL"
    assert resolver.process.poll() is None
    assert resolver.resolve("allowed.test", records=TXT).status == "SERVFAIL"
    assert dns.count("allowed.test", transport="udp") == 1, "a failure is kept for a moment"


def test_many_records_come_by_tcp_and_too_many_not_at_all(resolving):
    def answer(query, transport):
        count = 200 if query.name.lower().startswith("much") else 40
        texts = [record(TXT, HERE, b"\xc8" + b"%03d" % n + b"x" * 197) for n in range(count)]
        return [dnswire.response(query, answers=texts, truncated=transport == "udp")] if transport == "tcp" else [dnswire.response(query, truncated=True)]

    resolver, _ = resolving(answer)
    assert len(resolver.resolve("some.test", records=TXT).records) == 40
    assert resolver.resolve("much.test", records=TXT).status == "SERVFAIL"


@pytest.mark.parametrize("records", [1, 28, 64, 65, 255, 252, 12, 65536 + 16])
def test_closes_the_channel_of_a_proxy_that_asks_for_other_types(resolving, records):
    resolver, dns = resolving(address_server([PUBLIC]))
    resolver.ask("allowed.test", records=records)
    assert resolver.proxy.recv(100) == b""
    assert dns.asked == []


def test_manages_with_servers_that_do_not_know_edns(resolving):
    def answer(query, _):
        bare = dataclasses.replace(query, edns_size=None)
        if query.edns_size is not None:
            return [dnswire.response(bare, rcode="FORMERR")]
        return [dnswire.response(bare, answers=records(query, [PUBLIC], [PUBLIC6]))]

    resolver, _ = resolving(answer)
    assert sorted(resolver.resolve("allowed.test").addresses) == sorted([PUBLIC, PUBLIC6])


def test_survives_malformed_replies(resolving):
    def answer(query, _):
        good = dnswire.response(query, answers=records(query, [PUBLIC], [PUBLIC6]))
        return [good[:-3]]

    resolver, _ = resolving(answer)
    assert resolver.resolve("broken.test").status == "SERVFAIL"
    assert resolver.process.poll() is None


def test_tells_missing_names_from_empty_ones(resolving):
    def answer(query, _):
        return [dnswire.response(query, rcode="NXDOMAIN" if query.name.lower().startswith("gone") else "NOERROR")]

    resolver, _ = resolving(answer)
    assert resolver.resolve("gone.test").status == "NXDOMAIN"
    assert resolver.resolve("empty.test").status == "NODATA"


def test_moves_on_from_a_silent_server(resolving):
    resolver, silent, good = resolving(lambda query, _: [], address_server([PUBLIC]))
    begun = time.monotonic()
    assert resolver.resolve("one.test").addresses == [PUBLIC]
    assert time.monotonic() - begun < 2
    asked = len(silent.asked)
    assert asked >= 1
    assert resolver.resolve("two.test").addresses == [PUBLIC]
    assert len(silent.asked) == asked  # the one that answered is asked first now
    assert good.count("two.test") == 2


@pytest.mark.parametrize("rcode", ["SERVFAIL", "REFUSED"])
def test_moves_on_from_a_failing_server(resolving, rcode):
    resolver, _, _ = resolving(lambda query, _: [dnswire.response(query, rcode=rcode)], address_server([PUBLIC]))
    assert resolver.resolve("allowed.test").addresses == [PUBLIC]


def test_moves_on_from_a_closed_port(resolving):
    free = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    free.bind(("127.0.0.1", 0))
    closed = "127.0.0.1:%d" % free.getsockname()[1]
    free.close()
    dns = ScriptedDns(address_server([PUBLIC]))
    try:
        resolver, = resolving(servers=[closed, dns.address])
        assert resolver.resolve("allowed.test").addresses == [PUBLIC]
    finally:
        dns.close()


def test_gives_up_at_the_deadline(resolving):
    resolver, _ = resolving(lambda query, _: [], total_ms=600, try_ms=200)
    begun = time.monotonic()
    assert resolver.resolve("allowed.test").status == "TIMEOUT"
    assert 0.5 < time.monotonic() - begun < 1.5


def test_does_not_wait_long_for_the_second_family(resolving):
    def answer(query, _):
        return [dnswire.response(query, answers=records(query, [PUBLIC]))] if query.qtype == 1 else []

    resolver, dns = resolving(answer)
    begun = time.monotonic()
    reply = resolver.resolve("allowed.test")
    assert (reply.addresses, reply.ttl) == ([PUBLIC], 0)
    assert time.monotonic() - begun < 1.5
    resolver.resolve("allowed.test")
    assert dns.count("allowed.test", "A") == 2


def test_one_question_upstream_for_many_askers(resolving):
    gate = threading.Event()

    def answer(query, _):
        gate.wait(5)
        return [dnswire.response(query, answers=records(query, [PUBLIC]))]

    resolver, dns = resolving(answer, try_ms=2000)
    numbers = {resolver.ask("allowed.test") for _ in range(50)}
    gate.set()
    replies = [resolver.reply() for _ in numbers]
    assert {reply.id for reply in replies} == numbers
    assert {reply.status for reply in replies} == {"OK"}
    assert dns.count("allowed.test", "A") == 1


def test_answers_overloaded_past_its_limit(resolving):
    resolver, _ = resolving(lambda query, _: [], max_in_flight=4, total_ms=500, try_ms=200)
    numbers = [resolver.ask(f"n{i}.test") for i in range(6)]
    statuses = {reply.id: reply.status for reply in (resolver.reply() for _ in numbers)}
    assert [statuses[n] for n in numbers] == ["TIMEOUT"] * 4 + ["OVERLOADED"] * 2
    assert resolver.resolve("later.test").status == "TIMEOUT"  # there is room again


def test_leaves_no_descriptor_behind(resolving):
    resolver, _ = resolving(address_server([PUBLIC], [PUBLIC6], ttl=0))
    resolver.resolve("first.test")
    before = resolver.descriptors()
    for burst in range(4):
        numbers = [resolver.ask(f"n{burst}-{i}.test") for i in range(50)]
        for _ in numbers:
            assert resolver.reply().status == "OK"
    wait_until(lambda: resolver.descriptors() <= before)


@pytest.mark.parametrize("frame", [field(2, "UPPER.test"), field(2, "a..b"), field(2, "a\x1b.test"), field(2, ""), b"\xff", field(9, 1)])
def test_closes_the_channel_of_a_proxy_that_misbehaves(resolving, frame):
    resolver, dns = resolving(address_server([PUBLIC]))
    resolver.proxy.send(frame)
    assert resolver.proxy.recv(100) == b""
    assert dns.asked == []
    code, stderr = resolver.end()
    assert code == 0
    assert "channel is closed" in stderr and "\x1b" not in stderr


def test_outlives_a_proxy_that_does_not_read(resolving):
    resolver, _ = resolving(address_server([PUBLIC], [PUBLIC6]))
    resolver.resolve("allowed.test")
    resolver.proxy.settimeout(0.3)
    sent = 0
    with pytest.raises((socket.timeout, BlockingIOError, BrokenPipeError)):
        for _ in range(20000):
            resolver.ask("allowed.test")
            sent += 1
    resolver.proxy.settimeout(10)
    assert [resolver.reply().status for _ in range(sent)] == ["OK"] * sent

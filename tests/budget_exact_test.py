"""Budgets under pressure, to the byte, for clear HTTP: what 64 clients at once get out of one budget, what a retry costs (budget-013), what
compression (budget-003, budget-004), interim answers and trailers (budget-006) and ranges (budget-005) count as, and where each limit is told.

Bytes are the payload of the upstream connections: heads, framing and all. Where a budget cuts an upload the upstream connection is reset, so
the origin may get less than was charged, never more."""

import gzip
import os
import re

import pytest

from budget_runs import MIB, received, with_limits


def test_64_uploads_at_once_are_what_the_origin_got_and_the_audit_says(lab, run):
    """budget-001, budget-002, budget-012: half of them chunked. What does not fit is refused or cut; what was answered arrived whole."""
    ran = run("upload: 1MiB", """
        def upload(i):
            if i % 2: data, how = ask("http://echo.test/", "POST", "Content-Length: 30000\\r\\n", b"x" * 30000)
            else: data, how = ask("http://echo.test/", "POST", "Transfer-Encoding: chunked\\r\\n", b"7530\\r\\n" + b"c" * 30000 + b"\\r\\n0\\r\\n\\r\\n")
            return [status(data), problem(data)["reason"] if status(data) == 413 else None]
        out["ends"] = at_once(64, upload); out["used"] = internal("budgets")["upload"]
    """)
    statuses = [code for code, _ in ran.out["ends"]]
    assert 5 <= statuses.count(200) <= 34 and set(statuses) == {200, 413} and {why for _, why in ran.out["ends"]} == {None, "budget_upload"}
    arrived = [c["data"] for c in lab.connections("echo")]
    whole = sum(data.count(b"x" * 30000) + data.count(b"\r\n0\r\n\r\n") for data in arrived)
    assert whole == statuses.count(200), "of what was cut nothing ends like a whole request"
    assert received(lab, "echo") <= ran.total("bytes_up") == ran.out["used"]["used"] <= MIB
    assert sum(r["bytes_up"] for r in ran.records if r["kind"] == "request" and r.get("status") == 200) <= received(lab, "echo")


def test_64_uploads_of_stated_length_are_exact(lab, run):
    ran = run("upload: 1MiB", """
        codes = at_once(64, lambda i: status(ask("http://echo.test/%02d" % i, "POST", "Content-Length: 30000\\r\\n", b"x" * 30000)[0]))
        out["ok"] = codes.count(200); out["refused"] = codes.count(413); out["used"] = internal("budgets")["upload"]["used"]
    """)
    arrived = received(lab, "echo")
    one = arrived // ran.out["ok"]
    assert ran.out["ok"] == MIB // one and ran.out["ok"] + ran.out["refused"] == 64
    assert arrived == one * ran.out["ok"] == ran.total("bytes_up") == ran.out["used"] <= MIB


def test_64_downloads_at_once_share_one_budget(lab, run):
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 40000\r\n\r\n" + b"d" * 40000
    lab.script(80, answer)
    ran = run("download: 1MiB", """
        def get(i):
            data, how = ask("http://raw.test/"); whole = len(data.split(b"\\r\\n\\r\\n", 1)[-1]) == 40000 if status(data) == 200 else None
            return [status(data), whole, how]
        out["ends"] = at_once(64, get); out["used"] = internal("budgets")["download"]; out["after"] = status(ask("http://raw.test/")[0])
    """)
    whole = [e for e in ran.out["ends"] if e[1]]
    assert 0 < len(whole) * len(answer) <= MIB and all(end[2] == "fin" for end in whole)
    assert all(how == "reset" for code, complete, how in ran.out["ends"] if code == 200 and not complete), "a part is not taken for the whole"
    assert {code for code, _, _ in ran.out["ends"]} <= {200, 429, None} and ran.out["after"] == 429
    assert ran.total("bytes_down") == ran.out["used"]["used"] == MIB
    assert {r["status"] for r in ran.records if r["kind"] == "request" and not r.get("error")} == {200}


def test_requests_of_a_rule_are_counted_across_pipelines(lab, run):
    ran = run("requests: 40", """
        def pipeline(i):
            s = dial(); s.sendall(head("http://raw.test/%d" % i) * 4 + head("http://allowed.test/1k", extra="Connection: close\\r\\n")); data = drain(s)[0]
            return [data.count(b" 200 OK"), data.count(b" 429 ")]
        out["ends"] = at_once(8, pipeline); out["budgets"] = internal("budgets")
    """, with_limits("raw", "{requests: 10}"))
    assert sum(ok for ok, _ in ran.out["ends"]) == 10 + 8 and sum(no for _, no in ran.out["ends"]) == 22
    assert ran.out["budgets"]["requests"]["used"] == 18 and ran.out["budgets"]["rules"][0]["requests"] == {"used": 10, "limit": 10, "left": 0}
    assert b"".join(c["data"] for c in lab.connections("raw")).count(b" HTTP/1.1\r\n") == 10
    assert len([r for r in ran.records if r["kind"] == "request"]) == 18


def test_budget_013_a_retry_is_one_request_and_all_of_its_bytes(lab, run):
    ok = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    lab.script(80, [ok, b""], after="close")  # the second request of a connection finds it closing
    ran = run("requests: 4\n  connections: {total: 10}", """
        s = dial()
        def turn():
            s.sendall(head("http://raw.test/")); data = b""
            while not data.endswith(b"ok"): data += s.recv(4096)
            time.sleep(0.3); return status(data)
        out["codes"] = [turn() for _ in range(4)]; out["budgets"] = internal("budgets"); out["over"] = status(ask("http://raw.test/")[0])
    """)
    assert ran.out["codes"] == [200] * 4 and ran.out["over"] == 429
    assert ran.out["budgets"]["requests"] == {"used": 4, "limit": 4, "left": 0}
    connections = lab.connections("raw")
    assert ran.out["budgets"]["connections"]["used"] == len(connections) == 4
    # Three requests were sent twice: what the first try sent stays charged.
    assert sum(c["data"].count(b" HTTP/1.1\r\n") for c in connections) == 7
    assert received(lab) == ran.out["budgets"]["upload"]["used"] == ran.total("bytes_up")
    assert ran.out["budgets"]["download"]["used"] == ran.total("bytes_down") == 4 * len(ok)
    assert len([r for r in ran.records if r["kind"] == "request"]) == 4


def test_budget_013_a_body_is_not_sent_again_and_stays_charged(lab, run):
    lab.script(80, mode="reset", trigger="data")
    ran = run("upload: 1MiB", """
        data, how = ask("http://raw.test/", "POST", "Content-Length: 500000\\r\\n", b"x" * 500000); out["code"] = status(data)
        out["used"] = internal("budgets")["upload"]["used"]
    """)
    assert ran.out["code"] == 502 and len(lab.connections("raw")) == 1
    assert received(lab) <= ran.out["used"] == ran.total("bytes_up") <= 500400


def test_budget_006_download_counts_interim_answers_framing_and_trailers(lab, run):
    interim = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n"
    answer = (interim * 3 + b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX: " + b"h" * 3000 + b"\r\n\r\n"
              b"5;extension=" + b"e" * 200 + b"\r\nhello\r\n1\r\n!\r\n0\r\nX-Trailer: " + b"t" * 500 + b"\r\n\r\n")
    lab.script(80, answer)
    code = """
        data, how = ask("http://raw.test/" + "p" * 5000); out["codes"] = data.count(b"HTTP/1.1 103"), data.count(b"HTTP/1.1 200"); out["whole"] = data.endswith(b"0\\r\\n\\r\\n")
        out["budgets"] = internal("budgets")
    """
    ran = run(None, code)
    assert ran.out["codes"] == [3, 1] and ran.out["whole"]
    assert ran.out["budgets"]["download"]["used"] == ran.total("bytes_down") == len(answer)
    assert ran.out["budgets"]["upload"]["used"] == received(lab) > 5000
    exact = run(f"download: {len(answer)}B", code)
    assert exact.out["whole"] and exact.out["budgets"]["download"]["left"] == 0
    under = run(f"download: {len(answer) - 1}B", code)
    assert not under.out["whole"] and under.out["budgets"]["download"]["used"] == len(answer) - 1


def test_budget_004_a_compressed_answer_is_not_opened(lab, run):
    """50 MB in 50 KB: passed on as they came, counted as they came, asked for as the client asked."""
    packed = gzip.compress(b"\0" * 50_000_000, 9)
    answer = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed
    lab.script(80, answer)
    ran = run("download: 100KiB", """
        data, how = ask("http://raw.test/", extra="Accept-Encoding: gzip, br\\r\\n"); head_, body = data.split(b"\\r\\n\\r\\n", 1)
        out["sum"] = hashlib.sha256(body).hexdigest(); out["head"] = head_.decode().lower(); out["used"] = internal("budgets")["download"]["used"]
    """)
    import hashlib
    assert ran.out["sum"] == hashlib.sha256(packed).hexdigest() and "content-encoding: gzip" in ran.out["head"]
    assert ran.out["used"] == len(answer) and b"Accept-Encoding: gzip, br\r\n" in lab.connections("raw")[0]["data"]


def test_budget_005_a_multi_range_answer_is_counted_in_full(lab, run):
    ran = run("download: 400KiB", """
        many = "bytes=" + ",".join("%d-%d" % (n * 1000, n * 1000 + 49999) for n in range(100))
        data, how = ask("http://allowed.test/1m", extra="Range: %s\\r\\n" % many); out["code"] = status(data); out["got"] = len(data); out["end"] = how
        out["budgets"] = internal("budgets")["download"]; out["control"] = None
    """)
    assert ran.out["code"] in (200, 206) and ran.out["end"] == "reset" and ran.out["budgets"] == {"used": 409600, "limit": 409600, "left": 0}
    assert ran.out["got"] <= 410_000 and ran.total("bytes_down") == 409600


LIMITS = {
    "requests: 1": ("budget_requests", 429, 'ask("http://raw.test/")', 'ask("http://raw.test/")', "requests"),
    "upload: 1KiB": ("budget_upload", 413, "None", 'ask("http://raw.test/", "POST", "Content-Length: 2000\\r\\n", b"x" * 2000)', "upload"),
    "download: 1KiB": ("budget_download", 429, 'ask("http://allowed.test/1m")', 'ask("http://raw.test/")', "download"),
    "connections: {total: 1}": ("budget_connections", 429, 'ask("http://raw.test/")', 'ask("http://raw.test:8080/")', "connections"),
    "connections: {concurrent: 1}": ("budget_concurrent", 429, 'held.append(tunnel("raw.test:5432"))', 'ask("http://raw.test/")', "concurrent"),
    "connections: {duration: 1s}": ("budget_duration", 429, "None", 'ask("http://raw.test:8080/")', "duration"),
}


ONE_RULE = "policy: budget/1\nrules:\n  - id: raw\n    allow: http://raw.test/**\n"


@pytest.mark.parametrize("scope", ["task", "rule"])
def test_the_limit_that_fired_is_told_everywhere(lab, run, scope):
    """In status, problem document and Proxy-Status of the answer, in the audit log, at /budgets and /denials: for the task, and for the rule."""
    lab.script(8080, mode="hold")
    for limit, (reason, code, before, over, name) in LIMITS.items():
        if scope == "task":
            rules, budgets = None, limit
        else:
            rules, budgets = re.sub(r"(  - id: [a-z0-9-]+\n)", rf"\1    limits: {{{limit}}}\n", ONE_RULE), None
            rules = rules.replace("connections: {duration: 1s}", "duration: 1s")
        program = f"""
            held = []
            {before}
            data, how = {over}
            out["status"] = status(data); out["head"] = data.split(b"\\r\\n\\r\\n")[0].decode(); out["problem"] = problem(data)
            out["budgets"] = internal("budgets"); out["denials"] = internal("denials")["recent"]; out["page"] = ask("http://sallyport.internal/")[0].decode()
        """
        if scope == "rule":  # the same rule twice
            program = program.replace("raw.test:8080", "raw.test").replace("allowed.test/1m", "raw.test/1m")
            program = program.replace('held.append(tunnel("raw.test:5432"))', 's = dial(); s.sendall(head("http://raw.test/")); time.sleep(0.4); held.append(s)')
            lab.script(80, mode="hold" if name in ("duration", "concurrent") else "respond",
                       **({} if name != "download" else {"answer": b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + b"d" * 5000}), after="close")
        ran = run(budgets, program, **({} if rules is None else {"rules": rules}))
        assert ran.out["status"] == code and ran.out["problem"]["reason"] == reason, (scope, limit, ran.out)
        assert ran.out["problem"]["status"] == code and ran.out["problem"]["category"] == "budget" and reason in ran.out["head"].split("\r\n")[0]
        status_line, = [line for line in ran.out["head"].split("\r\n") if line.lower().startswith("proxy-status:")]
        assert reason in status_line, status_line
        assert ran.out["denials"][0]["reason"] == reason and reason in ran.out["page"] and reason in ran.reasons(), (scope, limit)
        page = ran.out["budgets"] if scope == "task" else [r for r in ran.out["budgets"]["rules"] if r["id"] == "raw"][0]
        if name == "duration":
            assert page["duration"] == {"limit_seconds": 1}
        else:
            assert page[name]["limit"] - page[name]["used"] == page[name]["left"] and (name == "upload" or page[name]["left"] == 0), (scope, limit, page)


def test_budget_011_no_timer_hangs_on_the_clock_of_the_day(lab, sallyport):
    """budget-011. The machine's clock is not the tests' to set: read instead is by which clock the timers of each daemon run. 1 is CLOCK_MONOTONIC, 7
    CLOCK_BOOTTIME; setting the clock moves neither."""
    run = sallyport.start(["sleep", "3"], policy="policy: clock/1\nrules:\n  - allow: http://allowed.test/**\n", options=["--quiet"])
    found = {}
    import time
    end = time.monotonic() + 2.5
    while time.monotonic() < end and "sallyport-proxy" not in found:
        time.sleep(0.3)
        for name, pids in run.processes().items():
            if not name.startswith("sallyport"):
                continue
            for pid in pids:
                for number in os.listdir(f"/proc/{pid}/fdinfo"):
                    try:
                        text = open(f"/proc/{pid}/fdinfo/{number}").read()
                    except OSError:
                        continue
                    if "clockid:" in text:
                        found.setdefault(name, set()).add(int(re.search(r"clockid: (\d+)", text)[1]))
    assert run.wait(10).exit == 0
    assert "sallyport-proxy" in found and set().union(*found.values()) <= {1, 7}, found

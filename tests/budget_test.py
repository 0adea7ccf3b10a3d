"""Budgets to the byte, by the cases budget-*: what the origin received and what the audit log says was used are the measures, and the limit
that fired is told in the answer, in the log and at http://sallyport.internal/budgets."""

import pytest

from budget_runs import MIB, received, with_limits


# --- counts ---

def test_requests_are_counted_to_the_last(lab, run):
    ran = run("requests: 3", """
        answers = [ask("http://raw.test/%d" % i)[0] for i in range(3)] + [ask("http://denied.test/")[0]] + [ask("http://raw.test/over")[0]]
        out["statuses"] = [status(a) for a in answers]; out["reason"] = problem(answers[-1])["reason"]
        out["budgets"] = internal("budgets"); out["denials"] = internal("denials")["recent"][0]["reason"]
    """)
    assert ran.out["statuses"] == [200, 200, 200, 403, 429] and ran.out["reason"] == ran.out["denials"] == "budget_requests"
    assert ran.out["budgets"]["requests"] == {"used": 3, "limit": 3, "left": 0}
    assert "budget_requests" in ran.reasons() and "requests" in ran.stderr
    assert b"".join(c["data"] for c in lab.connections("raw")).count(b" HTTP/1.1\r\n") == 3


def test_a_rule_has_limits_of_its_own(lab, run):
    ran = run("requests: 10", """
        answers = [ask("http://raw.test/")[0] for i in range(3)] + [ask("http://allowed.test/")[0]]
        out["statuses"] = [status(a) for a in answers]
        out["budgets"] = internal("budgets")
    """, with_limits("raw", "{requests: 2, upload: 4KiB}"))
    assert ran.out["statuses"] == [200, 200, 429, 200]
    rule, = ran.out["budgets"]["rules"]
    assert rule["id"] == "raw" and rule["requests"] == {"used": 2, "limit": 2, "left": 0}
    assert rule["upload"]["limit"] == 4096 and rule["upload"]["used"] == received(lab)
    assert ran.out["budgets"]["requests"]["used"] == 3


def test_pipelined_and_parallel_requests_are_counted(lab, run):
    ran = run("requests: 5", """
        s = dial(); s.sendall(head("http://raw.test/") * 3); time.sleep(1); s.shutdown(socket.SHUT_WR); out["pipelined"] = drain(s)[0].count(b" 200 OK")
        out["parallel"] = sorted(at_once(8, lambda i: status(ask("http://raw.test/")[0])))
    """)
    assert ran.out["pipelined"] == 3 and ran.out["parallel"] == [200] * 2 + [429] * 6
    assert b"".join(c["data"] for c in lab.connections("raw")).count(b" HTTP/1.1\r\n") == 5


def test_connections_in_all(lab, run):
    ran = run("connections: {total: 3}", """
        opened = [tunnel("raw.test:5432") for _ in range(4)]
        out["statuses"] = [o[1] for o in opened]; rest = drain(opened[3][0])[0]
        out["reason"] = problem(opened[3][2] + rest)["reason"]
        out["http"] = status(ask("http://raw.test/")[0]); out["budgets"] = internal("budgets")["connections"]
    """)
    assert ran.out["statuses"] == [200, 200, 200, 429] and ran.out["http"] == 429 and ran.out["reason"] == "budget_connections"
    assert ran.out["budgets"] == {"used": 3, "limit": 3, "left": 0} and "budget_connections" in ran.reasons()
    assert len(lab.connections("raw")) == 3


def test_concurrent_connections_of_a_rule(lab, run):
    lab.script(5432, mode="hold")
    ran = run(None, """
        opened = [tunnel("raw.test:5432") for _ in range(3)]
        out["statuses"] = [o[1] for o in opened]; opened[0][0].close(); time.sleep(0.5)
        out["again"] = tunnel("raw.test:5432")[1]; out["other"] = status(ask("http://raw.test/")[0])
        out["denials"] = internal("denials")["recent"][0]["reason"]
    """, with_limits("tcp", "{connections: {concurrent: 2}}"))
    assert ran.out == {"statuses": [200, 200, 429], "again": 200, "other": 200, "denials": "budget_concurrent"}


# --- upload ---

def test_budget_002_a_stated_length_over_the_budget_is_refused_before_dialling(lab, run):
    ran = run("upload: 1MiB", """
        refused = ask("http://raw.test/", "POST", "Content-Length: 2000000\\r\\n", b"x" * 1000)[0]
        out["refused"] = [status(refused), problem(refused)["reason"]]
        out["before"] = internal("budgets")["upload"]["used"]
        out["control"] = status(ask("http://raw.test/", "POST", "Content-Length: 1000\\r\\n", b"x" * 1000)[0])
    """)
    assert ran.out["refused"] == [413, "budget_upload"] and ran.out["before"] == 0 and ran.out["control"] == 200
    assert "budget_upload" in ran.reasons() and len(lab.connections("raw")) == 1


def test_upload_is_exact_for_a_stated_length(lab, run):
    code = """
        out["status"] = status(ask("http://raw.test/", "POST", "Content-Length: 5000\\r\\n", b"x" * 5000)[0]); out["upload"] = internal("budgets")["upload"]
    """
    run("upload: 1MiB", code)
    size = received(lab)
    for limit, expected in ((size, 200), (size - 1, 413)):
        lab.reset()
        ran = run(f"upload: {limit}B", code)
        assert ran.out["status"] == expected
        assert received(lab) == ran.total("bytes_up") == ran.out["upload"]["used"] == (size if expected == 200 else 0)


def test_budget_001_a_chunked_body_is_cut_exactly_at_the_limit(lab, run):
    lab.script(80, mode="hold")
    ran = run("upload: 1MiB", """
        s = dial(); s.sendall(head("http://raw.test/", "POST", "Transfer-Encoding: chunked\\r\\n"))
        chunk = b"10000\\r\\n" + b"c" * 65536 + b"\\r\\n"
        try:
            for _ in range(160): s.sendall(chunk)
        except OSError: pass
        data, how = drain(s); out["status"] = status(data); out["reason"] = problem(data)["reason"] if data else None
        out["budgets"] = internal("budgets")["upload"]; out["after"] = status(ask("http://raw.test/")[0])
    """)
    assert ran.out["status"] == 413 and ran.out["reason"] == "budget_upload" and ran.out["after"] == 413
    assert ran.out["budgets"] == {"used": MIB, "limit": MIB, "left": 0}
    assert received(lab) <= MIB and ran.total("bytes_up") == MIB
    data = lab.connections("raw")[0]
    assert not data["data"].endswith(b"0\r\n\r\n") and data["reason"] == "client-reset"


def test_what_a_failed_upload_did_not_use_is_there_again(lab, run):
    lab.script(80, mode="reset", trigger="data")
    ran = run("upload: 600KiB", """
        codes = [status(ask("http://raw.test/", "POST", "Content-Length: 500000\\r\\n", b"x" * 1000)[0]) for _ in range(3)]
        out["codes"] = codes; out["after"] = status(ask("http://echo.test/", "POST", "Content-Length: 500000\\r\\n", b"x" * 500000)[0])
        out["used"] = internal("budgets")["upload"]["used"]
    """)
    assert ran.out["codes"] == [502] * 3 and ran.out["after"] == 200
    assert received(lab) <= ran.out["used"] - received(lab, "echo") <= 3 * 1300 and ran.out["used"] == ran.total("bytes_up")


def test_budget_006_heads_are_charged(lab, run):
    ran = run("upload: 1MiB", """
        answers = [status(ask("http://raw.test/", extra="X: %s\\r\\n" % ("h" * 60000))[0]) for _ in range(20)]
        out["passed"] = answers.count(200); out["rest"] = sorted(set(answers)); out["used"] = internal("budgets")["upload"]["used"]
    """)
    assert ran.out["passed"] == MIB // 60060 and ran.out["rest"] == [200, 413]
    assert received(lab) == ran.out["used"] == ran.total("bytes_up") <= MIB


def test_budget_012_parallel_uploads_share_the_last_bytes(lab, run):
    lab.script(80, mode="hold")
    ran = run("upload: 1MiB", """
        def upload(i):
            s = dial()
            if i % 2: s.sendall(head("http://raw.test/", "POST", "Content-Length: 300000\\r\\n")); push(s, 300000)
            else:
                s.sendall(head("http://raw.test/", "POST", "Transfer-Encoding: chunked\\r\\n"))
                try:
                    for _ in range(300): s.sendall(b"1000\\r\\n" + b"c" * 4096 + b"\\r\\n")
                except OSError: pass
            s.settimeout(2.5); return status(drain(s)[0])
        out["statuses"] = at_once(16, upload); out["used"] = internal("budgets")["upload"]["used"]
    """)
    assert 413 in ran.out["statuses"] and set(ran.out["statuses"]) <= {413, None}
    assert 0 < received(lab) <= MIB and received(lab) <= ran.total("bytes_up") <= MIB
    assert ran.out["used"] <= MIB


def test_budget_012_parallel_tunnels_share_the_last_bytes(lab, run):
    lab.script(5432, mode="hold")
    ran = run("upload: 1MiB", """
        def upload(i):
            s, code, _ = tunnel("raw.test:5432"); push(s, 400000, 7777 + i); s.settimeout(3); how = drain(s)[1]; return [code, how]
        out["ends"] = at_once(16, upload); out["used"] = internal("budgets")["upload"]["used"]
    """)
    assert all(code == 200 for code, _ in ran.out["ends"])
    assert received(lab) <= MIB and ran.total("bytes_up") == ran.out["used"] == MIB
    assert received(lab) > MIB - 16 * 65536, "nearly all of it arrived"
    assert "upload" in ran.limits()


def test_what_fits_in_parallel_all_arrives(lab, run):
    """The accepting twin: as much as the budget holds, to the byte."""
    ran = run("upload: 1MiB", """
        def upload(i):
            s, code, _ = tunnel("raw.test:5432"); push(s, 65536); s.shutdown(socket.SHUT_WR); return [code, drain(s)[1]]
        out["ends"] = at_once(16, upload); out["used"] = internal("budgets")["upload"]
    """)
    assert ran.out["ends"] == [[200, "fin"]] * 16
    assert received(lab) == ran.total("bytes_up") == MIB and ran.out["used"]["left"] == 0
    assert not ran.limits()


# --- tunnels and download ---

def test_budget_007_a_tunnel_is_cut_in_either_direction(lab, run):
    lab.script(5432, mode="hold")
    up = run("upload: 1MiB", """
        s, code, _ = tunnel("raw.test:5432"); push(s, 5 * MIB); out["end"] = drain(s)[1]; out["after"] = tunnel("raw.test:5432")[1]
        out["budgets"] = internal("budgets")["upload"]
    """)
    assert up.out["end"] in ("reset", "fin") and received(lab) <= MIB and up.total("bytes_up") == MIB and up.limits() == {"upload"}
    assert up.out["budgets"]["left"] == 0
    lab.script(5432, b"d" * (5 * MIB), trigger="data")
    down = run("download: 1MiB", """
        s, code, _ = tunnel("raw.test:5432"); s.sendall(b"go"); data, how = drain(s); out["got"] = len(data); out["end"] = how
        out["budgets"] = internal("budgets")["download"]
    """)
    assert down.out["end"] == "reset" and down.out["got"] <= MIB and down.total("bytes_down") == MIB and down.limits() == {"download"}
    assert down.out["budgets"] == {"used": MIB, "limit": MIB, "left": 0}


@pytest.mark.parametrize("limit,end", [(4096, "fin"), (4095, "reset")])
def test_a_stream_may_end_exactly_at_the_limit(lab, run, limit, end):
    lab.script(5432, b"d" * 4096, trigger="eof", after="close")
    for budget in (f"upload: {limit}B", f"download: {limit}B"):
        ran = run(budget, """
            s, code, _ = tunnel("raw.test:5432"); push(s, 4096); time.sleep(0.3)
            try: s.shutdown(socket.SHUT_WR)
            except OSError: pass
            data, how = drain(s); out["got"] = len(data); out["end"] = how
        """)
        assert ran.out["end"] == end and (ran.out["got"] == 4096) == (end == "fin"), (budget, ran.out)
        assert bool(ran.limits()) == (end == "reset")


def test_a_body_up_to_the_close_may_end_exactly_at_the_limit(lab, run):
    answer = b"HTTP/1.1 200 OK\r\n\r\n" + b"d" * 3000
    lab.script(80, answer, after="close")
    code = """
        data, how = ask("http://raw.test/"); out["status"] = status(data); out["whole"] = data.endswith(b"0\\r\\n\\r\\n"); out["end"] = how
    """
    exact = run(f"download: {len(answer)}B", code)
    assert exact.out == {"status": 200, "whole": True, "end": "fin"} and exact.total("bytes_down") == len(answer)
    over = run(f"download: {len(answer) - 1}B", code)
    assert not over.out["whole"] and over.out["status"] in (200, 429)
    assert over.total("bytes_down") == len(answer) - 1


def test_budget_005_download_is_the_sum_of_all_answers(lab, run):
    ran = run("download: 300KiB", """
        sizes, codes = 0, []
        for i in range(12):
            data, how = ask("http://allowed.test/1m", extra="Range: bytes=%d-%d\\r\\n" % (i * 50000, i * 50000 + 49999))
            sizes += len(data) if status(data) == 206 else 0; codes.append(status(data)); last = data
        out["codes"] = codes; out["sizes"] = sizes; out["reason"] = problem(last)["reason"]; out["budgets"] = internal("budgets")["download"]
        out["parts"] = status(ask("http://allowed.test/1m", extra="Range: bytes=" + ",".join(["0-"] * 100) + "\\r\\n")[0])
    """)
    assert ran.out["codes"][:6] == [206] * 6 or ran.out["codes"][:5] == [206] * 5
    assert ran.out["codes"][-1] == 429 and ran.out["reason"] == "budget_download" and ran.out["parts"] == 429
    assert ran.out["budgets"]["left"] == 0 and ran.total("bytes_down") == 300 * 1024
    assert ran.out["sizes"] <= 300 * 1024 + 12 * 300


def test_download_of_one_large_answer_is_cut(lab, run):
    ran = run(None, """
        data, how = ask("http://allowed.test/1m"); out["got"] = len(data); out["end"] = how; out["status"] = status(data)
        out["next"] = status(ask("http://allowed.test/")[0]); out["other"] = status(ask("http://raw.test/")[0])
    """, with_limits("web", "{download: 100KiB}"))
    assert ran.out["status"] == 200 and ran.out["end"] == "reset" and ran.out["got"] <= 101 * 1024
    assert ran.out["next"] == 429 and ran.out["other"] == 200
    assert [r["error"] for r in ran.records if r["kind"] == "request" and r.get("error")][0] == "budget_download"


def test_answers_that_wait_do_not_hold_the_download_budget(lab, run):
    lab.script(8080, delay=1.5)
    ran = run("download: 70KiB", """
        waiting = threading.Thread(target=lambda: out.__setitem__("late", at_once(4, lambda i: status(ask("http://raw.test:8080/")[0]))))
        waiting.start(); time.sleep(0.6); out["meanwhile"] = status(ask("http://allowed.test/1k")[0]); waiting.join()
    """)
    assert ran.out == {"late": [200] * 4, "meanwhile": 200}


# --- time ---

def test_budget_010_connection_time_is_a_wall(lab, run):
    """budget-010, of tunnels and requests: busy ones end as idle ones do."""
    lab.script(80, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + b"s" * 100, piece=10, pause=0.4)
    lab.script(8080, mode="hold")
    lab.script(5432, mode="echo")
    ran = run("connections: {duration: 2s}", """
        def busy():
            s, code, _ = tunnel("raw.test:5432"); begin = time.monotonic()
            try:
                while time.monotonic() - begin < 6: s.sendall(b"."); s.recv(10); time.sleep(0.2)
            except OSError: pass
            return round(time.monotonic() - begin, 1)
        def http(url):
            begin = time.monotonic(); data, how = ask(url); return [status(data), how, round(time.monotonic() - begin, 1), problem(data)["reason"] if status(data) == 429 else None]
        work = [busy, lambda: http("http://raw.test/"), lambda: http("http://raw.test:8080/")]
        out["ends"] = at_once(3, lambda i: work[i]()); out["control"] = status(ask("http://allowed.test/")[0])
    """)
    tunnel, begun, silent = ran.out["ends"]
    assert 1.8 <= tunnel <= 3.5 and ran.limits() == {"connections.duration"}
    assert begun[:2] == [200, "reset"] and 1.8 <= begun[2] <= 3.5
    assert silent[0] == 429 and silent[3] == "budget_duration" and 1.8 <= silent[2] <= 3.5
    assert ran.out["control"] == 200 and "budget_duration" in ran.reasons()


def test_budget_009_idle_ends_what_stands_still_and_frees_the_slot(lab, run):
    lab.script(80, mode="hold")
    lab.script(5432, mode="hold")
    ran = run("idle: 1s\n  connections: {concurrent: 2}", """
        begin = time.monotonic(); ends = at_once(2, lambda i: drain(tunnel("raw.test:5432")[0])[1] if i else ask("http://raw.test/")[1])
        out["ends"] = ends; out["took"] = time.monotonic() - begin; time.sleep(0.3)
        out["again"] = [tunnel("raw.test:5432")[1], tunnel("raw.test:5432")[1]]
    """)
    assert set(ran.out["ends"]) <= {"reset", "fin"} and ran.out["took"] < 5 and ran.out["again"] == [200, 200]
    assert "idle" in ran.reasons() and ran.limits() == {"idle"}


def test_budget_003_a_compressed_body_is_counted_as_it_is(lab, run):
    import gzip
    body = gzip.compress(b"\0" * (8 * MIB))
    ran = run("upload: 64KiB", f"""
        body = bytes.fromhex("{body.hex()}")
        data = ask("http://echo.test/", "POST", "Content-Encoding: gzip\\r\\nContent-Length: %d\\r\\n" % len(body), body)[0]
        import base64
        out["same"] = base64.b64decode(problem(data)["body_base64"]) == body; out["used"] = internal("budgets")["upload"]["used"]
    """)
    assert ran.out["same"] and len(body) < ran.out["used"] < len(body) + 300

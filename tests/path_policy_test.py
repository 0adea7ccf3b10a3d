"""Which request a rule means: paths (cases path-*) and precedence, methods and overrides (cases policy-*). Every target is written raw; what
left is read from the raw origin, so that the path decided on and the path on the wire are seen to be one."""

import json

import pytest

from raw_exchanges import Send, connect, exchange, get

POLICY = """policy: paths/1
rules:
  - id: public
    allow: http://raw.test/public/**
  - id: project
    allow: http://raw.test/api/projects/*
  - id: user
    allow: http://raw.test/v1/user
  - id: users
    allow: http://raw.test/v1/user/*
  - id: upload
    allow: GET,POST http://raw.test:8080/r/*
  - id: listed
    allow: POST,DELETE http://raw.test:8080/listed/**
  - id: site
    allow: http://echo.test/**
  - id: no-admin
    deny: http://echo.test/admin/**
"""


def targets_seen(lab):
    return [line.split(b" ")[1].decode("latin-1") for c in lab.connections("raw") for line in c["data"].split(b"\r\n") if line.endswith(b" HTTP/1.1")]


def send(path, host="raw.test", way="explicit"):
    raw = path if isinstance(path, bytes) else path.encode()
    end = b" HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n"
    if way == "caught":
        return Send(b"GET " + raw + end, to=(host, 80))
    made = Send(b"GET http://" + host.encode() + raw + end)
    assert raw in made.data, "path-009: the raw bytes are what is sent"
    return made


REFUSED = {
    "path-001 dot segments": ["/public/../secret", "/public/./../secret", "/public/a/../../secret", "/public/.."],
    "path-002 encoded dots": ["/public/%2e%2e/secret", "/public/.%2E/secret", "/public/%2e%2E"],
    "path-003 double encoding": ["/public/%252e%252e/secret", "/public/%252fsecret", "/public/%25252e%25252e/x"],
    "path-004 encoded separators": ["/public%2fsecret", "/public/..%2fsecret", "/public/..%5csecret", "/public%5c..%5csecret", "/public/a%2Fb"],
    "path-006 back-slash": ["/public\\..\\secret", "/public/\\x"],
    "path-008 parameters": ["/public;x/b", "/public/..;/secret", "/public;/../secret", "/public/a;b"],
    "path-010 percent and bytes": ["/public/%zz", "/public/%", "/public/%4", "/public/%c0%ae%c0%ae/secret", b"/public/\xe2\x80\xa5/secret"],
    "path-011 encoded controls": ["/public/x%00.json", "/public/x%0d%0aX:1", "/public/x%09", "/public/%7f"],
    "path-012 segments": ["/v1/users", "/v1/user.json", "/V1/user", "/v1/user/a/b", "/publication", "/Public/x", "/api/projects/", "/api/projects/1/2"],
    "path-013 above the root": ["/../../etc", "/public/../../../x", "/..", "/public/%2e%2e/%2e%2e/%2e%2e/x"],
    "outside": ["/secret", "/"],
}


def test_paths_are_refused_in_every_form(lab, sallyport):
    sends = [send(p, way=way) for paths in REFUSED.values() for p in paths for way in ("explicit", "caught")]
    replies = exchange(sallyport, POLICY, sends + [send("/public/control"), send("/public/control", way="caught")], at_once=8)
    for one, reply in zip(sends, replies):
        assert reply.status in (400, 403), (one.data, reply)
    assert [r.status for r in replies[-2:]] == [200, 200]
    assert targets_seen(lab) == ["/public/control"] * 2


ALLOWED = {  # as sent: as it arrives
    "/public/x": "/public/x", "/public/x?q=../../etc&a=%2e%2e": "/public/x?q=../../etc&a=%2e%2e", "/api/%70rojects/1": "/api/projects/1",
    "/api/projects/%7Euser": "/api/projects/~user", "/v1/user": "/v1/user", "/v1/user/x": "/v1/user/x", "/public/a%20b": "/public/a%20b",
    "/public/%e2%82%ac": "/public/%E2%82%AC",
}


def test_path_005_what_is_decided_on_is_what_is_written(lab, sallyport):
    replies = exchange(sallyport, POLICY, [send(p) for p in ALLOWED], at_once=8)
    assert [r.status for r in replies] == [200] * len(ALLOWED), replies
    assert sorted(targets_seen(lab)) == sorted(ALLOWED.values())  # a connection for each rule


def test_path_002_007_collapsed_or_refused_never_something_else(lab, sallyport):
    odd = ["/public/%2e/x", "/public//x", "//public/x", "///public///x", "/public/./x"]
    replies = exchange(sallyport, POLICY, [send(p) for p in odd])
    assert all(r.status in (200, 400, 403) for r in replies)
    assert set(targets_seen(lab)) <= {"/public/x"}
    assert len(targets_seen(lab)) == sum(r.status == 200 for r in replies)


def test_path_005_007_008_a_denial_cannot_be_written_around(lab, sallyport):
    around = ["/admin/x", "/%61dmin/x", "/adm%69n/x", "//admin/x", "/a//..//admin/x", "///admin/x", "/admin;x/b", "/admin", "/admin/", "/./admin/x",
              "/x/../admin/y", "/%2fadmin/x", "/admin%2fx", "/%2561dmin/x", "/admin?x"]
    replies = exchange(sallyport, POLICY, [send(p, "echo.test", way) for p in around for way in ("explicit", "caught")] + [send("/adminx", "echo.test")], at_once=8)
    assert all(r.status in (400, 403) for r in replies[:-1]), [(p, r.status) for p, r in zip(around, replies[::2])]
    assert replies[-1].status == 200
    assert len(lab.connections("echo")) == 1


# --- methods and what overrides them ---

def form(body, extra=b"", kind=b"application/x-www-form-urlencoded", path="/r/1", host="raw.test:8080", framing=None):
    length = framing or b"Content-Length: %d\r\n" % len(body)
    return get(f"http://{host}{path}", host, b"Content-Type: " + kind + b"\r\n" + length + extra, b"POST") + body


def test_policy_006_override_fields_and_query(lab, sallyport):
    url, host = "http://raw.test:8080/r/1", "raw.test:8080"
    refused = [get(url, host, b"Content-Length: 0\r\n" + name + b": " + method + b"\r\n", b"POST")
               for name, method in ((b"X-HTTP-Method-Override", b"DELETE"), (b"X-HTTP-Method", b"PUT"), (b"x-method-override", b"PATCH"),
                                    (b"X_HTTP_METHOD_OVERRIDE", b"DELETE"))]
    refused += [get(url + q, host, b"Content-Length: 0\r\n", b"POST") for q in ("?_method=delete", "?a=b&%5fmethod=delete", "?_METHOD=put")]
    control = [get(url + "?method=delete", host, b"Content-Length: 0\r\n", b"POST"),
               get("http://raw.test:8080/listed/x", host, b"Content-Length: 0\r\nX-HTTP-Method-Override: DELETE\r\n", b"POST")]
    replies = exchange(sallyport, POLICY, [Send(r) for r in refused + control], at_once=8)
    assert [r.status for r in replies] == [403] * len(refused) + [200, 200], replies
    assert {r.problem()["reason"] for r in replies[:len(refused)]} == {"method_override"}
    assert len(targets_seen(lab)) == 2
    assert not any(b"verride" in c["data"] for c in lab.connections("raw"))


def test_policy_006_a_form_that_names_a_method(lab, sallyport):
    chunked = b"Transfer-Encoding: chunked\r\n"
    refused = [
        form(b"_method=delete"), form(b"a=b&%5Fmethod=delete&c=d"), form(b"x=y&_METHOD=put", kind=b"Application/X-WWW-Form-Urlencoded; charset=utf-8"),
        form(b"e\r\na=b&_method=pu\r\n0\r\n\r\n", framing=chunked), form(b"3\r\na=b\r\n0\r\n\r\n", framing=chunked),
        form(b"a=" + b"b" * 70000), form(b"a=b", b"Content-Encoding: gzip\r\n"), [form(b"a=b&_method=delete")[:-12], b"hod=delete"[-12:]]]
    refused[-1] = [form(b"a=b&_method=delete")[:-10], b"hod=delete"]
    allowed = [form(b"a=b&method=delete"), form(b"_method=delete", kind=b"text/plain"), form(b"a=" + b"b" * 65000),
               [form(b"a=b&c=d")[:-4], b"&c=d"], form(b"")]
    expecting = form(b"a=b", b"Expect: 100-continue\r\n")
    replies = exchange(sallyport, POLICY, [Send(r, pause=0.2, seconds=5) for r in refused + allowed] + [Send([expecting[:-3], expecting[-3:]], pause=0.4)], at_once=8)
    assert [r.status for r in replies[:len(refused)]] == [403] * len(refused), replies
    assert {r.problem()["reason"] for r in replies[:len(refused)]} == {"method_override"}
    assert [r.statuses for r in replies[len(refused):]] == [[200]] * len(allowed) + [[100, 200]]
    seen = b"".join(c["data"] for c in lab.connections("raw"))
    assert seen.count(b"POST /r/1 HTTP/1.1\r\n") == len(allowed) + 1
    assert seen.count(b"_method") == 1 and b"a=b&c=d" in seen


def test_policy_006_a_rule_without_methods_lets_forms_pass(lab, sallyport):
    reply, = exchange(sallyport, POLICY, [Send(form(b"_method=delete", host="raw.test", path="/public/x"))])
    assert reply.status == 200 and b"_method=delete" in lab.connections("raw")[0]["data"]


def test_methods_are_compared_as_written(lab, sallyport):
    url, host = "http://raw.test:8080/r/1", "raw.test:8080"
    replies = exchange(sallyport, POLICY, [Send(get(url, host, method=m)) for m in (b"PUT", b"get", b"DELETE", b"HEAD", b"OPTIONS", b"GET")], at_once=8)
    assert [r.status for r in replies[:3]] == [403] * 3 and replies[4].status == 403 and replies[5].status == 200
    assert replies[0].problem()["reason"] == "method_not_allowed" and replies[0].problem()["nearest_rule"] == "upload"


# --- policies as a whole ---

@pytest.mark.parametrize("text", ["policy: p/1\nrules: []\n", "policy: p/1\n", ""])
def test_policy_001_an_empty_policy_allows_nothing(lab, sallyport, text):
    code = r"""
import socket
s = socket.create_connection(("127.0.0.1", 3128), 3); s.sendall(b"GET http://allowed.test/ HTTP/1.1\r\nHost: allowed.test\r\n\r\n")
print(s.recv(100).split(b" ")[1].decode())
"""
    done = sallyport(["/usr/bin/python3", "-IS", "-c", code], policy=text, options=["--quiet"])
    assert (done.exit != 0 and "error" in done.stderr) or done.stdout.strip() == "403", done
    assert not lab.packets(dst="198.51.100.10") and not lab.dns_names()
    control, = exchange(sallyport, "policy: p/1\nrules:\n  - id: a\n    allow: http://allowed.test/**\n", [send("/", "allowed.test")])
    assert control.status == 200


@pytest.mark.parametrize("line,word", [
    ("metods: [GET]", "metods"), ('ports: "443"', "ports"), ("action: alow", "action"), ("limits: {reqests: 1}", "reqests")])
def test_policy_003_an_unknown_key_does_not_load(lab, sallyport, line, word):
    text = f"policy: p/1\nrules:\n  - id: a\n    allow: http://allowed.test/**\n    {line}\n"
    done = sallyport(["true"], policy=text, options=["--quiet"])
    assert done.exit != 0 and word in done.stderr and "policy.yaml:5:" in done.stderr, done
    assert sallyport(["true"], policy=text.rsplit("    ", 1)[0], options=["--quiet"]).exit == 0


def test_policy_003_duplicate_ids_do_not_load(lab, sallyport):
    rule = "  - id: a\n    allow: http://{}/**\n"
    bad = sallyport(["true"], policy="policy: p/1\nrules:\n" + rule.format("allowed.test") + rule.format("raw.test"), options=["--quiet"])
    assert bad.exit != 0 and "policy.yaml:5:" in bad.stderr, bad


@pytest.mark.parametrize("deny_first", [True, False])
def test_policy_002_a_deny_wins_wherever_it_stands(lab, sallyport, deny_first):
    allow, deny = "  - id: all\n    allow: tcp://*.wild.allowed.test:80\n", "  - id: not\n    deny: tcp://secret.wild.allowed.test:80\n"
    policy = "policy: p/1\nrules:\n" + (deny + allow if deny_first else allow + deny)
    denied, allowed = exchange(sallyport, policy, [Send(connect("secret.wild.allowed.test:80")), Send(connect("a.wild.allowed.test:80"))])
    assert denied.status == 403 and denied.problem()["reason"] == "denied_by_rule" and denied.problem()["rule"] == "not"
    assert allowed.status == 200
    assert lab.names_asked() == {"a.wild.allowed.test"}


def test_policy_011_an_address_shared_by_names_opens_one(lab, sallyport):
    policy = "policy: p/1\nrules:\n  - id: a\n    allow: http://cdn-a.test/**\n"
    one, other, host = exchange(sallyport, policy, [
        send("/", "cdn-a.test"), send("/", "cdn-b.test"), Send(get("/", "cdn-b.test"), to=("cdn-a.test", 80))])
    assert [one.status, other.status, host.status] == [200, 403, 421]
    assert {r["host"] for r in lab.records("requests")} == {"cdn-a.test"}


def test_policy_012_nothing_the_client_says_of_itself_counts(lab, sallyport):
    agent = b"User-Agent: sallyport-control\r\nX-Sallyport-Task: other\r\nX-Task-Id: root\r\n"
    denied, = exchange(sallyport, POLICY, [Send(get("http://denied.test/", "denied.test", agent))])
    assert denied.status == 403 and not lab.packets(dst="198.51.100.66")


def test_the_task_reads_its_denials(lab, sallyport):
    _, denials, policy = exchange(sallyport, POLICY, [
        send("/secret"), Send(get("http://sallyport.internal/denials", "sallyport.internal")), Send(get("http://sallyport.internal/policy", "sallyport.internal"))])
    told = json.loads(denials.data.split(b"\r\n\r\n", 1)[1])
    assert told["total"] == 1 and told["recent"][0]["reason"] == "path_not_allowed"
    assert told["recent"][0]["what"] == "GET http://raw.test/secret"
    assert [r["id"] for r in json.loads(policy.data.split(b"\r\n\r\n", 1)[1])["rules"]][:2] == ["public", "project"]

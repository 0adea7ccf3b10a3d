"""curl and wget in the ways that people use them: ranges, resumed downloads, uploads with Expect, chunked uploads, tunnels to the port of
HTTP, prior knowledge of HTTP/2, other proxies, retries."""

import hashlib

import pytest

from client_runs import UNRESOLVED, check, run_clients

POLICY = """policy: clients-transfer/1
rules:
  - id: read
    allow: GET,HEAD http://allowed.test/**
  - id: upload
    allow: PUT,POST http://allowed.test/upload
  - id: echo
    allow: http://echo.test/**
  - id: api
    allow: http://api.test/**
  - id: other
    allow: GET http://other-allowed.test/**
"""
FILE = hashlib.shake_256(b"file").digest(3_000_000)
CURL = ["curl", "-sS", "--max-time", "15", "-w", "\n%{http_code} %{size_download} %{size_upload}\n"]
OCTETS = "Content-Type: application/octet-stream"
PROXY = "http://127.0.0.1:3128"


def sh(script):
    return ["sh", "-ec", script]


@pytest.mark.parametrize("variables,user", [(True, "ordinary"), (False, None)], ids=["proxy-variables", "caught"])
def test_curl(lab, sallyport, variables, user):
    curl = " ".join(f"'{a}'" for a in CURL).replace("\n", "\\n")
    ended = run_clients(sallyport, POLICY, {
        "range": [*CURL, "-o", "range", "-r", "1000-1999", "http://allowed.test/1m"], "last": [*CURL, "-o", "last", "-r", "-10", "http://allowed.test/1m"],
        "ranges": [*CURL, "-o", "ranges", "-r", "0-9,100-109", "http://allowed.test/1m"], "beyond": [*CURL, "-r", "9999999-", "http://allowed.test/1m"],
        "resume": sh(f"head -c 500000 /dev/zero | tr '\\0' x >part; {curl} -C - -o part http://allowed.test/1m; stat -c %s part"),
        "head": [*CURL, "-I", "http://allowed.test/1m"], "redirect": [*CURL, "-L", "-o", "/dev/null", "http://allowed.test/redirect"],
        "several": [*CURL, "-o", "a", "http://allowed.test/1k", "-o", "b", "http://other-allowed.test/1k", "-o", "c", "http://allowed.test/1k"],
        "parallel": [*CURL, "-Z", "-o", "p#1", "http://allowed.test/1k?[1-20]"], "compressed": [*CURL, "--compressed", "-o", "z", "http://allowed.test/chunked"],
        "upload": [*CURL, "-T", "file", "-H", "Expect: 100-continue", "-o", "u", "http://echo.test/"], "post": [*CURL, "--data-binary", "@file", "-H", OCTETS, "-o", "p", "http://echo.test/"],
        "early answer": [*CURL, "-T", "file", "http://allowed.test/upload"],
        "large form": [*CURL, "--data-binary", "@file", "http://allowed.test/upload"],
        "chunked": sh(f"cat file | {curl} -T - -o c http://echo.test/"), "form": [*CURL, "-F", "f=@file", "http://echo.test/", "-o", "form"],
        "denied upload": [*CURL, "-T", "file", "http://allowed.test/elsewhere"], "refused upload": [*CURL, "-T", "file", "-H", "Expect: 100-continue", "http://denied.test/"], "old": [*CURL, "-0", "http://allowed.test/1k", "-o", "old"],
        "tunnel": [*CURL, "-p", "-x", PROXY, "-o", "t", "http://allowed.test/1k"], "tunnel denied": [*CURL, "-f", "-p", "-x", PROXY, "http://allowed.test/", "-X", "DELETE"],
        "tunnel refused": [*CURL, "-p", "-x", PROXY, "http://denied.test/"], "h2": [*CURL, "--http2-prior-knowledge", "--noproxy", "*", "http://allowed.test/"],
        "h2 offered": [*CURL, "--http2", "-o", "o", "http://allowed.test/1k"], "http 1.0 proxy": [*CURL, "--proxy1.0", "127.0.0.1:3128", "-o", "n", "http://allowed.test/1k"],
        "socks": [*CURL, "-x", "socks5h://127.0.0.1:3128", "http://allowed.test/"], "user": [*CURL, "-x", "http://me:secret@127.0.0.1:3128", "-o", "/dev/null", "http://api.test/"],
        "basic": [*CURL, "-u", "me:mine", "http://api.test/", "-o", "basic"], "own host": [*CURL, "-H", "Host: denied.test", "http://allowed.test/"],
        "connect to": [*CURL, "--noproxy", "*", "--connect-to", "denied.test:80:allowed.test:80", "http://denied.test/"], "retry": [*CURL, "-f", "--retry", "2", "--retry-delay", "0", "http://denied.test/"],
    }, files={"file": FILE}, variables=variables, user=user, timeout=100)
    check(ended, {
        "range": (True, "206 1000 0"), "last": (True, "206 10 0"), "ranges": (True, r"206 \d{3} 0"), "beyond": (True, r"416 \d+"),
        "resume": (True, f"206 {(1 << 20) - 500000} 0\n{1 << 20}\n"), "head": (True, "(?s)Content-Length: 1048576.*200 0 0"),
        "redirect": (True, r"403 \d+") if variables else (False, UNRESOLVED), "several": (True, r"(200 1024 0\n*){3}"),
        "parallel": (True, r"(200 1024 0\n*){20}"), "compressed": (True, r"200 2\d\d\d 0"), "upload": (True, fr"^\n200 \d{{7}} {len(FILE)}"), "large form": (True, r"(?s)method_override.*\n403 "),
        "refused upload": (True, r"(?s)no_rule.*\n403 \d+ 0") if variables else (False, UNRESOLVED),
        "post": (True, fr"^\n200 \d{{7}} {len(FILE)}"), "early answer": (True, "taken\n\n200 6 "), "chunked": (True, r"^\n200 \d{7} 3"), "form": (True, "200 "), "denied upload": (True, r"(?s)method_not_allowed.*\n403 "),
        "old": (True, "200 1024 0"), "tunnel": (True, "200 1024 0"), "tunnel denied": (False, "403"), "tunnel refused": (False, "CONNECT tunnel failed, response 403"),
        "h2": (False, "(?i)http/?2|not HTTP/2|framing|reset|empty reply|HTTP/1"), "h2 offered": (True, "200 1024 0"), "http 1.0 proxy": (True, "200 1024 0"),
        "socks": (False, "(?i)socks"), "user": (True, "200 "), "basic": (True, "200 "), "own host": (True, "421 "), "connect to": (True, "421 "),
        "retry": (False, "403" if variables else UNRESOLVED),
    })
    arrived = b"".join(c["data"] for c in lab.connections("api"))
    assert b"Authorization: Basic bWU6bWluZQ==" in arrived and b"Proxy-Authorization" not in arrived and b"bWU6c2VjcmV0" not in arrived
    assert not lab.packets(dst="198.51.100.66") and lab.names_asked() == {"allowed.test", "other-allowed.test", "echo.test", "api.test"}
    sent = [c["bytes"] for c in lab.connections("echo")]
    assert sum(sent) > 4 * len(FILE), "upload, post, chunked and form arrived whole"


@pytest.mark.parametrize("variables,user", [(True, None), (False, "ordinary")], ids=["proxy-variables", "caught"])
def test_wget(lab, sallyport, variables, user):
    wget = "wget -nv --tries=1 --timeout=10"
    ended = run_clients(sallyport, POLICY, {
        "file": sh(f"{wget} http://allowed.test/1m && stat -c 'size %s' 1m"), "continue": sh(f"head -c 1000 1m >half && mv half 1m && {wget} -c http://allowed.test/1m && stat -c 'size %s' 1m"),
        "spider": sh(f"{wget} --spider http://allowed.test/1m"), "post": sh(f"{wget} -O - --header='{OCTETS}' --post-file=file http://allowed.test/upload"), "denied post": sh(f"{wget} --post-file=file http://allowed.test/1k"),
        "denied": sh(f"{wget} http://denied.test/"), "denied method": sh(f"{wget} --method=DELETE http://allowed.test/"),
        "many": sh(f"{wget} -O all http://allowed.test/1k http://other-allowed.test/1k http://allowed.test/1k && stat -c 'size %s' all"),
        "recursive": sh(f"{wget} -r -l 1 http://allowed.test/chunked"), "stored": sh(f"{wget} -N http://allowed.test/1k && {wget} -N http://allowed.test/1k"),
    }, files={"file": FILE}, variables=variables, user=user)
    check(ended, {
        "file": (True, "size 1048576"), "continue": (True, "size 1048576"), "spider": (True, "200 OK"), "post": (True, "taken"), "denied post": (False, "403: .*method_not_allowed"),
        "denied": (False, r"403: .*no_rule" if variables else UNRESOLVED), "denied method": (False, "403: .*method_not_allowed"),
        "many": (True, "size 3072"), "recursive": (True, ""), "stored": (True, ""),
    })
    assert not lab.packets(dst="198.51.100.66")
    assert [r["status"] for r in lab.records("requests") if r["target"] == "/1m"] == [200, 206, 200]

"""The hosts serve what README.md says, to a client without Sallyport."""

import base64
import json

import pytest
from probes import converse, inside

GET = b"GET / HTTP/1.1\r\nHost: raw.test\r\n\r\n"
RAW = "198.51.100.30"


def curl(lab, *arguments):
    return lab.exec(["curl", "-sS", "-m", "8", "--cacert", lab.ca, *arguments], names=True, timeout=15)


@pytest.mark.parametrize("family", ["-4", "-6"])
@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("name", ["allowed.test", "x.wild.allowed.test", "other-allowed.test", "cdn-a.test", "cdn-b.test", "denied.test"])
def test_origins(lab, family, scheme, name):
    assert curl(lab, family, f"{scheme}://{name}/").stdout == f"hello from {name}\n"


def test_origins_of_one_family_and_their_files(lab):
    assert curl(lab, "http://v6only.test/").stdout == "hello from v6only.test\n"
    assert curl(lab, "http://v4only.test/").stdout == "hello from v4only.test\n"
    for path, size in (("1k", 1024), ("1m", 1 << 20), ("10m", 10 << 20)):
        assert len(curl(lab, f"http://allowed.test/{path}").stdout_bytes) == size
    chunked = curl(lab, "-D-", "http://allowed.test/chunked").stdout
    assert "Transfer-Encoding: chunked" in chunked and chunked.endswith("chunked from the lab\n")
    assert curl(lab, "-w", "%{http_version}", "-o/dev/null", "https://allowed.test/").stdout == "2"
    assert curl(lab, "-w", "%{http_code}", "-o/dev/null", "http://allowed.test/status/503").stdout == "503"
    assert curl(lab, "-w", "%{redirect_url}", "http://allowed.test/redirect", "-o/dev/null").stdout == "http://denied.test/"
    unserved = curl(lab, "-H", "Host: denied.test", "http://allowed.test/").stdout
    assert unserved == "denied.test is not served here\n"


@pytest.mark.parametrize("name, why", [("wrongname.test", "subject name"), ("expired.test", "expired"), ("untrusted.test", "self-signed")])
def test_bad_certificates_are_bad(lab, name, why):
    refused = curl(lab, f"https://{name}/")
    assert refused.exit == 60 and why in refused.stderr
    assert curl(lab, "-k", f"https://{name}/").stdout == f"hello from {name}\n"


@pytest.mark.parametrize("url", ["http://echo.test/a?b", "https://echo.test/a?b", "http://api.test/a?b"])
def test_echo_says_what_it_got(lab, url):
    said = json.loads(curl(lab, url, "-d", "body", "-H", "X-One:  two ").stdout)
    assert (said["method"], said["target"], said["tls"]) == ("POST", "/a?b", url.startswith("https"))
    assert base64.b64decode(said["body_base64"]) == b"body"
    head = base64.b64decode(said["head_base64"])
    assert head.startswith(b"POST /a?b HTTP/1.1\r\n") and head.endswith(b"\r\n\r\n") and ["X-One", "two"] in said["headers"]
    if url.startswith("https"):
        assert said["sni"] == "echo.test" and lab.connections("echo")[0]["sni"] == "echo.test"


def test_echo_reads_chunks_and_goes_on(lab):
    chunked = b"POST / HTTP/1.1\r\nHost: e\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n"
    got, _ = converse(lab, "198.51.100.20", 80, chunked + b"GET /next HTTP/1.1\r\nHost: e\r\nConnection: close\r\n\r\n")
    assert got.count(b"HTTP/1.1 200 OK") == 2 and base64.b64encode(b"abcde") in got and b"/next" in got
    assert curl(lab, "http://api.test/v1/items").stdout.count("name") == 2


def test_git_clones_and_takes_pushes(lab, tmp_path):
    script = f"""
set -e; export GIT_CONFIG_GLOBAL=/dev/null HOME={tmp_path}; cd {tmp_path}
git -c http.sslCAInfo={lab.ca} clone -q https://git.test/acme/app.git one
git clone -q http://git.test/acme/app.git two; cd two
git log --oneline | wc -l
git -c user.name=a -c user.email=b commit -q --allow-empty -m more && git push -q origin HEAD:refs/heads/pushed
git ls-remote origin | grep -c pushed; git push -q origin :refs/heads/pushed
"""
    done = lab.exec(["sh", "-c", script], names=True, timeout=20)
    assert (done.exit, done.stdout.split()) == (0, ["3", "1"]), done


def test_metadata_gives_a_credential(lab):
    for host in ("169.254.169.254", "[fd00:ec2::254]"):
        assert json.loads(curl(lab, f"http://{host}/latest/meta-data/").stdout)["Code"] == "Success"
    assert [c["role"] for c in lab.connections()] == ["metadata"] * 2


def test_the_attacker_is_a_success_over_tls_too(lab):
    assert curl(lab, "-k", "https://203.0.113.66/").stdout == "attacker was reached\n"
    (connection,) = lab.connections("attacker")
    assert connection["data"][:1] == b"\x16" and connection["plain"].startswith(b"GET / HTTP/1.1\r\n")
    assert inside(lab, "print(json.dumps(datagram('203.0.113.66', 443, b'quic', 2).hex()))") == b"quic".hex()


def test_slow_is_slow_and_refused_refuses(lab):
    assert curl(lab, "-w", " %{time_total}", "http://slow.test/").stdout.startswith("slow but here\n 5.")
    assert curl(lab, "http://refused-tcp.test/").exit == 7


@pytest.mark.parametrize("port", [22, 80, 443, 5432, 8080])
def test_raw_records_the_exact_bytes(lab, port):
    odd = b"\x16\x03\x01\x00\xff NUL \0 and no end"
    assert converse(lab, RAW, port, odd, half_close=True) == (b"", "fin")
    assert [c["data"] for c in lab.connections("raw")] == [odd]


def test_raw_plays_answers_in_order(lab):
    assert converse(lab, RAW, 80, GET + GET, seconds=0.3)[0].count(b"HTTP/1.1 200 OK") == 2
    lab.script(80, [b"one", b"two"], after="close")
    assert converse(lab, RAW, 80, GET + GET) == (b"onetwo", "fin")
    lab.script(80, b"banner", trigger="connect", after="hold")
    assert converse(lab, RAW, 80, GET, seconds=0.3) == (b"banner", "open")
    lab.script(80, b"HTTP/1.1 200 OK\r\n\r\n", after="reset", piece=4, pause=0.01)
    assert converse(lab, RAW, 80, GET)[1] == "reset"
    lab.script(80, b"bye", trigger="eof")
    assert converse(lab, RAW, 80, b"x", half_close=True) == (b"bye", "fin")
    assert converse(lab, RAW, 8080, GET, seconds=0.3)[0].startswith(b"HTTP/1.1 200")  # per port


def test_raw_modes(lab):
    lab.script(8080, mode="hold")
    assert converse(lab, RAW, 8080, GET, seconds=0.3) == (b"", "open")
    lab.script(8080, mode="reset", trigger="data")
    assert converse(lab, RAW, 8080, b"x") == (b"", "reset")
    lab.script(8080, mode="echo")
    assert converse(lab, RAW, 8080, b"e" * 100000, half_close=True) == (b"e" * 100000, "fin")
    lab.script(8080, mode="half-close")
    got, end = converse(lab, RAW, 8080, b"x", half_close=True)
    assert (len(got), end) == (1 << 20, "fin")


def test_rawtls_is_raw_inside_tls(lab):
    lab.script(443, b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", host="rawtls")
    assert curl(lab, "https://rawtls.test/secret").stdout == "hi"
    (connection,) = lab.connections("rawtls")
    assert connection["plain"].startswith(b"GET /secret HTTP/1.1\r\n") and b"/secret" not in connection["data"]
    assert connection["sni"] == "rawtls.test"

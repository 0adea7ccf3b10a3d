"""Programs that nobody changed, inside a sandbox, by explicit proxy and caught, as root and as an ordinary user. Each runs twice: once
for something that the policy allows, once for its denied twin. What left is read from the lab's recordings.

A run is made once for each (user, proxy variables), with all programs in it.
"""

import dataclasses
import re

import pytest

from client_runs import UNRESOLVED, run_clients

POLICY = """policy: clients/1
rules:
  - id: web
    allow: GET,HEAD http://allowed.test/**
  - id: web-tls
    allow: tls://allowed.test
  - id: other-tls
    allow: tls://cdn-a.test
  - id: git
    allow: http://git.test/**
  - id: raw
    allow: tcp://raw.test:5432
"""

# Whatever a client says of a 403 of ours.
REFUSED = r"403"


@dataclasses.dataclass
class Client:
    """`argv` takes a URL, or a host where `target` says so; `says` is in its output when it got what it asked for."""

    argv: object
    says: str
    allowed: str
    denied: str
    by_proxy: str = REFUSED  # of the denied one where the proxy variables are read
    caught: str = UNRESOLVED


def python(body):
    return lambda target: ["/usr/bin/python3", "-c", body, target]


def node(body):
    return lambda target: ["/usr/bin/node", "-e", body, target]


def sh(body):
    return lambda target: ["sh", "-c", body, "sh", target]


CURL = ["curl", "-sS", "--max-time", "10", "--cacert", "ca.pem", "-w", "\n%{http_code}"]
WGET = ["wget", "-nv", "-O", "-", "--tries=1", "--timeout=10", "--ca-certificate=ca.pem"]
URLLIB = ("import ssl, sys, urllib.request\n"
          "print(urllib.request.urlopen(sys.argv[1], timeout=10, context=ssl.create_default_context(cafile='ca.pem')).read().decode())")
FETCH = "fetch(process.argv[1]).then(async r => console.log(r.status, await r.text())).catch(e => { console.log(e.cause || e); process.exit(1) })"
HTTP_GET = ("require('http').get(process.argv[1], r => { console.log(r.statusCode); r.pipe(process.stdout) })"
            ".on('error', e => { console.log(e); process.exit(1) })")
S_CLIENT = ["openssl", "s_client", "-CAfile", "ca.pem", "-verify_return_error", "-brief"]
WEB, WEB_DENIED = "http://allowed.test/", "http://denied.test/"
TLS, TLS_DENIED = "https://allowed.test/", "https://denied.test/"

# Node 20 and openssl read no proxy variables, nc neither: with and without they are caught.
CLIENTS = {
    "curl": Client(lambda u: [*CURL, u], "hello from allowed", WEB, WEB_DENIED, by_proxy=r"(?s)no_rule.*\n403"),
    "curl https": Client(lambda u: [*CURL, u], "hello from allowed", TLS, TLS_DENIED),
    "wget": Client(lambda u: [*WGET, u], "hello from allowed", WEB, WEB_DENIED, by_proxy=r"ERROR 403: .*no_rule"),
    "wget https": Client(lambda u: [*WGET, u], "hello from allowed", TLS, TLS_DENIED, by_proxy=r"tunneling failed: .*no_rule"),
    "git clone": Client(sh('rm -rf app && git clone -q "$1" app && git -C app log --oneline | wc -l'), "3",
                        "http://git.test/acme/app.git", "http://denied.test/acme/app.git"),
    "urllib": Client(python(URLLIB), "hello from allowed", WEB, WEB_DENIED, by_proxy=r"HTTP Error 403: .*no_rule"),
    "urllib https": Client(python(URLLIB), "hello from allowed", TLS, TLS_DENIED, by_proxy=r"failed: 403 .*no_rule"),
    "node fetch": Client(node(FETCH), "200 hello from allowed", WEB, WEB_DENIED, by_proxy=UNRESOLVED),
    "node http.get": Client(node(HTTP_GET), "hello from allowed", WEB, WEB_DENIED, by_proxy=UNRESOLVED),
    "openssl s_client": Client(lambda h: [*S_CLIENT, "-connect", h + ":443", "-servername", h], "Verification: OK", "allowed.test", "denied.test",
                               by_proxy=UNRESOLVED),
    "nc": Client(sh('printf "x\\r\\n\\r\\n" | nc -N -w 5 "$1" 5432'), "HTTP/1.1 200", "raw.test", "denied.test", by_proxy=UNRESOLVED),
    # Told on their command lines.
    "curl -x": Client(lambda u: [*CURL, "-x", "http://127.0.0.1:3128", u], "hello from allowed", WEB, WEB_DENIED, caught=r"(?s)no_rule.*\n403"),
    "curl --noproxy": Client(lambda u: [*CURL, "--noproxy", "*", u], "hello from allowed", WEB, WEB_DENIED, by_proxy=UNRESOLVED),
    "curl --noproxy https": Client(lambda u: [*CURL, "--noproxy", "*", u], "hello from allowed", TLS, TLS_DENIED, by_proxy=UNRESOLVED),
    "openssl s_client -proxy": Client(lambda h: [*S_CLIENT, "-proxy", "127.0.0.1:3128", "-connect", h + ":443", "-servername", h],
                                      "Verification: OK", "allowed.test", "denied.test", caught=REFUSED),
    "nc -X connect": Client(sh('(printf "x\\r\\n\\r\\n"; sleep 0.3) | nc -X connect -x 127.0.0.1:3128 -w 5 "$1" 5432'), "HTTP/1.1 200", "raw.test",
                            "denied.test", by_proxy=r'403', caught=r"403"),
    # Denied although the name is allowed: the server name, an address, a method.
    "server name": Client(lambda h: [*S_CLIENT, "-connect", "cdn-a.test:443", "-servername", h], "Verification: OK", "cdn-a.test", "cdn-b.test",
                          by_proxy="alert", caught="alert"),
    "address": Client(lambda h: [*CURL, "--noproxy", "*", f"http://{h}/"], "hello from allowed", "allowed.test", "198.51.100.66",
                      by_proxy=r"(?s)literal_not_allowed.*\n403", caught=r"(?s)literal_not_allowed.*\n403"),
    "IPv6 address": Client(lambda h: [*CURL, "-g", "--noproxy", "*", f"http://{h}/"], "hello from allowed", "allowed.test", "[2001:db8::66]",
                           by_proxy=r"(?s)literal_not_allowed.*\n403", caught=r"(?s)literal_not_allowed.*\n403"),
    "method": Client(lambda m: [*CURL, "-X", m, WEB], "hello from allowed", "GET", "DELETE", by_proxy=r"(?s)method_not_allowed.*\n403",
                     caught=r"(?s)method_not_allowed.*\n403"),
}
REFUSED_WITH_EXIT_0 = {"curl", "curl -x", "address", "IPv6 address", "method"}  # curl without --fail shows what a 403 says


def commands():
    made = {}
    for name, client in CLIENTS.items():
        made[name + ": allowed"] = client.argv(client.allowed)
        made[name + ": denied"] = client.argv(client.denied)
    return made


def problems_of(name, client, ended, variables):
    """What is wrong with how a client's two runs ended; one line each."""
    code, said = dataclasses.astuple(ended[name + ": allowed"])
    if code != 0 or client.says not in said:
        yield f"{name}: allowed: exit {code}: {said.strip()}"
    code, said = dataclasses.astuple(ended[name + ": denied"])
    if code == "timeout" or (code == 0 and name not in REFUSED_WITH_EXIT_0):
        yield f"{name}: denied: exit {code}: {said.strip()}"
    expected = client.by_proxy if variables else client.caught
    if not re.search(expected, said) or "hello from" in said:
        yield f"{name}: denied: does not say {expected!r}: {said.strip()}"


@pytest.mark.timeout(90)
@pytest.mark.parametrize("variables", [True, False], ids=["proxy-variables", "caught"])
@pytest.mark.parametrize("user", [None, "ordinary"], ids=["root", "ordinary"])
def test_unchanged_clients_reach_what_is_allowed_and_nothing_else(lab, sallyport, user, variables):
    ended = run_clients(sallyport, POLICY, commands(), files={"ca.pem": lab.ca.read_bytes()}, variables=variables, user=user)
    problems = [line for name, client in CLIENTS.items() for line in problems_of(name, client, ended, variables)]
    assert not problems, "\n\n".join(problems)

    assert not lab.packets_to_unpermitted()
    assert not lab.packets(dst="198.51.100.66") and not lab.packets(dst="2001:db8::66")
    assert lab.names_asked() == {"allowed.test", "cdn-a.test", "git.test", "raw.test"}
    assert not lab.connections("attacker") and not [r for r in lab.records("requests") if r.get("method") == "DELETE"]
    assert [c["data"] for c in lab.connections("raw")] == [b"x\r\n\r\n"] * 2

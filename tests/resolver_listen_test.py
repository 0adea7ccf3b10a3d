"""`sallyport resolver --listen`: the resolver on a loopback port, with real clients. Cases: dns-001, dns-006, dns-027."""

import json
import time

import pytest
from dns_inside_test import A, AAAA, is_answer, is_denial, parse, query

POLICY = """policy: listen/1
rules:
  - id: web
    allow: http://allowed.test/**
  - {id: real, allow: 'tls://other-allowed.test', dns: [TXT, real]}
"""
PORT = 5399


@pytest.fixture
def listening(lab, binaries, tmp_path):
    """Starts the resolver on an address and waits until it is ready."""
    started = []

    def start(address, policy=POLICY):
        (tmp_path / "policy.yaml").write_text(policy)
        argv = [binaries.path("sallyport"), "resolver", "--listen", address, "--policy", tmp_path / "policy.yaml", "--config", lab.config,
                "--state", tmp_path / "state"]
        run = lab.start(argv, env={"HOME": str(tmp_path)})
        started.append(run)
        end = time.monotonic() + 20
        while b"DNS on" not in run.output()[1]:
            assert run.process.poll() is None and time.monotonic() < end, run.output()
            time.sleep(0.05)
        return run

    yield start
    for run in started:
        run.kill()


CLIENT = r"""
import json, socket, struct, sys
steps = json.load(sys.stdin)
out = []
stream = None
for step in steps:
    data = bytes.fromhex(step["hex"])
    if step["tcp"]:
        if stream is None:
            stream = socket.create_connection((step["host"], step["port"]), 3)
            stream.settimeout(5)
        stream.sendall(struct.pack("!H", len(data)) + data)
        def exactly(n):
            got = b""
            while len(got) < n:
                piece = stream.recv(n - len(got))
                if not piece: raise SystemExit("closed")
                got += piece
            return got
        out.append(exactly(struct.unpack("!H", exactly(2))[0]).hex())
    else:
        sock = socket.socket(socket.AF_INET6 if ":" in step["host"] else socket.AF_INET, socket.SOCK_DGRAM)
        sock.settimeout(5)
        sock.connect((step["host"], step["port"]))
        sock.send(data)
        out.append(sock.recv(65535).hex())
print(json.dumps(out))
"""


def converse(lab, host, steps):
    given = [{"host": host, "port": PORT, "hex": message.hex(), "tcp": tcp} for message, tcp in steps]
    done = lab.exec(["/usr/bin/python3", "-IS", "-c", CLIENT], stdin=json.dumps(given).encode(), timeout=20)
    assert done.exit == 0, done
    return [parse(bytes.fromhex(each)) for each in json.loads(done.stdout)]


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_answers_by_udp_and_tcp(lab, listening, host):
    run = listening(f"[{host}]:{PORT}" if ":" in host else f"{host}:{PORT}")
    messages = [query("allowed.test"), query("denied.test", AAAA), query("allowed.test", AAAA), query("use-application-dns.net"), query("other-allowed.test", A)]
    by_udp, by_tcp = (converse(lab, host, [(m, tcp) for m in messages]) for tcp in (False, True))
    for replies in (by_udp, by_tcp):
        assert is_answer(replies[0]) and is_denial(replies[1]) and is_answer(replies[2]) and is_denial(replies[3]), replies
        assert [str(a) for a in replies[4].addresses] == ["198.51.100.11"]
    assert by_udp[0].addresses == by_tcp[0].addresses
    assert lab.names_asked() == {"other-allowed.test"}
    run.signal(15)
    assert run.wait(10).exit == 0


def test_serves_real_clients(lab, listening):
    lab.zone("other-allowed.test", "TXT", ["hello"])
    listening(f"127.0.0.1:{PORT}")
    dig = ["dig", "@127.0.0.1", "-p", str(PORT), "+tries=1", "+time=3"]
    denied = lab.exec([*dig, "denied.test"]).stdout
    assert "status: NXDOMAIN" in denied and "EDE: 15 (Blocked): (no_rule" in denied, denied
    assert lab.exec([*dig, "+tcp", "+short", "allowed.test"]).stdout.startswith("198.1")
    assert lab.exec([*dig, "+short", "other-allowed.test", "TXT"]).stdout.strip() == '"hello"'
    assert "BADVERS" in lab.exec([*dig, "+edns=1", "+noednsneg", "allowed.test"]).stdout
    many = lab.exec([*dig, "+keepopen", "+tcp", "+short", *["allowed.test"] * 20], timeout=20).stdout.split()
    assert len(many) == 20 and len(set(many)) == 1


@pytest.mark.parametrize("address", ["0.0.0.0:53", "192.0.2.1:53", "127.0.0.1", "localhost:53", "127.0.0.1:0x35", ""])
def test_refuses_other_addresses(lab, sallyport, address):
    done = sallyport.plain(["resolver", "--listen", address])
    assert done.exit != 0 and "--listen" in done.stderr, done


def test_says_when_the_port_is_taken(lab, sallyport, listening):
    listening(f"127.0.0.1:{PORT}")
    done = sallyport.plain(["resolver", "--listen", f"127.0.0.1:{PORT}"])
    assert done.exit != 0 and f"127.0.0.1:{PORT}" in done.stderr and "in use" in done.stderr, done

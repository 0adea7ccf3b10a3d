"""What holds around a task whatever it does: the host's loopback, one namespace after another, flows when the task ends, identity."""

import os
import subprocess
import time

from raw_exchanges import Send, exchange, get

POLICY = """policy: containment/1
rules:
  - id: loop
    allow: http://loop.test/**
  - id: private
    allow: tcp://private.test:80
  - id: raw
    allow: tcp://raw.test:5432
  - id: clear
    allow: http://allowed.test/**
"""


def test_the_hosts_loopback_is_not_reached(lab, sallyport):
    """firewall-004: the appliance's own 127.0.0.1:80 listens (the lab's control), and nothing of it is seen from inside."""
    own, own6, by_name, by_name_explicit, control = exchange(sallyport, POLICY, [
        Send(get("/", "127.0.0.1"), to=("127.0.0.1", 80), seconds=2),
        Send(get("/", "[::1]"), to=("::1", 80), seconds=2),
        Send(get("/", "loop.test"), to=("loop.test", 80)),
        Send(get("http://loop.test/", "loop.test")),
        Send(get("/", "allowed.test"), to=("allowed.test", 80)),
    ])
    assert own.end == "refused" and own6.end == "refused"
    assert by_name.status == 403 and by_name_explicit.status == 403
    assert by_name.problem()["reason"] == "address_refused"
    assert control.status == 200
    assert not [r for r in lab.records("loopback") if r.get("dport") == 80]
    # The control of that: the same address answers to somebody who is not contained.
    assert lab.exec(["curl", "-s", "-o", "/dev/null", "-m", "3", "http://127.0.0.1/"]).exit in (0, 52, 56)
    assert [r for r in lab.records("loopback") if r.get("dport") == 80]


def test_a_namespace_is_not_used_twice(lab, sallyport, binaries):
    """firewall-010: nothing of a task is left for the next: a fresh namespace each, and one that was used is refused."""
    script = ["/bin/sh", "-c", "readlink /proc/self/ns/net; cat /etc/resolv.conf; cat /proc/net/nf_conntrack 2>/dev/null | wc -l"]
    first, second = (sallyport(script, policy=POLICY, options=["--quiet"]).stdout.splitlines() for _ in range(2))
    assert first[0].startswith("net:[") and second[0].startswith("net:[")
    assert first[-1] == "0" and second[-1] == "0"
    name = f"sp-twice-{os.getpid()}"
    policy = "/tmp/" + name + ".yaml"
    with open(policy, "w") as file:
        file.write(POLICY)
    subprocess.run(["ip", "netns", "add", name], check=True, timeout=10)
    try:
        def attach():
            argv = lab.argv([binaries.path("sallyport"), "attach", "--netns", f"/run/netns/{name}", "--policy", policy, "--config", lab.config])
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            line = process.stderr.readline()
            return process, line

        process, line = attach()
        assert "attached and tested" in line, line
        process.terminate()
        assert process.wait(10) == 0
        again, line = attach()
        assert again.wait(10) == 125 and "denied" in line, line
    finally:
        subprocess.run(["ip", "netns", "del", name], timeout=10)
        os.unlink(policy)


def test_open_flows_end_with_the_task(lab, sallyport):
    """firewall-011: a tunnel that is open when the task is revoked is cut on both sides, within a second."""
    lab.script(5432, mode="hold")
    code = "import socket,time; s=socket.create_connection(('raw.test',5432),5); s.sendall(b'open'); print('up', flush=True); time.sleep(30)"
    run = sallyport.start(["/usr/bin/python3", "-IS", "-c", code], policy=POLICY, options=["--quiet"])
    until = time.monotonic() + 10
    while time.monotonic() < until and not any(c["data"] == b"open" for c in lab.connections("raw")):
        time.sleep(0.05)
    held, = lab.connections("raw")
    assert held["data"] == b"open" and held["closed"] is None
    begin = time.monotonic()
    run.signal(2)
    while time.monotonic() < begin + 5 and lab.connections("raw")[0]["closed"] is None:
        time.sleep(0.05)
    assert lab.connections("raw")[0]["closed"] is not None and time.monotonic() - begin < 2
    assert run.wait(15).exit == 122


def test_no_token_selects_a_policy(lab, sallyport):
    """launcher-007, client-011: identity is the socket; a Proxy-Authorization changes nothing and none is ever asked for."""
    tokens = [b"", b"Proxy-Authorization: Basic d3Jvbmc6d3Jvbmc=\r\n", b"Proxy-Authorization: Bearer t-0123456789abcdef\r\n"]
    allowed = exchange(sallyport, POLICY, [Send(get("http://allowed.test/", "allowed.test", token)) for token in tokens])
    denied = exchange(sallyport, POLICY, [Send(get("http://denied.test/", "denied.test", token)) for token in tokens])
    assert [r.status for r in allowed] == [200] * 3
    assert [r.status for r in denied] == [403] * 3


def test_a_name_with_a_private_address_is_refused_in_a_tunnel_too(lab, sallyport):
    """dns-011 on a tcp:// rule; the control is the raw host."""
    private, control = exchange(sallyport, POLICY, [
        Send(b"CONNECT private.test:80 HTTP/1.1\r\nHost: private.test:80\r\n\r\n"),
        Send(b"CONNECT raw.test:5432 HTTP/1.1\r\nHost: raw.test:5432\r\n\r\n")])
    assert private.status == 403 and private.problem()["reason"] == "address_refused"
    assert control.status == 200
    assert not lab.connections("internal")

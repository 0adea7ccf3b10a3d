"""The commands around a policy: explain, test, diff, init, fmt, add, import, suggest, replay. Each with what it refuses, run as a
person would run it; the last ones on what a real task left behind."""

import json
import os
import pty
import re
import shlex
import subprocess
from pathlib import Path

import pytest

POLICY = """# ours
policy: shop/3
rules:
  - id: prices   # the catalogue
    allow: GET,HEAD http://api.shop.example/v2/prices/**
    limits: {requests: 200, download: 50MiB}
  - id: admin
    deny: http://api.shop.example/v2/prices/admin/**
  - id: cdn
    allow: tls://cdn.shop.example

budgets: {wall: 30m}
tests:
  - allow: GET http://api.shop.example/v2/prices/7
    rule: prices
  - deny: POST http://api.shop.example/v2/prices/7
"""


class Shell:
    """`sallyport policy …` in a directory of its own, with a policy in p.yaml."""

    def __init__(self, program, directory):
        self.program, self.directory = program, directory
        self.write("p.yaml", POLICY)

    def write(self, name, text):
        (self.directory / name).write_text(text)

    def read(self, name="p.yaml"):
        return (self.directory / name).read_text()

    def __call__(self, *arguments, stdin=""):
        done = subprocess.run([self.program, "policy", *arguments], cwd=self.directory, input=stdin, text=True,
                              capture_output=True, timeout=20)
        for text in (done.stdout, done.stderr):
            assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text), "something a terminal would obey"
        return done


@pytest.fixture
def policy(binaries, tmp_path):
    return Shell(binaries.path("sallyport"), tmp_path)


# --- explain --------------------------------------------------------------------------------


def test_explain_says_which_rule_allows_and_its_limits(policy):
    done = policy("explain", "p.yaml", "GET http://api.shop.example/v2/prices/7?page=2")
    assert done.returncode == 0, done
    assert "allowed\n  by rule prices, p.yaml line 5: allow: GET,HEAD http://api.shop.example/v2/prices/**" in done.stdout
    assert "limits of the rule: requests 200, download 50MiB" in done.stdout
    assert "wall 30m" in done.stdout


def test_explain_says_why_not_and_what_would_allow_it(policy):
    done = policy("explain", "p.yaml", "POST http://api.shop.example/v2/prices/7")
    assert done.returncode == 1
    assert "denied: method_not_allowed" in done.stdout
    assert "method POST is not GET,HEAD" in done.stdout
    assert "host api.shop.example is not cdn.shop.example" in done.stdout
    assert "\n  - allow: POST http://api.shop.example/v2/prices/7\n" in done.stdout


@pytest.mark.parametrize("asked, status, said", [
    ("tls://cdn.shop.example", 0, "an opaque tunnel"),
    ("CONNECT cdn.shop.example:443", 0, "by rule cdn"),
    ("tcp://cdn.shop.example:443", 1, "denied: not_tls"),
    ("cdn.shop.example", 0, "an address of the task's own"),
    ("elsewhere.example", 1, "denied: no_rule"),
    ("GET http://api.shop.example/v2/prices/admin/x", 1, "a deny wins"),
    ("GET https://cdn.shop.example/x", 0, "https:// is not read"),
    ("GET http://169.254.169.254/", 1, "denied: literal_not_allowed"),
    ("GET http://api.shop.example/v2/prices/a;b", 1, "denied: path_ambiguous"),
])
def test_explain_takes_every_form(policy, asked, status, said):
    done = policy("explain", "p.yaml", asked)
    assert done.returncode == status and said in done.stdout, done


@pytest.mark.parametrize("asked, said", [
    ("GET api.shop.example/v2", "write 'GET http://api.shop.example/v2'"),
    ("GET http://api.shop.example/a/../b", "refused as malformed"),
    ("gopher://x/", "unknown scheme"),
    ("\x1b[2J", "neither a host name nor an address"),
    ("", "nothing was asked"),
])
def test_explain_says_what_to_ask_instead(policy, asked, said):
    done = policy("explain", "p.yaml", asked)
    assert done.returncode == 2 and said in done.stderr, done


def test_no_answer_without_a_policy_that_loads(policy):
    policy.write("bad.yaml", "policy: p/1\nrules:\n  - allow: *.example.com\n")
    for verb, more in (("explain", ["a.test"]), ("test", []), ("diff", ["p.yaml"]), ("fmt", []), ("replay", ["nothing"])):
        done = policy(verb, "bad.yaml", *more)
        assert done.returncode == 2 and "bad.yaml:3" in done.stderr, done
        missing = policy(verb, "missing.yaml", *more)
        assert missing.returncode == 2 and "missing.yaml" in missing.stderr, missing


def test_wrong_usage_is_told(policy):
    for arguments, said in ((["explian", "p.yaml"], "did you mean explain?"), (["explain"], "file"), (["diff", "p.yaml"], "after"),
                            (["explain", "p.yaml", "a.test", "--colour"], "--colour"), ([], "--help")):
        done = policy(*arguments)
        assert done.returncode == 2 and said in done.stderr, done
    for verb in ("explain", "test", "diff", "init", "fmt", "add", "import", "suggest", "replay", "check"):
        done = policy(verb, "--help")
        assert done.returncode == 0 and verb in done.stdout


def test_a_ceiling_has_its_say(policy):
    policy.write("top.yaml", "policy: top/1\nrules:\n  - allow: http://*.shop.example/**\n")
    policy.write("in.yaml", POLICY.replace("rules:", "within: top/1\nrules:", 1).replace("  - id: cdn\n    allow: tls://cdn.shop.example\n", ""))
    done = policy("explain", "in.yaml", "GET http://api.shop.example/v2/prices/7", "--ceiling", "top.yaml")
    assert done.returncode == 0 and "the ceiling top/1 allows it too" in done.stdout, done


def test_a_policy_within_another_is_checked_laid_out_and_compared(policy):
    policy.write("top.yaml", "policy: top/1\nrules:\n  - allow: http://*.shop.example/**\n")
    policy.write("in.yaml", "policy: in/1\nwithin: top/1\nrules:\n  - allow: GET http://a.shop.example/x\n")
    policy.write("more.yaml", policy.read("in.yaml").replace("GET", "GET,PUT"))
    for arguments in (["check", "in.yaml"], ["fmt", "--check", "in.yaml"], ["diff", "in.yaml", "in.yaml"]):
        alone = policy(*arguments)
        assert alone.returncode != 0 and "--ceiling FILE" in alone.stderr, alone
        done = policy(*arguments, "--ceiling", "top.yaml")
        assert done.returncode == 0, done
    done = policy("diff", "in.yaml", "more.yaml", "--ceiling", "top.yaml")
    assert done.returncode == 1 and "PUT http://a.shop.example/x" in done.stdout, done
    policy.write("out.yaml", policy.read("in.yaml").replace("a.shop.example", "elsewhere.example"))
    done = policy("check", "out.yaml", "--ceiling", "top.yaml")
    assert done.returncode == 1 and "lets nothing through" in done.stderr, done
    assert policy("check", "in.yaml", "--ceiling", "missing.yaml").returncode == 2


# --- test -----------------------------------------------------------------------------------


def test_tests_pass_and_fail_with_line_and_reason(policy):
    done = policy("test", "p.yaml")
    assert done.returncode == 0 and "2 passed, 0 failed" in done.stdout, done
    policy.write("q.yaml", POLICY + "  - allow: PUT http://api.shop.example/v2/prices/7\n    rule: prices\n")
    done = policy("test", "q.yaml")
    assert done.returncode == 1, done
    assert "q.yaml:17:" in done.stdout and "expected: allowed by rule prices" in done.stdout
    assert "denied, method_not_allowed" in done.stdout and "method PUT is not GET,HEAD" in done.stdout
    policy.write("none.yaml", "policy: p/1\nrules:\n  - allow: tls://a.test\n")
    done = policy("test", "none.yaml")
    assert done.returncode == 1 and "no tests" in done.stdout


# --- diff -----------------------------------------------------------------------------------


def test_diff_takes_the_placeholder_for_the_id_of_a_task(policy):
    def rules(name, *lines):
        policy.write(name, "policy: p/1\nrules:\n" + "".join(f"  - {line}\n" for line in lines))

    rules("task.yaml", "allow: PUT http://a.test/drafts/{task}/*")
    rules("denied.yaml", "allow: PUT http://a.test/drafts/**", "deny: http://a.test/drafts/t-*/**")
    rules("all.yaml", "allow: PUT http://a.test/drafts/t-*/*")
    rules("one.yaml", "allow: PUT http://a.test/drafts/t-0000000000000000/*")
    assert policy("diff", "task.yaml", "task.yaml").returncode == 0
    assert policy("diff", "all.yaml", "task.yaml").returncode == 0
    assert policy("diff", "task.yaml", "all.yaml").returncode == 1
    assert policy("diff", "denied.yaml", "task.yaml").returncode == 1
    assert policy("diff", "task.yaml", "one.yaml").returncode == 1
    assert policy("diff", "one.yaml", "task.yaml").returncode == 1


def test_diff_is_a_gate(policy):
    policy.write("wider.yaml", POLICY.replace("GET,HEAD", "GET,HEAD,PUT"))
    done = policy("diff", "p.yaml", "wider.yaml")
    assert done.returncode == 1 and "for example  PUT http://api.shop.example/v2/prices/" in done.stdout, done
    done = policy("diff", "wider.yaml", "p.yaml")
    assert done.returncode == 0 and "allows nothing that wider.yaml denies" in done.stdout and "narrower:" in done.stdout
    policy.write("same.yaml", POLICY.replace("GET,HEAD", "HEAD,GET"))
    done = policy("diff", "p.yaml", "same.yaml")
    assert done.returncode == 0 and done.stdout == "same.yaml allows what p.yaml allows\n"
    policy.write("more.yaml", POLICY.replace("requests: 200", "requests: 201").replace("wall: 30m", "wall: 31m"))
    done = policy("diff", "p.yaml", "more.yaml")
    assert done.returncode == 1 and "requests: 200 by rule prices" in done.stdout and "wall: 30m before, 31m now" in done.stdout


def test_diff_proves_each_witness(policy):
    """What diff prints as an example is what explain says of both."""
    policy.write("wider.yaml", POLICY.replace("deny: http://api.shop.example/v2/prices/admin/**", "deny: http://api.shop.example/v2/prices/admin/x"))
    done = policy("diff", "p.yaml", "wider.yaml")
    witness = re.search(r"for example  (.*)", done.stdout).group(1)
    assert policy("explain", "p.yaml", witness).returncode == 1
    assert policy("explain", "wider.yaml", witness).returncode == 0


# --- init -----------------------------------------------------------------------------------


def test_init_writes_a_policy_that_loads_and_passes(policy):
    done = policy("init", "new.yaml", "--pypi", "--npm", "--api", "http://api.example/v1/**", "--read-only", "--name", "mine")
    assert done.returncode == 0, done
    assert policy("check", "new.yaml").returncode == 0
    assert policy("test", "new.yaml").returncode == 0
    assert policy("fmt", "--check", "new.yaml").returncode == 0
    assert policy("explain", "new.yaml", "tls://pypi.org").returncode == 0
    assert policy("explain", "new.yaml", "POST http://api.example/v1/x").returncode == 1
    again = policy("init", "new.yaml", "--pypi")
    assert again.returncode == 2 and "is there already" in again.stderr


def test_init_prints_and_refuses(policy):
    done = policy("init", "--use", "debian")
    assert done.returncode == 0 and done.stdout.startswith("# A policy of Sallyport")
    for arguments, said in ((["--use", "pipy"], "there are"), (["--api", "https://a.example/v1"], "not read"), (["--name", "Mine"], "named NAME/VERSION"),
                            (["--api", "a b"], "is no host")):
        done = policy("init", *arguments)
        assert done.returncode == 2 and said in done.stderr and not done.stdout, done


def test_init_asks_on_a_terminal(policy, binaries):
    ours, theirs = pty.openpty()
    try:
        run = subprocess.Popen([binaries.path("sallyport"), "policy", "init", "asked.yaml"], cwd=policy.directory,
                               stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        os.write(ours, b"pypi\nhttp://api.example/**\ny\n")
        _, told = run.communicate(timeout=10)
    finally:
        os.close(ours)
        os.close(theirs)
    assert run.returncode == 0 and "Ready-made grants" in told
    assert "GET,HEAD http://api.example/**" in policy.read("asked.yaml") and "pypi/1" in policy.read("asked.yaml")


# --- fmt ------------------------------------------------------------------------------------


def test_fmt_keeps_comments_and_meaning(policy):
    check = policy("fmt", "--check", "p.yaml")
    assert check.returncode == 1 and policy.read() == POLICY
    assert policy("fmt", "p.yaml").returncode == 0
    once = policy.read()
    assert "# ours\n" in once and "  - id: prices  # the catalogue\n" in once and "budgets:\n  wall: 30m\n" in once
    policy.write("before.yaml", POLICY)
    assert "allows what" in policy("diff", "before.yaml", "p.yaml").stdout
    assert policy("fmt", "--check", "p.yaml").returncode == 0
    assert policy("fmt", "p.yaml").returncode == 0 and policy.read() == once


# --- add ------------------------------------------------------------------------------------


def test_add_inserts_one_rule_and_leaves_the_rest(policy):
    os.chmod(policy.directory / "p.yaml", 0o640)
    os.symlink("p.yaml", policy.directory / "link.yaml")
    done = policy("add", "link.yaml", "GET http://api.shop.example/v2/stock?x=1", "--id", "stock")
    assert done.returncode == 0 and "added  - allow: GET http://api.shop.example/v2/stock" in done.stdout, done
    assert policy.read() == POLICY.replace("\nbudgets:", "  - id: stock\n    allow: GET http://api.shop.example/v2/stock\n\nbudgets:")
    assert os.stat(policy.directory / "p.yaml").st_mode & 0o777 == 0o640
    assert os.path.islink(policy.directory / "link.yaml")
    assert policy("explain", "p.yaml", "GET http://api.shop.example/v2/stock").returncode == 0


@pytest.mark.parametrize("wanted, status, said", [
    ("GET http://api.shop.example/v2/prices/7", 1, "allowed already, by rule prices in line 5"),
    ("GET http://api.shop.example/v2/prices/admin/x", 1, "a deny wins"),
    ("tls://api.shop.example:80", 1, "would not load"),
    ("GET http://169.254.169.254/", 1, "no rule can allow this"),
    ("cdn.shop.example", 1, "a lookup needs no rule"),
    ("https//cdn.shop.example", 1, "scheme is missing"),
    ("tls://*.com", 1, "would not load"),
])
def test_add_refuses_and_changes_nothing(policy, wanted, status, said):
    done = policy("add", "p.yaml", wanted)
    assert done.returncode == status and said in done.stdout + done.stderr, done
    assert policy.read() == POLICY
    assert sorted(os.listdir(policy.directory)) == ["p.yaml"]


# --- import ---------------------------------------------------------------------------------


def test_import_tells_what_it_leaves_out(policy):
    policy.write("acl.yaml", "version: v1\nservices:\n  - name: web\n    action: enforce\n    allowed_domains: [api.example.com, 'x.*.example.com']\n")
    done = policy("import", "--from", "smokescreen", "acl.yaml", "-o", "made.yaml")
    assert done.returncode == 1 and "acl.yaml:5" in done.stderr and "x.*.example.com" in done.stderr, done
    assert policy("explain", "made.yaml", "tls://api.example.com").returncode == 0
    assert policy("explain", "made.yaml", "tls://x.y.example.com").returncode == 1
    policy.write("srt.json", json.dumps({"network": {"allowedDomains": ["a.example.com:443"], "deniedDomains": []}}))
    done = policy("import", "--from", "sandbox-runtime", "srt.json")
    assert done.returncode == 0 and "- allow: tls://a.example.com" in done.stdout, done
    policy.write("squid.conf", "acl good dstdomain .example.com\nhttp_access allow good\nhttp_access deny all\n")
    assert "- allow: tls://*.example.com" in policy("import", "--from", "squid", "squid.conf").stdout
    done = policy("import", "--from", "iptables", "squid.conf")
    assert done.returncode == 2 and "smokescreen, sandbox-runtime or squid" in done.stderr


# --- the stranger's transcript --------------------------------------------------------------


def steps_of(text):
    """(command, what it printed) of every console block of a document that is typed without a task."""
    for block in re.findall(r"```console\n(.*?)```", text.split("## Running it")[0], re.S):
        for step in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, printed = step.partition("\n")
            yield command, printed


def test_the_first_policy_is_made_as_the_document_shows(policy):
    document = (Path(__file__).parent.parent / "docs" / "first-policy.md").read_text()
    status, typed, made = 0, 0, None
    for command, printed in steps_of(document):
        name, *arguments = shlex.split(command)
        if name == "cat" and made == arguments[0]:
            assert policy.read(made) == printed
        elif name == "cat":
            policy.write(arguments[0], printed)  # edited by hand
        elif command == "echo $?":
            assert status == int(printed)
        else:
            assert (name, arguments[0]) == ("sallyport", "policy")
            done = policy(*arguments[1:])
            status, typed = done.returncode, typed + 1
            made = arguments[2] if arguments[1] in ("init", "add") else None
            assert done.stdout + done.stderr == printed, command
    assert typed > 10


# --- what a task left -----------------------------------------------------------------------

TASK = """policy: task/1
rules:
  - allow: GET http://allowed.test/**
"""


SCRIPT = """
proxy=http://127.0.0.1:3128
ask() { curl -s -o /dev/null -x $proxy "$@"; }
for n in 1 2 3; do ask http://denied.test/items/$n; done
for n in 1 2; do ask http://denied.test/b; done
ask 'http://denied.test/b%1bc'
for n in 1 2 3; do ask https://denied.test/; done
ask -X PUT http://allowed.test/
ask http://allowed.test/
curl -s -x $proxy http://sallyport.internal/denials
exit 0
"""


def test_what_was_refused_is_told_and_a_policy_is_made_of_it(lab, sallyport, tmp_path):
    """lifecycle-008"""
    state = tmp_path / "state"
    run = sallyport(["/bin/sh", "-c", SCRIPT], policy=TASK, options=["--state", str(state)])
    assert run.exit == 0, run
    refused = {r["what"]: r for r in run.receipt["refused"]}
    assert refused["GET http://denied.test/b"]["count"] == 2
    assert refused["GET http://denied.test/b"]["rule"] == "- allow: GET http://denied.test/b"
    assert refused["CONNECT denied.test:443"]["rule"] == "- allow: tls://denied.test"
    assert refused["PUT http://allowed.test/"]["reason"] == "method_not_allowed"
    assert "would need  - allow: GET http://denied.test/b" in run.stderr
    assert "\x1b" not in run.stderr

    inside = {(e["what"], e["reason"]): e for e in json.loads(run.stdout)["recent"]}
    assert inside["GET http://denied.test/b", "no_rule"]["count"] == 2
    assert inside["GET http://denied.test/b", "no_rule"]["rule"] == "- allow: GET http://denied.test/b"

    audit = str(state / "audit.jsonl")
    suggested = sallyport.plain(["policy", "suggest", audit, "--name", "seen"])
    assert suggested.exit == 0, suggested
    for line in ("GET http://denied.test/items/*", "GET http://denied.test/b", "tls://denied.test", "GET,PUT http://allowed.test/"):
        assert f"- allow: {line}\n" in suggested.stdout, suggested
    made, old = tmp_path / "made.yaml", tmp_path / "old.yaml"
    made.write_text(suggested.stdout)
    old.write_text(TASK)
    assert sallyport.plain(["policy", "replay", str(old), audit]).exit == 0
    replayed = sallyport.plain(["policy", "replay", str(made), audit])
    assert replayed.exit == 1 and "now allowed: CONNECT denied.test:443  (3 times)" in replayed.stdout, replayed
    assert sallyport.plain(["policy", "suggest", str(old)]).exit == 2
    only = sallyport.plain(["policy", "suggest", "--denied-only", audit]).stdout
    assert "PUT http://allowed.test/" in only and "GET,PUT" not in only


def test_observe_lets_nothing_through_and_shows_what_is_wanted(lab, sallyport, tmp_path):
    """A program that knows nothing of proxies: the denied name is answered, what it asks there is refused and recorded."""
    state = tmp_path / "state"
    run = sallyport(["/bin/sh", "-c", "curl -s --noproxy '*' -o /dev/null -w '%{http_code}' http://denied.test/wanted; curl -s http://allowed.test/ >/dev/null; exit 0"],
                    policy=TASK, options=["--state", str(state), "--observe"])
    assert run.exit == 0 and run.stdout == "403", run
    assert "OBSERVING: a dry run" in run.stderr and "OBSERVED: 1 different things were refused" in run.stderr
    assert run.receipt["observed"] is True
    assert [r["what"] for r in run.receipt["refused"]] == ["GET http://denied.test/wanted"]
    assert '"outcome":"observing"' in (state / "audit.jsonl").read_text()
    assert lab.names_asked() == {"allowed.test"}
    assert not lab.packets(dst="198.51.100.66")
    suggested = sallyport.plain(["policy", "suggest", "--denied-only", str(state / "audit.jsonl")]).stdout
    assert "- allow: GET http://denied.test/wanted\n" in suggested and "allowed.test" not in suggested
    without = sallyport(["true"], policy=TASK, options=["--quiet"])
    assert without.receipt["observed"] is False and "OBSERV" not in without.stderr

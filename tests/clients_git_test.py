"""git over clear HTTP: client-004 (the same over interception, with credentials and LFS, comes with https://), policy-008.

policy-009, a push limited to branches, is not expressible in http rules, which see method and path: a rule for `POST …/git-receive-pack`
allows every push. What is shown is that without such a rule none passes, and that the limits of a rule hold for packs."""

import subprocess

import pytest

from client_runs import UNRESOLVED, check, run_clients

READ_ONLY = """policy: clients-git/1
rules:
  - id: refs
    allow: GET http://git.test/acme/app.git/info/refs
  - id: fetch
    allow: POST http://git.test/acme/app.git/git-upload-pack
"""
WRITE = READ_ONLY.replace("git/1", "git-push/1") + """  - id: push
    allow: POST http://git.test/acme/app.git/git-receive-pack
    limits: {upload: 2MiB}
"""
URL = "http://git.test/acme/app.git"
COMMIT = "git -c user.name=t -c user.email=t@git.test"


def git(script):
    return ["sh", "-ec", script]


BOTH_WAYS = pytest.mark.parametrize("variables,user", [(True, "ordinary"), (False, None)], ids=["proxy-variables", "caught"])


@BOTH_WAYS
def test_client_004_policy_008_fetch_without_push(lab, sallyport, variables, user):
    ended = run_clients(sallyport, READ_ONLY, {
        "clone": git(f"git clone -q {URL} app && git -C app log --oneline | wc -l"), "shallow": git(f"git clone -q --depth 1 {URL} shallow && git -C shallow log --oneline | wc -l"),
        "deepen": git("cd shallow && git fetch -q --unshallow && git log --oneline | wc -l"), "ls-remote": git(f"git ls-remote {URL}"),
        "old protocol": git(f"git -c protocol.version=0 clone -q {URL} old && git -C old log --oneline | wc -l"),
        "push": git(f"cd app && echo x >x && git add x && {COMMIT} commit -qm x && git push origin main"), "fetch": git("cd app && git fetch origin && git status -sb"),
        "other repository": git("git ls-remote http://git.test/acme/other.git"), "other host": git("git clone http://denied.test/acme/app.git denied"),
    }, variables=variables, user=user)
    check(ended, {
        "clone": (True, "^3\n"), "shallow": (True, "^1\n"), "deepen": (True, "^3\n"), "ls-remote": (True, "refs/heads/main"), "old protocol": (True, "^3\n"),
        "push": (False, r"HTTP 403|error: 403|403"), "fetch": (True, r"\[ahead 1\]"), "other repository": (False, "403"),
        "other host": (False, "403" if variables else UNRESOLVED),
    })
    asked = b"".join(c["data"] for c in lab.connections("git"))
    assert b"git-upload-pack HTTP" in asked and b"POST /acme/app.git/git-receive-pack" not in asked and b"other.git" not in asked
    assert not lab.packets(dst="198.51.100.66")


@BOTH_WAYS
def test_client_004_push(lab, sallyport, variables, user):
    """Small packs go with a length, those over http.postBuffer chunked; one over the rule's limit ends there, and nothing was changed by it."""
    branch = f"task-{variables}"
    make = f"head -c 1500000 /dev/urandom >large && git add large && {COMMIT} commit -qm large"
    ended = run_clients(sallyport, WRITE, {
        "clone": git(f"git clone -q {URL} app && cd app && git checkout -qb {branch}"),
        "push": git(f"cd app && echo x >x && git add x && {COMMIT} commit -qm x && git push -q origin {branch} && git ls-remote origin {branch}"),
        "chunked": git(f"cd app && {make} && git -c http.postBuffer=65536 push -q origin {branch} && git rev-parse HEAD && git ls-remote origin {branch}"),
        "over the limit": git(f"cd app && {make} && git push origin {branch}"), "remote": git(f"cd app && git rev-parse HEAD~1 && git ls-remote origin {branch}"),
    }, variables=variables, user=user)
    repository = lab.dir / "git" / "acme" / "app.git"
    subprocess.run(["git", "-C", repository, "-c", "safe.directory=*", "update-ref", "-d", f"refs/heads/{branch}"], check=True, timeout=10)
    check(ended, {
        "clone": (True, ""), "push": (True, f"refs/heads/{branch}"), "chunked": (True, r"^([0-9a-f]{40})\n\1\trefs"), "over the limit": (False, r"(?i)413|RPC failed|hung up"),
        "remote": (True, r"^([0-9a-f]{40})\n\1\trefs"),
    })
    asked = b"".join(c["data"] for c in lab.connections("git"))
    assert asked.count(b"POST /acme/app.git/git-receive-pack") >= 3 and b"chunked" in asked

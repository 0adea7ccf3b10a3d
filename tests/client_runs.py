"""Several unchanged programs in one sandbox, one after the other, and how each ended.

    ended = run_clients(sallyport, POLICY, {"wget": ["wget", "-nv", "http://allowed.test/"]})
    ended["wget"].code, ended["wget"].said
"""

import base64
import dataclasses
import json
import re
import time

# Runs the commands of stdin one after the other and prints how each ended.
_INSIDE = r"""
import base64, json, os, subprocess, sys
work = json.load(sys.stdin)
os.chdir(os.environ["HOME"])
for name, data in work["files"].items():
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "wb") as out: out.write(base64.b64decode(data))
environment = dict(os.environ, GIT_TERMINAL_PROMPT="0", **work["environment"])
if not work["variables"]:
    for name in [n for n in environment if n.lower().endswith("_proxy") or n == "JAVA_TOOL_OPTIONS"]: del environment[name]
ended = {}
for name, argv in work["commands"].items():
    try:
        done = subprocess.run(argv, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=work["seconds"])
        ended[name] = [done.returncode, (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace")]
    except subprocess.TimeoutExpired as e:
        ended[name] = ["timeout", str((e.stdout, e.stderr))]
ended["variables"] = [0, " ".join(sorted(n for n in environment if n.lower().endswith("_proxy")))]
print(json.dumps(ended))
"""

# Whatever a client says of a name that the task's DNS does not give it.
UNRESOLVED = (r"(?i:could not resolve|unable to resolve|name or service not known|ENOTFOUND|EAI_AGAIN|no address associated|bad address|getaddrinfo|"
              r"UnknownHost|UnresolvedAddress|Name does not resolve|temporary failure in name resolution|cannot connect to host)")


@dataclasses.dataclass
class Ended:
    """`said`: stdout and then stderr. `code` is "timeout" for what had to be ended."""

    code: object
    said: str


def run_clients(sallyport, policy, commands, *, files=None, variables=True, environment=None, seconds=20, timeout=80, watch=None, **how):
    """`files`: name → bytes, laid into the sandbox's home, where the commands run. `variables`: with the proxy variables that the sandbox
    sets, or without any (caught). `watch`: called with the run while it goes on."""
    work = {
        "commands": {name: [str(a) for a in argv] for name, argv in commands.items()}, "variables": variables, "environment": environment or {},
        "seconds": seconds, "files": {name: base64.b64encode(data).decode() for name, data in (files or {}).items()},
    }
    how.setdefault("options", ["--quiet"])
    run = sallyport.start(["/usr/bin/python3", "-IS", "-c", _INSIDE], policy=policy, stdin=json.dumps(work).encode(), **how)
    end = time.monotonic() + timeout
    while watch is not None and run.process.poll() is None and time.monotonic() < end:
        watch(run)
        time.sleep(0.05)
    done = run.wait(max(1, end - time.monotonic()))
    assert done.exit == 0, done
    ended = {name: Ended(*end) for name, end in json.loads(done.stdout).items()}
    assert bool(ended.pop("variables").said) == variables
    return ended


def check(ended, expected):
    """`expected`: name → (succeeds, pattern that is in what it said). All that differs, at once."""
    problems = []
    assert set(ended) == set(expected), set(ended) ^ set(expected)
    for name, (succeeds, pattern) in expected.items():
        end = ended[name]
        if end.code == "timeout" or (end.code == 0) != succeeds or not re.search(pattern, end.said):
            problems.append(f"{name}: expected {'success' if succeeds else 'failure'} and {pattern!r}: exit {end.code}: {end.said.strip()[-1500:]}")
    assert not problems, "\n\n".join(problems)

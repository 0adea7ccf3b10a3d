#!/usr/bin/python3
"""Writes a Sallyport policy from the lists that the benchmark gives every peer.

  make_policy.py http   ALLOW PORTS OUT   http:// rules, for plain requests
  make_policy.py tunnel ALLOW PORTS OUT   tcp:// rules, for opaque tunnels
  make_policy.py dns    DENY  DOMAIN OUT  everything below DOMAIN but the names of DENY

ALLOW and DENY hold a name a line, a leading dot covers subdomains. PORTS are the origin's, with commas.
Budgets are set, and far away, so that what they cost is part of the measurement.
"""
import sys

BUDGETS = """budgets:
  requests: 1000000000
  upload: 100000GiB
  download: 100000GiB
  connections: {total: 1000000000, concurrent: 20000, duration: 2h}
"""


def host(name):
    return "*" + name if name.startswith(".") else name


def rule(number, action, target):
    return f"  - id: r{number}\n    {action}: {target}\n"


def main():
    kind, names, where, out = sys.argv[1:]
    lines = open(names).read().split()
    with open(out, "w") as policy:
        policy.write("policy: bench/1\nrules:\n")
        if kind == "dns":
            policy.write(rule(0, "allow", f"http://*.{where}/**"))
            for number, name in enumerate(lines, 1):
                policy.write(rule(number, "deny", f"http://{host(name)}/**"))
        form = {"http": "GET,HEAD http://{}:{}/**", "tunnel": "tcp://{}:{}"}.get(kind)
        targets = [form.format(host(name), port) for name in lines for port in where.split(",")] if form else []
        for number, target in enumerate(targets):
            policy.write(rule(number, "allow", target))
        policy.write(BUDGETS)


if __name__ == "__main__":
    main()

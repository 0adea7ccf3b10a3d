"""What is where: every address, port, name and role of the miniature internet.

This table is the contract with the tests, the demo and README.md. Nothing else in the
package spells an address.
"""

import hashlib
import os

# The appliance's namespace, and the one router address it has.
APPLIANCE4 = "192.168.77.2"
APPLIANCE6 = "fd77::2"
GATEWAY4 = "192.168.77.1"
GATEWAY6 = "fd77::1"
APPLIANCE_LINK = "eth0"
INTERNET_LINK = "lab0"
APPLIANCE_MAC = "02:00:00:00:77:02"
INTERNET_MAC = "02:00:00:00:77:01"

# An ordinary user of the tests: in no passwd file, and not 65534, which is what an
# unmapped id looks like from inside a user namespace.
ORDINARY_UID = 61000
ORDINARY_GID = 61000

# What Sallyport's `addresses: permit` is given. Not in it: 10/8, 127/8, 169.254/16.
PERMIT = ["198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32"]

RESOLVER4 = "198.51.100.53"
RESOLVER6 = "2001:db8::53"

# role -> its IPv4 addresses, its IPv6 addresses
ADDRESSES = {
    "dns": ([RESOLVER4], [RESOLVER6]),
    "allowed": (["198.51.100.10"], ["2001:db8::10"]),
    "other-allowed": (["198.51.100.11"], ["2001:db8::11"]),
    "cdn": (["198.51.100.12"], ["2001:db8::12"]),
    "v6only": ([], ["2001:db8::13"]),
    "v4only": (["198.51.100.14"], []),
    "wrongname": (["198.51.100.15"], ["2001:db8::15"]),
    "expired": (["198.51.100.16"], ["2001:db8::16"]),
    "untrusted": (["198.51.100.17"], ["2001:db8::17"]),
    "denied": (["198.51.100.66"], ["2001:db8::66"]),
    "echo": (["198.51.100.20"], ["2001:db8::20"]),
    "git": (["198.51.100.21"], ["2001:db8::21"]),
    "api": (["198.51.100.22"], ["2001:db8::22"]),
    "raw": (["198.51.100.30"], ["2001:db8::30"]),
    "rawtls": (["198.51.100.31"], ["2001:db8::31"]),
    "slow": (["198.51.100.50"], ["2001:db8::50"]),
    # Nothing listens here: a connection is reset at once.
    "refused": (["198.51.100.60"], ["2001:db8::60"]),
    # Only as the source of forged DNS answers.
    "forger": (["198.51.100.99"], ["2001:db8::99"]),
    "attacker": (["203.0.113.66"], ["2001:db8:bad::66"]),
    "metadata": (["169.254.169.254"], ["fd00:ec2::254"]),
    # Private and special addresses that a permissive dialler would reach.
    "internal": (
        ["10.0.0.5", "10.1.1.1", "100.64.0.1", "172.16.0.1", "192.168.1.1"],
        ["fd00::5", "64:ff9b::a00:5"],
    ),
    # Places outside `permit`.
    "elsewhere": (
        ["192.0.2.8", "192.0.2.11", "192.0.2.9", "192.0.2.34", "100.100.100.200", "168.63.129.16"],
        ["3fff::8888", "3fff::1111"],
    ),
}

# Served by nginx: role -> (server names, certificate)
ORIGINS = {
    "allowed": (["allowed.test", "www.allowed.test", "*.wild.allowed.test", "mixed.test", "*.bench.test"], "site"),
    "other-allowed": (["other-allowed.test"], "site"),
    "cdn": (["cdn-a.test", "cdn-b.test"], "site"),
    "v6only": (["v6only.test"], "site"),
    "v4only": (["v4only.test"], "site"),
    "wrongname": (["wrongname.test"], "stranger"),
    "expired": (["expired.test"], "expired"),
    "untrusted": (["untrusted.test"], "untrusted"),
    "denied": (["denied.test", "*.denied.test"], "site"),
}

# Names in the `site` certificate beyond those of ORIGINS.
MORE_SITE_NAMES = ["echo.test", "git.test", "api.test", "rawtls.test", "attacker.test"]

HTTP_PORTS = [80, 443]
NGINX_PROBE_PORT = 8099  # on the internet's loopback: has it logged everything?
RAW_PORTS = [22, 80, 443, 5432, 8080]
TRAP_TCP_PORTS = [22, 53, 80, 443, 853, 5432, 8080, 65535]
TRAP_UDP_PORTS = [53, 443, 9999]
# In the appliance's own namespace: its loopback and its own addresses.
SELF_PORTS = [80, 443, 5432]
SELF_ADDRESSES = {"loopback": ["127.0.0.1", "::1"], "self": [APPLIANCE4, APPLIANCE6]}


def _both(role):
    v4, v6 = ADDRESSES[role]
    found = {}
    if v4:
        found["A"] = v4[:1]
    if v6:
        found["AAAA"] = v6[:1]
    return found


# The authoritative zone as it is when a lab comes up: name -> type -> answer.
# What an answer may be is described in zone.py.
NAMES = {
    "allowed.test": _both("allowed"),
    "www.allowed.test": _both("allowed"),
    "*.wild.allowed.test": _both("allowed"),
    "other-allowed.test": _both("other-allowed"),
    "echo.test": _both("echo"),
    "git.test": _both("git"),
    "api.test": _both("api"),
    "raw.test": _both("raw"),
    "rawtls.test": _both("rawtls"),
    "denied.test": _both("denied"),
    "*.denied.test": _both("denied"),
    "attacker.test": _both("attacker"),
    "cdn-a.test": _both("cdn"),
    "cdn-b.test": _both("cdn"),
    "v6only.test": _both("v6only"),
    "v4only.test": _both("v4only"),
    "wrongname.test": _both("wrongname"),
    "expired.test": _both("expired"),
    "untrusted.test": _both("untrusted"),
    "slow.test": _both("slow"),
    "refused-tcp.test": _both("refused"),
    "*.bench.test": _both("allowed"),
    # Addresses nobody should dial for a name.
    "private.test": {"A": ["10.0.0.5"], "AAAA": ["fd00::5"]},
    "loop.test": {"A": ["127.0.0.1"], "AAAA": ["::1"]},
    "meta.test": {"A": ["169.254.169.254"], "AAAA": ["fd00:ec2::254"]},
    "cgnat.test": {"A": ["100.64.0.1"]},
    "zero.test": {"A": ["0.0.0.0"], "AAAA": ["::"]},
    "self.test": {"A": [APPLIANCE4], "AAAA": [APPLIANCE6]},
    "mapped.test": {"AAAA": ["::ffff:127.0.0.1"]},
    "nat64.test": {"AAAA": ["64:ff9b::a00:5"]},
    "mixed.test": {"A": ["198.51.100.10", "10.0.0.5"]},
    "mixed-refused.test": {"A": ["198.51.100.60", "10.0.0.5"]},
    # Behaviours of the server.
    "cname.test": {"CNAME": ["allowed.test"]},
    "cname-private.test": {"CNAME": ["private.test"]},
    "cname-loop.test": {"CNAME": ["cname-loop.test"]},
    "many.test": {"A": {"values": [f"198.51.100.{n}" for n in range(100, 160)], "tc": True}},
    "flip.test": {"A": {"ttl": 0, "sequence": [["198.51.100.10"], ["127.0.0.1"]]}},
    "servfail.test": {"*": {"rcode": "SERVFAIL"}},
    "timeout.test": {"*": {"drop": True}},
    "nx.test": {"*": {"rcode": "NXDOMAIN"}},
    "spoofed.test": {
        "A": {"values": ["198.51.100.10"], "before": ["wrong-id", "wrong-name", "wrong-source"]}
    },
}


def site_names():
    """Every DNS name the `site` certificate is good for."""
    names = [n for hosts, cert in ORIGINS.values() if cert == "site" for n in hosts]
    return names + MORE_SITE_NAMES


def role_addresses(role):
    v4, v6 = ADDRESSES[role]
    return v4 + v6


def namespace_names(directory):
    """The two namespaces' names of a lab, from its directory alone, so that `down` knows
    them also when `up` wrote nothing."""
    digest = hashlib.sha256(os.fsencode(os.path.realpath(directory))).hexdigest()[:10]
    return f"lab-{digest}-app", f"lab-{digest}-net"


RECORD_KINDS = ["packets", "loopback", "dns", "connections", "requests"]

"""A miniature internet for black-box tests. See README.md for what is in it.

    from lab import Lab
    with Lab() as lab:
        lab.exec(["curl", "-s", "http://198.51.100.10/"], timeout=5)
        assert lab.packets(dst="198.51.100.10", dport=80)

Needs root. A `Lab` is used from one thread.
"""

import ipaddress
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from commands import LabError, Started, TimedOut, as_user, clean_environment  # noqa: E402, F401
from miniature import control, layout  # noqa: E402

PYTHON = "/usr/bin/python3"
COMMAND = [PYTHON, "-IS", str(HERE / "lab")]


class Lab:
    """One miniature internet. Comes up on `with` (or `up()`), goes down at its end.

    `doc` is the JSON document `lab up` prints; the attributes are its most used parts:
    `dir`, `netns`, `netns_path`, `exec_prefix`, `config` (the appliance's), `ca`,
    `addresses` (role -> {"v4": [...], "v6": [...]}), `names`.
    """

    def __init__(self, directory=None, with_trust=False):
        self._wanted = None if directory is None else str(directory)
        self._own = directory is None
        self._with_trust, self.doc = with_trust, None

    @classmethod
    def attach(cls, directory):
        """A lab that is already up, e.g. from a shell. Leaving `with` takes it down."""
        lab = cls(directory)
        lab._adopt(json.loads((Path(directory) / "lab.json").read_text()))
        return lab

    def __enter__(self):
        return self if self.doc else self.up()

    def __exit__(self, *_):
        self.down()

    def up(self):
        if self._own:
            self._wanted = tempfile.mkdtemp(prefix="lab-", dir="/tmp")
            os.chmod(self._wanted, 0o755)  # the appliance may run as an ordinary user
        argv = COMMAND + ["up", self._wanted] + (["--with-trust"] if self._with_trust else [])
        try:
            self._adopt(json.loads(self._cli(argv, 30)))
        except BaseException:
            self._remove_own()
            raise
        return self

    def down(self):
        """Idempotent. Removes the directory too if it was made here."""
        if self._wanted is None:
            return
        self._cli(COMMAND + ["down", self._wanted], 30)
        self._remove_own()
        self.doc = None

    def _remove_own(self):
        if self._own:
            shutil.rmtree(self._wanted, ignore_errors=True)

    def _adopt(self, doc):
        self.doc = doc
        self.dir = Path(doc["dir"])
        self.netns = doc["appliance"]["netns"]
        self.netns_path = doc["appliance"]["netns_path"]
        self.exec_prefix = doc["appliance"]["exec"]
        self.config = Path(doc["appliance"]["config"])
        self.ca = Path(doc["ca"])
        self.addresses = doc["addresses"]
        self.names = doc["names"]

    @staticmethod
    def _cli(argv, timeout):
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout)
        if done.returncode:
            raise LabError(f"{argv[3:]}: {done.stderr.strip() or done.returncode}")
        return done.stdout

    # --- running things in the appliance's namespace ---

    def argv(self, argv, user=None, names=False):
        """`argv` with what brings it into the appliance's namespace in front.

        user: None (root), "ordinary" (uid 61000, without a passwd entry), a name or a number.
        names: with an /etc/resolv.conf of its own that asks the lab's DNS directly; root's
        private mount namespace. For controls: it is what a client without Sallyport does.
        """
        prefix = list(self.exec_prefix)
        if names:
            script = 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"'
            prefix += ["unshare", "--mount", "--propagation", "private", "--"]
            prefix += ["sh", "-c", script, "sh", str(self.dir / "resolv.conf")]
        return prefix + as_user(user) + [str(a) for a in argv]

    def start(self, argv, *, user=None, env=None, names=False, cwd=None, stdin=b""):
        """Starts a command in the appliance's namespace; environment: PATH, LANG, HOME and `env`."""
        return Started(self.argv(argv, user, names), clean_environment(env), cwd, stdin)

    def exec(self, argv, *, user=None, env=None, timeout=10, names=False, cwd=None, stdin=b""):
        """Runs a command in the appliance's namespace to its end: `Finished`, or `TimedOut` raised."""
        return self.start(argv, user=user, env=env, names=names, cwd=cwd, stdin=stdin).wait(timeout)

    def start_outside(self, argv, *, env=None, cwd=None):
        """Starts one more server of the internet, for the time of a test: every address that `layout` does not use is free for it
        (198.51.100.40 to .49 are kept for that), `zone` gives it a name. The caller ends it; `down` ends what is left."""
        prefix = ["nsenter", f"--net={self.doc['internet']['netns_path']}", "--"]
        return Started([*prefix, *(str(a) for a in argv)], clean_environment(env), cwd)

    # --- recordings ---

    def wait(self, timeout=3):
        """Returns when everything that had left the appliance is in the recordings."""
        for server in ("sniffer", "world"):
            self._call(server, {"do": "settle"}, timeout)

    def records(self, kind, settle=True):
        """The recording of a kind: packets, loopback, dns, connections, requests."""
        if kind not in layout.RECORD_KINDS:
            raise ValueError(f"kind is one of {layout.RECORD_KINDS}")
        if settle:
            self.wait()
        text = (self.dir / "records" / f"{kind}.jsonl").read_text()
        whole = text[: text.rfind("\n") + 1]  # a record may be half written while traffic goes on
        return [json.loads(line) for line in whole.splitlines()]

    def clear_records(self):
        """Forgets what was recorded so far."""
        self.wait()
        for kind in layout.RECORD_KINDS:
            os.truncate(self.dir / "records" / f"{kind}.jsonl", 0)

    def reset(self):
        """Zone, scripts and recordings as they were when the lab came up."""
        self._call("world", {"do": "reset"})
        self.clear_records()

    def packets(self, **fields):
        """Recorded packets whose fields (proto, src, sport, dst, dport, flags…) all equal those given."""
        return [p for p in self.records("packets") if all(p.get(k) == v for k, v in fields.items())]

    def packets_to_unpermitted(self, permit=None):
        """Packets to an address outside `permit` (default: that of the appliance's configuration)."""
        return outside(self.records("packets"), layout.PERMIT if permit is None else permit)

    def packets_except(self, *allowed):
        """Packets to anything but `allowed`: addresses or networks, or (address, port) pairs.
        The question "did anything else leave?"; DNS counts like all else."""
        return [p for p in self.records("packets") if not any(_matches(p, a) for a in allowed)]

    def dns_names(self):
        """The names the authoritative server was asked for, in order, as it got them."""
        return [q["name"] for q in self.records("dns") if q.get("name") is not None]

    def names_asked(self):
        """The same as a set in lower case: a resolver asks in random case (0x20), so a name is never
        found in `dns_names` by its usual spelling."""
        return {name.lower() for name in self.dns_names()}

    def connections(self, role=None):
        """Connections that a host accepted, one dict each: conn, role, dst, dport, src, sport, sni,
        opened, bytes, data (bytes; what arrived), plain (bytes; decrypted, TLS hosts only),
        closed (None while open), reason."""
        return merge_connections(self.records("connections"), role)

    # --- what the internet does ---

    def zone(self, name, rtype="A", values=None, **answer):
        """Sets what the authoritative server answers for (name, type); see zone.py:
        ttl, rcode, tc, drop, delay, before, extra, raw, sequence."""
        spec = dict(answer)
        if values is not None:
            spec["values"] = [values] if isinstance(values, str) else list(values)
        self._call("world", {"do": "zone", "records": {name: {rtype: spec}}})

    def zone_table(self, records):
        """Sets many: {name: {type: answer}}."""
        self._call("world", {"do": "zone", "records": records})

    def zone_delete(self, name, rtype=None):
        """Removes a name, or one type of it."""
        self._call("world", {"do": "zone-delete", "name": name, "type": rtype})

    def script(self, port, answer=None, *, host="raw", **options):
        """What the raw origin does on a port; see scripts.py. `answer`: the exact bytes to
        answer with, or a list of them for the first, second… request of a connection.
        options: mode, trigger, after, delay, piece, pause."""
        answers = None if answer is None else [answer] if isinstance(answer, (bytes, bytearray)) else list(answer)
        script = dict(options)
        if answers is not None:
            script["answers"] = [control.to_base64(a) for a in answers]
        self._call("world", {"do": "script", "host": host, "port": port, "script": script})

    def _call(self, server, request, timeout=5):
        try:
            return control.call(self.dir, server, request, timeout)
        except (OSError, ValueError) as error:
            raise LabError(f"{server}: {request.get('do')}: {error}") from error


def outside(packets, permit):
    """Those of `packets` whose destination is in none of the networks."""
    networks = [ipaddress.ip_network(n) for n in permit]
    found = []
    for packet in packets:
        destination = packet.get("dst")
        if destination is None or not any(ipaddress.ip_address(destination) in n for n in networks):
            found.append(packet)
    return found


def _matches(packet, allowed):
    port = None
    if isinstance(allowed, tuple):
        allowed, port = allowed
    if packet.get("dst") is None or (port is not None and packet.get("dport") != port):
        return False
    return ipaddress.ip_address(packet["dst"]) in ipaddress.ip_network(allowed)


def merge_connections(events, role=None):
    """connections.jsonl's open, data and close events put together by connection."""
    merged = {}
    for event in events:
        key = event["conn"]
        if event["event"] == "open":
            fields = ("conn", "role", "dst", "dport", "src", "sport")
            merged[key] = {k: event.get(k) for k in fields}
            merged[key].update(opened=event["time"], sni=None, bytes=0, data=b"", plain=b"", closed=None, reason=None)
        elif key not in merged:
            continue  # its beginning was cleared
        elif event["event"] == "data":
            layer = "plain" if event["layer"] == "tls" else "data"
            merged[key][layer] += control.from_base64(event["base64"])
            if layer == "data":
                merged[key]["bytes"] += event["bytes"]
        elif event["event"] == "tls":
            merged[key]["sni"] = event.get("sni")
        elif event["event"] == "close":
            merged[key].update(bytes=event["bytes"], closed=event["time"], reason=event["reason"])
    return [c for c in merged.values() if role is None or c["role"] == role]

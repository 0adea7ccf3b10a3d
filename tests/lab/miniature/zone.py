"""The authoritative data, which a test may change at any time.

A zone is {name: {type: answer}}. A name may begin with "*." (any depth below, never the
name itself, and only where no exact name matches). A type of "*" answers every type that
has no answer of its own. An answer is a list of values, or an object:

    values    what to answer with, in presentation form; unknown types (TYPE65) take hex
    ttl       seconds (60)
    rcode     NOERROR, FORMERR, SERVFAIL, NXDOMAIN, NOTIMP, REFUSED
    tc        true: over UDP the reply is empty and truncated; the whole set comes over TCP
    drop      true: no reply at all
    delay     seconds before the reply
    before    forged replies sent (UDP) before the true one, each naming 203.0.113.66:
              wrong-id, wrong-name, wrong-type, wrong-source (another address of the server's net)
    extra     [[name, type, value], …] appended to the answer section
    raw       hex: the whole reply after the two bytes of its id
    sequence  [answer, …]: the first query gets the first, later ones the next; the last stays;
              keys beside it hold for each step that does not say otherwise

Keys that are not here are refused. A CNAME of a name holds for every other type and is
followed inside the zone, at most 8 times. A name that does not exist is NXDOMAIN.
"""

import copy

from . import dnswire

KEYS = {"values", "ttl", "rcode", "tc", "drop", "delay", "before", "extra", "raw", "sequence"}
FORGERIES = {"wrong-id", "wrong-name", "wrong-type", "wrong-source"}
MAX_CHAIN = 8


def checked(rtype, answer):
    """`answer` as an object, every value encodable; ValueError says what is not."""
    spec = dict(answer) if isinstance(answer, dict) else {"values": answer}
    unknown = set(spec) - KEYS
    if unknown:
        raise ValueError(f"unknown in an answer: {sorted(unknown)}")
    if rtype != "*":
        dnswire.type_number(rtype)
    elif spec.get("values"):
        raise ValueError("type * takes no values")
    for value in spec.get("values", []):
        dnswire.encode_rdata(rtype, value)
    for name, extra_type, value in spec.get("extra", []):
        dnswire.encode_name(name), dnswire.encode_rdata(extra_type, value)
    if spec.get("rcode", "NOERROR") not in dnswire.RCODES:
        raise ValueError(f"no such rcode: {spec['rcode']}")
    if set(spec.get("before", [])) - FORGERIES:
        raise ValueError(f"before takes {sorted(FORGERIES)}")
    if not 0 <= float(spec.get("delay", 0)) <= 60:
        raise ValueError("delay is 0 to 60 seconds")
    bytes.fromhex(spec.get("raw", ""))
    if "sequence" in spec:
        if not spec["sequence"]:
            raise ValueError("an empty sequence")
        common = {key: value for key, value in spec.items() if key != "sequence"}
        spec["sequence"] = [{**common, **checked(rtype, step)} for step in spec["sequence"]]
    return spec


class Zone:
    """The table, and how often each sequence was asked."""

    def __init__(self, table):
        self._initial = table
        self.reset()

    def reset(self):
        self._answers, self._asked = {}, {}
        self.update(self._initial)

    def update(self, table):
        """Sets every (name, type) in `table`, or, if one is wrong, none (ValueError)."""
        new = []
        for name, by_type in table.items():
            for rtype, answer in by_type.items():
                new.append((name.lower().rstrip("."), rtype, checked(rtype, copy.deepcopy(answer))))
        for name, rtype, spec in new:
            self._answers.setdefault(name, {})[rtype] = spec
            self._asked.pop((name, rtype), None)

    def delete(self, name, rtype=None):
        by_type = self._answers.get(name.lower().rstrip("."), {})
        if rtype is None:
            self._answers.pop(name.lower().rstrip("."), None)
        else:
            by_type.pop(rtype, None)

    def _node(self, name):
        if name in self._answers:
            return name
        labels = name.split(".")
        for skip in range(1, len(labels)):
            wildcard = "*." + ".".join(labels[skip:])
            if wildcard in self._answers:
                return wildcard
        return None

    def _step(self, node, rtype):
        spec = self._answers[node][rtype]
        if "sequence" not in spec:
            return spec
        count = self._asked.get((node, rtype), 0)
        self._asked[(node, rtype)] = count + 1
        return spec["sequence"][min(count, len(spec["sequence"]) - 1)]

    def answer(self, name, rtype):
        """(records, spec): `records` in wire form with the CNAMEs on the way, `spec` the answer
        that says how to reply."""
        records, owner, current = [], b"\xc0\x0c", name.lower()
        for _ in range(MAX_CHAIN):
            node = self._node(current)
            if node is None:
                return records, {"rcode": "NXDOMAIN"}
            types = self._answers[node]
            if rtype in types or ("CNAME" not in types and "*" in types):
                spec = self._step(node, rtype if rtype in types else "*")
                ttl = int(spec.get("ttl", 60))
                for value in spec.get("values", []):
                    records.append(dnswire.record(owner, rtype, ttl, dnswire.encode_rdata(rtype, value)))
                for extra_name, extra_type, value in spec.get("extra", []):
                    data = dnswire.encode_rdata(extra_type, value)
                    records.append(dnswire.record(dnswire.encode_name(extra_name), extra_type, ttl, data))
                return records, spec
            if "CNAME" not in types:
                return records, {}
            spec = self._step(node, "CNAME")
            if not spec.get("values"):
                return records, spec
            target = spec["values"][0]
            data = dnswire.encode_rdata("CNAME", target)
            records.append(dnswire.record(owner, "CNAME", int(spec.get("ttl", 60)), data))
            owner, current = dnswire.encode_name(target), target.lower().rstrip(".")
        return records, {}

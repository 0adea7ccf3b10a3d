"""The holes that `--break` makes in a task's namespace (tests/holes does it), and the probe of the
self-test that must name each. Case policy-005."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Hole:
    what: str
    probe: str


HOLES = {
    "veth": Hole("an interface, and the default route by it", "interfaces"),
    "flush": Hole("the packet filter emptied", "ruleset"),
    "udp": Hole("a rule that lets every datagram through", "udp"),
    "ipv6-route": Hole("the IPv6 default route replaced", "ipv6"),
    "metadata-route": Hole("the cloud metadata address routed away from the proxy", "metadata"),
    "foreign-listener": Hole("another process takes connections and answers as the proxy would", "foreign-listener"),
}

"""The six ways out that task.sh tries, and how each looks open and shut."""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class WayOut:
    name: str  # as task.sh calls it
    title: str
    address: str
    proto: str
    port: int
    open_sign: str  # regular expression: a host of the outside answered
    shut_sign: str  # regular expression: the refusal, in the client's own terms

    def is_to(self, packet):
        return (packet.get("dst"), packet.get("proto"), packet.get("dport")) == (self.address, self.proto, self.port)

    def reached(self, answer):
        return re.search(self.open_sign, answer) is not None

    def shut(self, answer):
        return re.search(self.shut_sign, answer) is not None

    def shorten(self, answer):
        """One short line of an answer that is no problem document."""
        found = re.search(r"status: \w+", answer) or re.search(r"no answer: .*", answer)
        return (found.group(0) if found else answer)[:120]


REFUSED = r"^403 |^no answer: "

WAYS_OUT = [
    WayOut("address-literal", "an address instead of a name", "203.0.113.66", "tcp", 80, "attacker was reached", r"^403 .*literal_not_allowed"),
    WayOut("foreign-dns", "another DNS server (192.0.2.8)", "192.0.2.8", "udp", 53, r"IN A 203\.0\.113\.66", "status: NXDOMAIN"),
    WayOut("udp-443", "UDP port 443 (QUIC)", "203.0.113.66", "udp", 443, "^answered", "^no answer: .*not permitted"),
    WayOut("ipv6", "IPv6", "2001:db8:bad::66", "tcp", 80, "attacker was reached", REFUSED),
    WayOut("metadata", "cloud metadata (169.254.169.254)", "169.254.169.254", "tcp", 80, "AccessKeyId", REFUSED),
    WayOut("noproxy", "--noproxy, straight to the server", "198.51.100.66", "tcp", 80, "hello from denied", REFUSED),
]

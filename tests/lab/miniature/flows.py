"""Follows TCP connections by their SYN, FIN and RST, so that what left without a connection is
seen, and so that connections to nginx are recorded without being in their way."""

import collections

FIN, SYN, RST, ACK = 1, 2, 4, 16
MAX_FLOWS = 1 << 16
MAX_STRAYS = 16  # recorded a flow


class Flow:
    def __init__(self, number, isn):
        self.number, self.isn, self.server_isn = number, isn, None
        self.accepted, self.reason, self.sent, self.received = False, None, 0, 0
        self.client_done = self.server_done = self.closed = False


class Flows:
    """Keyed by (client, client port, server, server port). Byte counts are modulo 2**32."""

    def __init__(self, on_open, on_close):
        self._flows = collections.OrderedDict()
        self._strays = collections.Counter()
        self._on_open, self._on_close, self._count = on_open, on_close, 0

    def from_appliance(self, key, flags, seq, length):
        """A segment that left. "start" for a SYN, "stray" for one of no known connection
        (None once too many), "known" for the rest."""
        if flags & SYN and not flags & ACK:
            self._count += 1
            old = self._flows.pop(key, None)
            self._flows[key] = old if old and old.isn == seq and not old.closed else Flow(self._count, seq)
            if len(self._flows) > MAX_FLOWS:
                self._flows.popitem(last=False)
            return "start"
        flow = self._flows.get(key)
        if flow is None:
            # An answer of the appliance to a connection from outside has no SYN of ours; the
            # lab never connects inwards, so it too is worth a record.
            self._strays[key] += 1
            return "stray" if self._strays[key] <= MAX_STRAYS else None
        if flags & (FIN | RST):
            flow.received = (seq - flow.isn - 1 + length) & 0xFFFFFFFF
            flow.client_done = True
            self._end(key, flow, "client", flags)
        return "known"

    def to_appliance(self, key, flags, seq, ack, length):
        """A segment of the internet's side with SYN, FIN or RST; `key` has the client first."""
        flow = self._flows.get(key)
        if flow is None or flow.closed:
            return
        if flags & SYN and flags & ACK:
            flow.server_isn = seq
            if not flow.accepted:
                flow.accepted = True
                self._on_open(key, flow)
        elif flags & (FIN | RST) and flow.accepted:
            flow.sent = (seq - flow.server_isn - 1 + length) & 0xFFFFFFFF
            if flags & ACK:
                flow.received = max(flow.received, (ack - flow.isn - 1 - flow.client_done) & 0xFFFFFFFF)
            flow.server_done = True
            self._end(key, flow, "server", flags)
        elif flags & RST:
            flow.closed = True

    def _end(self, key, flow, who, flags):
        flow.reason = flow.reason or f"{who}-{'reset' if flags & RST else 'fin'}"
        if flow.closed or not flow.accepted:
            flow.closed = flow.closed or bool(flags & RST)
            return
        if flags & RST or (flow.client_done and flow.server_done):
            flow.closed = True
            self._on_close(key, flow)

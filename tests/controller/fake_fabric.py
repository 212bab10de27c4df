# SPDX-License-Identifier: Apache-2.0
"""A fabric in memory that forwards by the entries of a plan as ub_npu.p4 does, one switch after the other."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from controller import CPU_PORT, Entry, Exact, Lpm, Plan, Update
from controller.source_route import MAX_INSTRUCTIONS, SourceRoute
from topologies import HOST_PORT

MAX_SWITCHES = 32


@dataclass(frozen=True)
class Frame:
    dcna: int
    lb: int = 0
    sl: int = 0
    mgmt: bool = False
    route: SourceRoute | None = None
    vl: int = 0


@dataclass(frozen=True)
class Walk:
    """Nodes visited, VL of every link taken, and the end: host, controller, or why the frame was lost."""

    nodes: tuple[str, ...]
    vls: tuple[int, ...]
    end: str


class Lost(Exception):
    """A frame that a switch refuses; the text is the reason."""


class FakeFabric:
    def __init__(self, plan: Plan) -> None:
        self.fabric = plan.fabric
        self.dead: set[str] = set(plan.failed)
        hosted = {node.name for node in plan.fabric.nodes if not node.tier}
        self.switches = {name: FakeSwitch(entries, name in hosted) for name, entries in plan.entries.items()}

    def apply(self, node: str, updates: Iterable[Update]) -> None:
        for update in updates:
            self.switches[node].write(update)

    def send(self, node: str, frame: Frame, *, by: int = HOST_PORT) -> Walk:
        """A frame from the node's own side, or a routed packet-out when it comes by CPU_PORT."""
        return self._walk(node, *self.switches[node].forward(frame, by), begun=(node,))

    def packet_out(self, node: str, frame: Frame, egress_port: int) -> Walk:
        """A packet-out that names its port."""
        return self._walk(node, *self.switches[node].depart(frame, CPU_PORT, egress_port), begun=(node,))

    def _walk(self, node: str, port: int, frame: Frame, *, begun: tuple[str, ...]) -> Walk:
        nodes, vls = list(begun), []
        while port not in (HOST_PORT, CPU_PORT):
            link = self.fabric.link_at(node, port)
            assert link is not None, f"{node} sends on port {port}, which has no link"
            vls.append(frame.vl)
            if link.name in self.dead:
                return Walk(tuple(nodes), tuple(vls), "dead link")
            far = link.far(node)
            node = far.node
            nodes.append(node)
            if len(nodes) > MAX_SWITCHES:
                return Walk(tuple(nodes), tuple(vls), "loop")
            try:
                port, frame = self.switches[node].forward(frame, far.port)
            except Lost as lost:
                return Walk(tuple(nodes), tuple(vls), str(lost))
        assert frame.route is None, f"{node} delivers a frame with its source route"
        return Walk(tuple(nodes), tuple(vls), "host" if port == HOST_PORT else "controller")


class FakeSwitch:
    """The tables of one switch."""

    def __init__(self, entries: Iterable[Entry], hosted: bool = True) -> None:
        self.hosted = hosted
        self.entries: dict[Hashable, Entry] = {}
        self.exact: dict[tuple[str, tuple[int, ...]], dict[str, int]] = {}
        self.segments: list[tuple[Lpm, dict[str, int]]] = []
        for entry in entries:
            self.write(Update("insert", entry))

    def write(self, update: Update) -> None:
        """As strict as P4Runtime: inserts only what is new, changes and removes only what is there."""
        entry = update.entry
        assert (entry.key in self.entries) == (update.kind != "insert"), update
        if update.kind == "delete":
            del self.entries[entry.key]
        else:
            self.entries[entry.key] = entry
        if entry.table == "segment":
            self.segments = []
            for kept in self.table("segment"):
                match = dict(kept.match).get("dcna", Lpm(0, 0))  # left out: any address
                assert isinstance(match, Lpm)
                self.segments.append((match, dict(kept.params)))
            return
        key = entry.table, tuple(match.value for _, match in entry.match if isinstance(match, Exact))
        if update.kind == "delete":
            del self.exact[key]
        else:
            self.exact[key] = dict(entry.params)

    def table(self, name: str) -> list[Entry]:
        return [entry for entry in self.entries.values() if entry.table == name]

    def forward(self, frame: Frame, ingress_port: int) -> tuple[int, Frame]:
        """Egress port and frame of one pass; Lost when the program drops it."""
        group, _ = self._arrive(ingress_port)
        route = frame.route
        if group == 0 and route is None:
            pushed = self.exact.get(("all_path", (frame.dcna, frame.lb & 0xF)))
            if pushed:
                instructions = pushed["instr"].to_bytes(MAX_INSTRUCTIONS)
                route = SourceRoute(0, pushed["bitmap"], tuple(instructions))
        port: int | None = None
        if route is not None:
            if route.problem:
                raise Lost(route.problem)
            port = route.egress_port()
            route = route.advanced()
        if port is None:
            port = self._linear(frame.dcna)
        return self.depart(replace(frame, route=route), ingress_port, port)

    def depart(self, frame: Frame, ingress_port: int, port: int) -> tuple[int, Frame]:
        """The second half of a pass: the VL of the turn, and delivery."""
        came = self._arrive(ingress_port)
        vl = frame.vl
        if came[0] == 0:
            vl = 2 if frame.mgmt or frame.sl else 0
        leaves = self.exact.get(("departure", (port,)))
        if leaves is None:
            raise Lost("no such port")
        turn = self.exact.get(("vl_turn", (*came, leaves["group"], leaves["up"], vl)))
        if turn is None:
            raise Lost("turn not allowed")
        frame = replace(frame, vl=turn["vl"])
        if leaves["group"] != 0:
            return port, frame
        if not (self.hosted or frame.mgmt):
            raise Lost("no host")
        return CPU_PORT if frame.mgmt else port, replace(frame, route=None)

    def _arrive(self, port: int) -> tuple[int, int]:
        arrival = self.exact.get(("arrival", (port,)))
        if arrival is None:
            raise Lost("unknown arrival port")
        return arrival["group"], arrival["up"]

    def _linear(self, dcna: int) -> int:
        longest, segment = -1, {}
        for match, params in self.segments:
            if match.prefix > longest and (dcna ^ match.value) >> 16 - match.prefix == 0:
                longest, segment = match.prefix, params
        if longest < 0:
            raise Lost("no route")
        member = self.exact.get(("linear", (segment["base"] + (dcna >> segment["shift"] & segment["mask"]),)))
        if member is None:
            raise Lost("no route")
        return member["port"]

# SPDX-License-Identifier: Apache-2.0
"""A fabric in memory that forwards by the entries of a plan as the P4 programs do, switch after switch."""

import zlib
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace

from controller import CPU_PORT, Entry, Exact, Lpm, Plan, Ternary, Update
from controller.routing.source_route import MAX_INSTRUCTIONS, SourceRoute
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
    scna: int = 0
    lb_mode: int = 0


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
        self.segments: dict[str, list[tuple[Lpm, dict[str, int]]]] = {"segment": [], "pxn_segment": []}
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
        if entry.table in self.segments:
            self.segments[entry.table] = []
            for kept in self.table(entry.table):
                match = dict(kept.match).get("dcna", Lpm(0, 0))  # left out: any address
                assert isinstance(match, Lpm)
                self.segments[entry.table].append((match, dict(kept.params)))
            return
        if entry.table == "rail":
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
        own_rail = self._rail(frame.dcna)
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
            port = self._pxn(frame.dcna)
        if port is None:
            port = self._linear(frame, own_rail)
        return self.depart(replace(frame, route=route), ingress_port, port)

    def depart(self, frame: Frame, ingress_port: int, port: int) -> tuple[int, Frame]:
        """The second half of a pass: the VL of the turn, and delivery."""
        came = self._arrive(ingress_port)
        vl = frame.vl
        if came[0] == 0:
            vl = 2 if frame.mgmt or frame.sl > 7 else 2 * frame.sl
        leaves = self.exact.get(("departure", (port,)))
        if leaves is None:
            raise Lost("no such port")
        known = vl if vl < 4 else vl & 1
        turn = self.exact.get(("vl_turn", (*came, leaves["group"], leaves["up"], known)))
        if turn is None:
            raise Lost("turn not allowed")
        frame = replace(frame, vl=turn["vl"] | vl - known)
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

    def _rail(self, dcna: int) -> dict[str, int] | None:
        """Where to look when the destination is on the switch's rail; Lost when it is on another."""
        for entry in sorted(self.table("rail"), key=lambda entry: -entry.priority):
            match = entry.match[0][1]
            assert isinstance(match, Ternary)
            if (dcna ^ match.value) & match.mask == 0:
                if entry.action == "foreign_rail":
                    raise Lost("foreign rail")
                return dict(entry.params)
        return None

    def _longest(self, table: str, dcna: int) -> dict[str, int] | None:
        matching = [one for one in self.segments[table] if (dcna ^ one[0].value) >> 16 - one[0].prefix == 0]
        return max(matching, key=lambda one: one[0].prefix)[1] if matching else None

    def _pxn(self, dcna: int) -> int | None:
        ranks = self._longest("pxn_segment", dcna)
        if not ranks:  # none, or without parameters: no_pxn
            return None
        found = self.exact.get(("pxn", (_index(ranks, dcna),)))
        return found["port"] if found else None

    def _linear(self, frame: Frame, own_rail: dict[str, int] | None) -> int:
        segment = own_rail or self._longest("segment", frame.dcna)
        member = segment and self.exact.get(("linear", (_index(segment, frame.dcna),)))
        if not member:
            raise Lost("no route")
        if "port" in member:
            return member["port"]
        flow = frame.scna.to_bytes(2) + frame.dcna.to_bytes(2) + frame.lb.to_bytes(1)
        way = frame.lb if frame.lb_mode else zlib.crc32(flow) & 0xFFFF
        chosen = self.exact.get(("multipath", (_index(member, way),)))
        if not chosen:
            raise Lost("no way")
        return chosen["port"]


def _index(place: dict[str, int], value: int) -> int:
    return place["base"] + (value >> place["shift"] & place["mask"])

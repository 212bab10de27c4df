# SPDX-License-Identifier: Apache-2.0
"""Tables made by hand for every program, and what the pipeline's specification makes of frames with them.

The specification is controller.forwarding.pipeline; frames are parsed and packed here from the wire
format alone.

A router stands at x = 1, y = 1 of an 8x8 mesh, CNA 9. Ports: 0 its host; 1 to 7 to x = 0, 2..7; 8 to 14
to y = 0, 2..7. Two more ports, 16 down and 17 up, are a direction group of their own; ports 15 and 18 are in
no table. A switch has no host, but vertical ports from 19 on: a frame that comes by one goes up, one that
leaves by it goes down.

Class 3 are GPUs in domains of eight: the router is rank 1 of domain 5, port 17 its NIC, and the rank names
the neighbour. Class 4 are GPUs below a rail switch, on the rail of rank 3. Class 5 is reached by a group.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import final

from controller import Entry, Exact, Lpm, Ternary
from controller.forwarding.pipeline import DropReason, Frame, Pipeline, Tables
from controller.p4runtime.client import ProgramFiles
from controller.paths.source_route import SourceRoute
from tests.emulation.programs.ub_frames import (
    CFG_CNA16,
    CFG_SOURCE_ROUTE,
    ETHERTYPE,
    Srh,
    UbFrame,
    instructions,
)

__all__ = [
    "BELOW",
    "CPU_PORT",
    "GPU",
    "GPUS",
    "HRS",
    "LONGEST",
    "LRS",
    "NPU",
    "OWN_CNA",
    "RAIL",
    "ROUTERS",
    "SPREAD",
    "Router",
    "coded",
    "next_vl",
    "packet_out",
]

BUILD = Path(__file__).resolve().parents[3] / "p4" / "build"
CPU_PORT = 510
OWN_X = OWN_Y = 1
OWN_CNA = 9
LONGEST = 16 * 32 * 20
# Of class 3 and 4: the first address, and where the domain is.
GPUS, BELOW, SPREAD = 3 << 13, 4 << 13, 5 << 13
OWN_DOMAIN, OWN_RAIL = 5, 3
# Groups of ports: values of the hash, the bits of the hash before theirs, the ports.
_GROUPS = ((8, 0, range(8, 15)), (16, 4, range(219, 235)))
_NO_GROUP = 100
# Group and direction, of who comes in and of who leaves.
_Direction = tuple[int, int]


def next_vl(arrival: tuple[int, int], departure: tuple[int, int], vl: int) -> int | None:
    """Rules T2-G for a frame that enters the router on `vl`, two VLs a class; None: no such turn."""
    (in_group, in_up), (out_group, out_up) = arrival, departure
    base = vl - vl % 2
    if (in_group == 0 and vl != base) or (out_group != 0 and out_group < in_group):
        return None
    if in_group == 0 or out_group == 0:
        return vl
    if in_group != out_group:
        return base
    if in_up == 0 and out_up == 1:
        return vl + 1 if vl == base else None
    return vl


def _exact(**fields: int) -> tuple[tuple[str, Exact], ...]:
    return tuple((name, Exact(value)) for name, value in fields.items())


def packet_out(frame: bytes, *, egress_port: int = 0, routed: int = 1) -> bytes:
    """A frame as the CPU port brings it."""
    return (egress_port << 7 | routed << 6).to_bytes(2) + frame


def _parsed(data: bytes) -> UbFrame | DropReason:
    if len(data) < 14:
        return DropReason.TRUNCATED
    if data[12:14] != ETHERTYPE.to_bytes(2):
        return DropReason.ETHERTYPE
    if len(data) < 18:
        return DropReason.TRUNCATED
    cfg = data[15] & 0xF
    if cfg not in (CFG_CNA16, CFG_SOURCE_ROUTE):
        return DropReason.CFG
    if len(data) < (26 if cfg == CFG_CNA16 else 34):
        return DropReason.TRUNCATED
    return UbFrame.parsed(data)


def coded(number: int) -> int | None:
    blocks, rest = divmod(number, 640)
    return blocks << 10 | rest // 20 << 5 | rest % 20 if number >= 0 and blocks < 16 else None


@final
@dataclass(frozen=True)
class Router:
    """A program, and the tables that it stands with. `last_port` below 19: it has no vertical ports.

    `into` and `out` are the groups of a vertical port, by who comes in and who leaves. `further` entries are
    of tables that the specification does not have.
    """

    program: str
    has_host: bool
    last_port: int = 17
    into: int = 0
    out: int = 0
    has_pxn: bool = False
    has_rail: bool = False
    further: tuple[Entry, ...] = ()

    @property
    def reasons(self) -> frozenset[DropReason]:
        """Reasons for which the router can drop a frame."""
        never = {DropReason.NO_HOST} if self.has_host else set[DropReason]()
        return frozenset(DropReason) - never - (set() if self.has_rail else {DropReason.FOREIGN_RAIL})

    @property
    def files(self) -> ProgramFiles:
        """Compiled, as committed."""
        stem = BUILD / self.program
        return ProgramFiles(
            stem.with_suffix(".json").read_bytes(), stem.with_suffix(".p4info.txtpb").read_bytes()
        )

    @property
    def ports(self) -> tuple[int, ...]:
        """All that there are, in a table or not."""
        return tuple(range(self.last_port + 1))

    @cached_property
    def departures(self) -> Mapping[int, _Direction]:
        """Port: (group, whether a frame that leaves by it goes up)."""
        return {
            0: (0, 0),
            **{1 + place: (1, int(x > OWN_X)) for place, x in enumerate(x for x in range(8) if x != OWN_X)},
            **{8 + place: (1, int(y > OWN_Y)) for place, y in enumerate(y for y in range(8) if y != OWN_Y)},
            16: (2, 0),
            17: (2, 1),
            **dict.fromkeys(range(19, self.last_port + 1), (self.out, 0)),
        }

    @cached_property
    def arrivals(self) -> Mapping[int, _Direction]:
        """Port: (group, direction) of a frame that comes by it; in a mesh the other way than who leaves."""
        result = {port: (group, 1 - up) for port, (group, up) in self.departures.items() if group != 0}
        result |= dict.fromkeys(range(19, self.last_port + 1), (self.into, 1))
        return result | {CPU_PORT: (0, 0)} | ({0: (0, 0)} if self.has_host else {})

    @property
    def routes(self) -> Mapping[tuple[int, int], tuple[int, int]]:
        """(destination, bucket): bitmap, instructions. Only a source has any."""
        if not self.has_host:
            return {}
        return {
            (0x0000, 0): (0b110000000000, instructions(1, 8)),
            (0x0000, 1): (0b110000000000, instructions(8, 1)),
            (0x000A, 15): (0b100000000000, instructions(2)),
            (0x0024, 7): (0b111111000000, instructions(17, 2, 9, 3, 1, 8)),
            (0x0025, 2): (0b010000000000, instructions(4)),
        }

    def table_port(self, dcna: int) -> int | None:
        """Linear lookup: the row of the mesh by its x, other rows of the rack by their y.

        Class 2 counts the vertical ports by pod and rack, seven bits.
        """
        if dcna >> 13 == 2:
            port = 1 + (dcna >> 6 & 127)
            return port if 19 <= port <= self.last_port else None
        if self.has_pxn and dcna >> 13 == 3:  # rank 6 is missing
            return None if dcna & 7 == 6 else 8 + (dcna & 7) % 7
        if dcna >> 6:
            return None
        x, y = dcna & 7, dcna >> 3
        if y == OWN_Y:
            return 0 if x == OWN_X else 1 + x - (x > OWN_X)
        return 8 + y - (y > OWN_Y)

    def pxn_port(self, dcna: int) -> int | None:
        """Return the port for a rank in another domain: the NIC, or the mesh. Rank 7 is missing."""
        if not self.has_pxn or dcna >> 13 != 3 or dcna >> 3 & 1023 == OWN_DOMAIN or dcna & 7 == 7:
            return None
        rank = dcna & 7
        return 17 if rank == OWN_X else 1 + rank - (rank > OWN_X)

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """All its tables."""
        return (*self._entries(), *self.further)

    def _entries(self) -> Iterator[Entry]:
        for port, (group, up) in self.arrivals.items():
            yield Entry("arrival", _exact(port=port), "arrive", (("group", group), ("up", up)))
        for port, (group, up) in self.departures.items():
            yield Entry("departure", _exact(port=port), "depart", (("group", group), ("up", up)))
        for arrival in sorted(set(self.arrivals.values())):
            for goes in sorted(set(self.departures.values())):
                for vl in range(4):  # every class of data has the turns of the first
                    leaves = next_vl(arrival, goes, vl)
                    if leaves is not None:
                        key = _exact(
                            in_group=arrival[0], in_up=arrival[1], out_group=goes[0], out_up=goes[1], vl=vl
                        )
                        yield Entry("vl_turn", key, "set_vl", (("vl", leaves),))
        for (dcna, bucket), (bitmap, instr) in self.routes.items():
            key = _exact(dcna=dcna, bucket=bucket)
            yield Entry("all_path", key, "push_route", (("bitmap", bitmap), ("instr", instr)))
        segments = [(Lpm(OWN_Y << 3, 13), 0, 0, 7), (Lpm(0, 10), 8, 3, 7), (Lpm(2 << 13, 3), 16, 6, 127)]
        for prefix, base, shift, mask in segments:
            params = ("base", base), ("shift", shift), ("mask", mask)
            yield Entry("segment", (("dcna", prefix),), "set_segment", params)
        members = {x: OWN_Y << 3 | x for x in range(8)} | {8 + y: y << 3 for y in range(8) if y != OWN_Y}
        members |= {16 + rack: 2 << 13 | rack << 6 for rack in range(128)}
        for index, dcna in members.items():
            port = self.table_port(dcna)
            if port is not None:
                yield Entry("linear", _exact(index=index), "set_port", (("port", port),))
        if self.has_pxn:
            yield from self._pxn_entries()
        if self.has_rail:
            yield from self._rail_entries()

    def _pxn_entries(self) -> Iterator[Entry]:
        classes, own = (("dcna", Lpm(GPUS, 3)),), (("dcna", Lpm(GPUS | OWN_DOMAIN << 3, 13)),)
        yield Entry("segment", classes, "set_segment", (("base", 144), ("shift", 0), ("mask", 7)))
        yield Entry("pxn_segment", classes, "set_ranks", (("base", 40), ("shift", 0), ("mask", 7)))
        yield Entry("pxn_segment", own, "no_pxn")
        for rank in range(8):
            for table, base, action, port in (
                ("linear", 144, "set_port", self.table_port(GPUS | rank)),
                ("pxn", 40, "set_neighbour", self.pxn_port(GPUS | rank)),
            ):
                if port is not None:
                    yield Entry(table, _exact(index=base + rank), action, (("port", port),))

    def _rail_entries(self) -> Iterator[Entry]:
        own, all_rails = Ternary(BELOW | OWN_RAIL, 0xF807), Ternary(BELOW, 0xF800)
        params = ("base", 160), ("shift", 3), ("mask", 255)
        yield Entry("rail", (("dcna", own),), "set_rail", params, priority=2)
        yield Entry("rail", (("dcna", all_rails),), "foreign_rail", priority=1)
        spread = ("base", 416), ("shift", 0), ("mask", 0)
        yield Entry("segment", (("dcna", Lpm(SPREAD, 3)),), "set_segment", spread)
        groups = [
            (("group", group), ("shift", shift), ("mask", size - 1))
            for group, (size, shift, _) in enumerate(_GROUPS)
        ]
        groups.append((("group", _NO_GROUP), ("shift", 0), ("mask", 3)))
        for domain in range(200):
            yield Entry("linear", _exact(index=160 + domain), "set_port", (("port", 19 + domain),))
        for index, group in [(416, 0), *((160 + domain, (domain - 200) // 20) for domain in range(200, 250))]:
            yield Entry("linear", _exact(index=index), "set_group", groups[group])
        for group, (_, _, ports) in enumerate(_GROUPS):
            members = tuple((("port", port),) for port in ports)
            yield Entry("multipath", _exact(group=group), "set_egress_port", members=members)

    def hop(self, port: int, data: bytes) -> tuple[int, bytes] | DropReason:
        """Return what the program makes of a frame: egress port and bytes, or the reason for a drop."""
        egress, routed = 0, True
        if port == CPU_PORT:
            if len(data) < 2:
                return DropReason.TRUNCATED
            egress, routed = data[0] << 1 | data[1] >> 7, bool(data[1] & 0x40)
            data = data[2:]
        frame = _parsed(data)
        if isinstance(frame, DropReason):
            return frame
        fields = Frame(
            dcna=frame.dcna,
            lb=frame.lb,
            sl=frame.sl,
            mgmt=bool(frame.mgmt),
            route=frame.srh and SourceRoute(frame.srh.ptr, frame.srh.bitmap, frame.srh.ports),
            vl=frame.vl,
            scna=frame.scna,
            lb_mode=frame.lb_mode,
            length=frame.length,
        )
        pipeline = self._pipeline
        step = pipeline.forward(fields, port) if routed else pipeline.depart(fields, port, egress)
        if isinstance(step, DropReason):
            return step
        route = step.frame.route
        srh = route and Srh(route.ptr, route.bitmap, instructions(*route.instructions))
        packed = frame.but(vl=step.frame.vl, srh=srh, length=step.frame.length).packed()
        return step.port, (port << 7).to_bytes(2) + packed if step.port == CPU_PORT else packed

    @cached_property
    def _pipeline(self) -> Pipeline:
        return Pipeline(Tables(self.entries), has_host=self.has_host)


NPU = Router("ub_npu", has_host=True)
# Devices below: up by group 2, down by 7. As many ports as lanes, the most there can be.
LRS = Router("ub_switch", has_host=False, last_port=72, into=2, out=7)
# Racks below: up and down are one group.
HRS = Router("ub_switch", has_host=False, last_port=128, into=5, out=5)
GPU = Router("rail_gpu", has_host=True, has_pxn=True)
# As many ports as the largest switch has: GPUs below, ways up among the others.
RAIL = Router("rail_switch", has_host=False, last_port=256, into=2, out=7, has_rail=True)
ROUTERS = (NPU, LRS, HRS, GPU, RAIL)

# SPDX-License-Identifier: Apache-2.0
"""Executable specification of the P4 programs: table lookups, the hash, and the decisions of one pass.

Planning follows frames through the tables of a plan with this module; tests compare the compiled programs
with this module. A frame consists of the header fields that the programs read; other modules parse and build
bytes. The fields are defined in docs/reference/wire-format.md.
"""

import zlib
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from typing import Any, NamedTuple, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from controller.errors import PlanError
from controller.paths.source_route import HEADER_BYTES, MAX_HOPS, MAX_INSTRUCTIONS, SourceRoute
from controller.plan.entry import BUCKETS, CPU_PORT, Entry, Exact, Lpm, Match, Optional, Range, Ternary
from controller.plan.updates import Update
from controller.tables.actions import FOREIGN_RAIL, SET_GROUP, SET_RANKS

__all__ = [
    "Departure",
    "DropReason",
    "Frame",
    "Pipeline",
    "PortChoice",
    "Tables",
    "flow_hash",
    "frame_hash",
    "lb_contributions",
    "resized",
]

Ints = NDArray[np.int64]

# Port group of a node's host and controller.
LOCAL_GROUP = 0
# The virtual lane of responses, and the number of virtual lanes with entries in the turn table.
VL_RESPONSE, VL_TURNS = 2, 4
_ADDRESS_BITS = 16

# Lowest bit and width of each field in the 40 bits of which the hash is computed.
_SCNA, _DCNA, _LB = (24, 16), (8, 16), (0, 8)
_HASHED_BYTES = 5
# Bits of the CRC-32 that form the hash.
_HASH_MASK = 0xFFFF

# LPH.length has three parts: blocks of 32 flits (below 16), remaining flits of 20 bytes, remaining bytes.
_FLIT_BYTES, _BLOCK_FLITS, _MAX_BLOCKS = 20, 32, 16


@final
class DropReason(IntEnum):
    """Reason of a drop; the value is the index in the counter `drops`."""

    TRUNCATED = 1
    ETHERTYPE = 2
    CFG = 3
    INSTRUCTIONS = 4
    HOPS = 5
    NO_PORT = 6
    NO_ROUTE = 7
    VL = 8
    ARRIVAL = 9
    LENGTH = 10
    NO_HOST = 11
    FOREIGN_RAIL = 12


class Frame(NamedTuple):
    """Header fields of a frame, as read by the programs.

    `length` is LPH.length; if `length` is None, it is neither updated nor checked. The class is a named tuple
    for speed, as every hop creates a new frame.
    """

    dcna: int
    lb: int = 0
    sl: int = 0
    mgmt: bool = False
    route: SourceRoute | None = None
    vl: int = 0
    scna: int = 0
    lb_mode: int = 0
    length: int | None = None


@final
@dataclass(frozen=True, slots=True)
class Departure:
    """Egress port of a frame, and the frame with its fields on departure."""

    port: int
    frame: Frame


@final
@dataclass(frozen=True, slots=True)
class PortChoice:
    """Egress ports from which the hash chooses: `ports[hash >> shift & (len(ports) - 1)]`.

    The number of ports is a power of two; a port may be repeated.
    """

    ports: tuple[int, ...]
    shift: int = 0

    def of(self, hashes: ArrayLike) -> Ints:
        """Return the index in `ports` of each hash."""
        return np.asarray(hashes, np.int64) >> self.shift & len(self.ports) - 1


def frame_hash(scna: int, dcna: int, lb: int) -> int:
    """Return the ECMP hash of a frame with lb_mode 0, for the choice of its egress port.

    The hash is the low 16 bits of the CRC-32 of three header fields: scna and dcna, the addresses of source
    and destination (2 bytes each), and lb, the load-balancing value (1 byte).
    """
    return zlib.crc32(scna.to_bytes(2) + dcna.to_bytes(2) + lb.to_bytes(1)) & _HASH_MASK


def flow_hash(scna: ArrayLike, dcna: ArrayLike, lb: ArrayLike) -> Ints:
    """Return `frame_hash` of many frames, element by element.

    A CRC is affine over GF(2): for inputs of equal length, crc(x ^ y) = crc(x) ^ crc(y) ^ crc(0). The hash is
    therefore the XOR of crc(0) and of one contribution of each field.
    """
    ends = hash_contributions(*_SCNA)[np.asarray(scna)] ^ hash_contributions(*_DCNA)[np.asarray(dcna)]
    return ends ^ lb_contributions()[np.asarray(lb)] ^ (zlib.crc32(bytes(_HASHED_BYTES)) & _HASH_MASK)


def lb_contributions() -> Ints:
    """Return the contribution to the hash of each value of lb, (256,)."""
    return hash_contributions(*_LB)


@cache
def hash_contributions(first: int, bits: int) -> Ints:
    """Return the contribution to the hash of each value of a field, (2**bits,).

    The contribution of a value has the bits of the hash that change if the field has this value instead of 0.
    The field has `bits` bits; its lowest bit is bit `first` of the input of the hash.
    """
    contributions = np.zeros(1, np.int64)
    empty = zlib.crc32(bytes(_HASHED_BYTES))
    for bit in range(first, first + bits):
        flipped = (zlib.crc32((1 << bit).to_bytes(_HASHED_BYTES)) ^ empty) & _HASH_MASK
        contributions = np.concatenate([contributions, contributions ^ flipped])
    return contributions


def resized(length: int, octets: int) -> int | None:
    """Return LPH.length after a frame has grown by `octets` bytes; None if the value does not fit the field.

    A negative value of `octets` shrinks the frame.
    """
    blocks, flits, tail = length >> 10, length >> 5 & 31, length & 31
    number = (blocks * _BLOCK_FLITS + flits) * _FLIT_BYTES + tail + octets
    blocks, rest = divmod(number, _BLOCK_FLITS * _FLIT_BYTES)
    if not 0 <= blocks < _MAX_BLOCKS:
        return None
    return blocks << 10 | rest // _FLIT_BYTES << 5 | rest % _FLIT_BYTES


@final
class Tables:
    """Table entries of one node, and their lookup."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._entries: dict[Hashable, Entry] = {}
        self._exact: dict[tuple[str, tuple[int, ...]], Entry] = {}
        self._other: dict[str, dict[Hashable, Entry]] = {}
        for entry in entries:
            self.write(Update("insert", entry))

    def copy(self) -> "Tables":
        """Return an independent copy of the tables."""
        copied = Tables()
        copied._entries = dict(self._entries)
        copied._exact = dict(self._exact)
        copied._other = {table: dict(entries) for table, entries in self._other.items()}
        return copied

    def write(self, update: Update) -> None:
        """Insert, modify or delete an entry.

        Raises:
            PlanError: The entry to insert exists, or the entry to modify or delete does not exist.
        """
        entry, key = update.entry, update.entry.key
        if (key in self._entries) == (update.kind == "insert"):
            exists = "exists" if update.kind == "insert" else "does not exist"
            raise PlanError(
                f"cannot {update.kind} the entry {key}: it {exists}", remedy="read the table first"
            )
        values = tuple([match.value for _, match in entry.match if isinstance(match, Exact)])
        if values and len(values) == len(entry.match):
            _put(self._exact, (entry.table, values), update)
        else:
            _put(self._other.setdefault(entry.table, {}), key, update)
        _put(self._entries, key, update)

    @property
    def content(self) -> Mapping[Hashable, Entry]:
        """All entries by their keys, as a copy."""
        return dict(self._entries)

    def entries(self, table: str) -> list[Entry]:
        """Return all entries of a table."""
        return [entry for entry in self._entries.values() if entry.table == table]

    def lookup(self, table: str, **key: int) -> Entry | None:
        """Return the matching entry of a table for a key, or None.

        The fields of the key must be in the table's order. Of several matching entries, the highest priority
        wins, then the longest prefix.
        """
        exact = self._exact.get((table, tuple(key.values())))
        if exact is not None:
            return exact
        matching = [entry for entry in self._other.get(table, {}).values() if _holds(entry, key)]
        if len(matching) > 1:
            return max(matching, key=lambda entry: (entry.priority, _prefix(entry)))
        return matching[0] if matching else None


def _put(entries: dict[Any, Entry], key: Hashable, update: Update) -> None:
    if update.kind == "delete":
        del entries[key]
    else:
        entries[key] = update.entry


def _holds(entry: Entry, key: Mapping[str, int]) -> bool:
    return all(_matches(match, key[name]) for name, match in entry.match)


def _matches(match: Match, value: int) -> bool:
    match match:
        case Exact() | Optional():
            return value == match.value
        case Lpm():
            return (value ^ match.value) >> _ADDRESS_BITS - match.prefix == 0
        case Ternary():
            return (value ^ match.value) & match.mask == 0
        case Range():
            return match.low <= value <= match.high


def _prefix(entry: Entry) -> int:
    return sum(match.prefix for _, match in entry.match if isinstance(match, Lpm))


def _parameter(entry: Entry, name: str) -> int:
    for parameter, value in entry.params:
        if parameter == name:
            return value
    raise KeyError(name)


def _index(array: Entry, value: int) -> int:
    """Return base + (value >> shift & mask), with the parameters of the entry `array`."""
    shift, mask = _parameter(array, "shift"), _parameter(array, "mask")
    return _parameter(array, "base") + (value >> shift & mask)


@final
class Pipeline:
    """P4 program of one node: decides by the node's tables what happens to a frame.

    A table that the program lacks is empty. The decisions are, in order: arrival port, source route to push,
    rail, source route, PXN, segment and linear lookup, group, departure port, turn, delivery.

    Args:
        tables: Table entries of the node.
        has_host: Whether a host is attached to the node; else the node delivers only management frames.
    """

    def __init__(self, tables: Tables, *, has_host: bool = True) -> None:
        self.tables = tables
        self._has_host = has_host

    def forward(self, frame: Frame, ingress_port: int) -> Departure | DropReason:
        """Return a frame's departure, or the reason of its drop, after one pass through the program."""
        arrival = self.tables.lookup("arrival", port=ingress_port)
        if arrival is None:
            return DropReason.ARRIVAL
        if frame.route is None and _parameter(arrival, "group") == LOCAL_GROUP:
            pushed = self._pushed(frame)
            if isinstance(pushed, DropReason):
                return pushed
            frame = pushed
        rail = self.tables.lookup("rail", dcna=frame.dcna)
        if rail is not None and FOREIGN_RAIL.is_called_by(rail):
            return DropReason.FOREIGN_RAIL
        port = None
        if frame.route is not None:
            if frame.route.ptr >= MAX_HOPS:
                return DropReason.HOPS
            if frame.route.problem:
                return DropReason.INSTRUCTIONS
            port = frame.route.egress_port()
            frame = frame._replace(route=frame.route.advanced())
        if port is None:
            port = self.table_port(frame)
        return port if isinstance(port, DropReason) else self.depart(frame, ingress_port, port)

    def _pushed(self, frame: Frame) -> Frame | DropReason:
        """Return the frame with its source route from table `all_path`; unchanged without an entry."""
        entry = self.tables.lookup("all_path", dcna=frame.dcna, bucket=frame.lb % BUCKETS)
        if entry is None:
            return frame
        instructions = _parameter(entry, "instr").to_bytes(MAX_INSTRUCTIONS)
        route = SourceRoute(0, _parameter(entry, "bitmap"), tuple(instructions))
        return _with_route(frame, route, HEADER_BYTES)

    def table_port(self, frame: Frame) -> int | DropReason:
        """Return the egress port that the tables choose for a frame whose source route names no port."""
        action = self.routing_action(frame.dcna)
        return action if isinstance(action, DropReason) else self.port_of(action, frame)

    def port_of(self, action: Entry, frame: Frame) -> int | DropReason:
        """Return the egress port of a frame whose destination has this routing action."""
        if not SET_GROUP.is_called_by(action):
            return _parameter(action, "port")
        ports = self.ports_of(action)
        if isinstance(ports, DropReason):
            return ports
        number = frame.lb if frame.lb_mode else frame_hash(frame.scna, frame.dcna, frame.lb)
        return ports.ports[int(ports.of(number))]

    def ports_of(self, action: Entry) -> PortChoice | DropReason:
        """Return the egress ports of a routing action; NO_ROUTE if the action names a missing group."""
        if not SET_GROUP.is_called_by(action):
            return PortChoice((_parameter(action, "port"),))
        group = self.tables.lookup("multipath", group=_parameter(action, "group"))
        if group is None:
            return DropReason.NO_ROUTE
        ports = tuple(dict(member)["port"] for member in group.members)
        values = range(_parameter(action, "mask") + 1)
        return PortChoice(tuple(ports[value % len(ports)] for value in values), _parameter(action, "shift"))

    def routing_action(self, dcna: int) -> Entry | DropReason:
        """Return the entry that names the port or the group for a destination address, or a drop reason."""
        rail = self.tables.lookup("rail", dcna=dcna)
        if rail is not None and FOREIGN_RAIL.is_called_by(rail):
            return DropReason.FOREIGN_RAIL
        ranks = self.tables.lookup("pxn_segment", dcna=dcna)
        if ranks is not None and SET_RANKS.is_called_by(ranks):
            neighbour = self.tables.lookup("pxn", index=_index(ranks, dcna))
            if neighbour is not None:
                return neighbour
        segment = self.tables.lookup("segment", dcna=dcna) if rail is None else rail
        action = None if segment is None else self.tables.lookup("linear", index=_index(segment, dcna))
        return DropReason.NO_ROUTE if action is None else action

    def depart(self, frame: Frame, ingress_port: int, egress_port: int) -> Departure | DropReason:
        """Return a frame's departure at an egress port, with the frame's new VL, or the drop reason."""
        arrival = self.tables.lookup("arrival", port=ingress_port)
        if arrival is None:
            return DropReason.ARRIVAL
        departure = self.tables.lookup("departure", port=egress_port)
        if departure is None:
            return DropReason.NO_PORT
        vl = frame.vl
        if _parameter(arrival, "group") == LOCAL_GROUP:  # the source's frame enters on its class's first VL
            vl = VL_RESPONSE if frame.mgmt or frame.sl > 7 else 2 * frame.sl
        turning = vl if vl < VL_TURNS else vl & 1  # all classes of data turn like VL 0 and 1
        turn = self.tables.lookup(
            "vl_turn",
            in_group=_parameter(arrival, "group"),
            in_up=_parameter(arrival, "up"),
            out_group=_parameter(departure, "group"),
            out_up=_parameter(departure, "up"),
            vl=turning,
        )
        if turn is None:
            return DropReason.VL
        frame = frame._replace(vl=_parameter(turn, "vl") | vl - turning)
        if _parameter(departure, "group") != LOCAL_GROUP:
            return Departure(egress_port, frame)
        if not (self._has_host or frame.mgmt):
            return DropReason.NO_HOST
        if frame.route is not None:
            stripped = _with_route(frame, None, -HEADER_BYTES)
            if isinstance(stripped, DropReason):
                return stripped
            frame = stripped
        return Departure(CPU_PORT if frame.mgmt else egress_port, frame)


def _with_route(frame: Frame, route: SourceRoute | None, octets: int) -> Frame | DropReason:
    """Return the frame with another source route (or None), and with a length changed by `octets` bytes.

    The result is the drop reason LENGTH if the new length does not fit LPH.length.
    """
    length = None if frame.length is None else resized(frame.length, octets)
    if frame.length is not None and length is None:
        return DropReason.LENGTH
    return frame._replace(route=route, length=length)

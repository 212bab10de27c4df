# SPDX-License-Identifier: Apache-2.0
"""Executable specification of the P4 programs: table lookups, the hash, and the decisions of one pass.

Planning uses it to follow frames through the tables of a plan, and tests compare the compiled programs with
it. Frames are the fields that the programs read; other modules parse and build bytes. Source: the wire
format, docs/reference/wire-format.md.
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

# Lowest bit of each field in the 40 hashed bits, and its width.
_SCNA, _DCNA, _LB = (24, 16), (8, 16), (0, 8)
_HASHED_BYTES = 5
# Bits of the CRC that switches use.
_HASH_MASK = 0xFFFF

# LPH.length counts blocks (at most 16) of 32 flits of 20 bytes.
_FLIT_BYTES, _BLOCK_FLITS, _MAX_BLOCKS = 20, 32, 16


@final
class DropReason(IntEnum):
    """Reason of a drop, as the index of the counter `drops`."""

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
    """Fields of a frame that the programs read; `length` is LPH.length, None if it does not matter.

    It is a named tuple for speed, as every hop makes a new frame.
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
    """Egress port of a frame, and the frame as it leaves."""

    port: int
    frame: Frame


@final
@dataclass(frozen=True, slots=True)
class PortChoice:
    """Egress ports from which the hash chooses: `ports[hash >> shift & (len(ports) - 1)]`."""

    ports: tuple[int, ...]
    shift: int = 0

    def of(self, hashes: ArrayLike) -> Ints:
        """Return the index in `ports` of each hash."""
        return np.asarray(hashes, np.int64) >> self.shift & len(self.ports) - 1


def frame_hash(scna: int, dcna: int, lb: int) -> int:
    """Return the hash, the low 16 bits of a CRC-32, by which switches choose for a frame of lb_mode 0."""
    return zlib.crc32(scna.to_bytes(2) + dcna.to_bytes(2) + lb.to_bytes(1)) & _HASH_MASK


def flow_hash(scna: ArrayLike, dcna: ArrayLike, lb: ArrayLike) -> Ints:
    """Return `frame_hash` of many frames, element by element.

    A CRC is affine over GF(2): for inputs of equal length, crc(x ^ y) = crc(x) ^ crc(y) ^ crc(0), so each
    field contributes a value of its own.
    """
    ends = hash_contributions(*_SCNA)[np.asarray(scna)] ^ hash_contributions(*_DCNA)[np.asarray(dcna)]
    return ends ^ lb_contributions()[np.asarray(lb)] ^ (zlib.crc32(bytes(_HASHED_BYTES)) & _HASH_MASK)


def lb_contributions() -> Ints:
    """Return the bits of the hash that each value of lb flips, (256,)."""
    return hash_contributions(*_LB)


@cache
def hash_contributions(first: int, bits: int) -> Ints:
    """Return the bits of the hash that each value of a field flips, (2**bits,).

    The lowest bit of the field is bit `first` of the hashed input.
    """
    contributions = np.zeros(1, np.int64)
    empty = zlib.crc32(bytes(_HASHED_BYTES))
    for bit in range(first, first + bits):
        flipped = (zlib.crc32((1 << bit).to_bytes(_HASHED_BYTES)) ^ empty) & _HASH_MASK
        contributions = np.concatenate([contributions, contributions ^ flipped])
    return contributions


def resized(length: int, octets: int) -> int | None:
    """Return the value of LPH.length after a frame grows by some bytes; None if it does not fit the field."""
    blocks, flits, tail = length >> 10, length >> 5 & 31, length & 31
    number = (blocks * _BLOCK_FLITS + flits) * _FLIT_BYTES + tail + octets
    blocks, rest = divmod(number, _BLOCK_FLITS * _FLIT_BYTES)
    if not 0 <= blocks < _MAX_BLOCKS:
        return None
    return blocks << 10 | rest // _FLIT_BYTES << 5 | rest % _FLIT_BYTES


@final
class Tables:
    """Entries of one switch, and lookups in them."""

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
            PlanError: An entry to insert exists, or an entry to modify or delete does not.
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
        """Return the entry that matches a table's key, or None; the key's fields are in the table's order.

        Of several matching entries, the highest priority wins, then the longest prefix.
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
    """Return the index of a value in the array that the entry's base, shift and mask describe."""
    shift, mask = _parameter(array, "shift"), _parameter(array, "mask")
    return _parameter(array, "base") + (value >> shift & mask)


@final
class Pipeline:
    """Decisions of one switch's program, by its tables; a table that the program lacks is empty.

    The order of decisions is: arrival port, source route to push, rail, source route, PXN, segments with
    linear lookup, group, departure port, turn, delivery.
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
        """Return the frame with the source route of its destination and bucket, unchanged without a route."""
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
        """Return the ports of a routing action; NO_ROUTE if its group does not exist."""
        if not SET_GROUP.is_called_by(action):
            return PortChoice((_parameter(action, "port"),))
        group = self.tables.lookup("multipath", group=_parameter(action, "group"))
        if group is None:
            return DropReason.NO_ROUTE
        ports = tuple(dict(member)["port"] for member in group.members)
        values = range(_parameter(action, "mask") + 1)
        return PortChoice(tuple(ports[value % len(ports)] for value in values), _parameter(action, "shift"))

    def routing_action(self, dcna: int) -> Entry | DropReason:
        """Return the entry with the port or the group of a destination address, or the reason of a drop."""
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
        """Return a frame's departure at an egress port, with its new VL, or the reason of its drop."""
        arrival = self.tables.lookup("arrival", port=ingress_port)
        if arrival is None:
            return DropReason.ARRIVAL
        departure = self.tables.lookup("departure", port=egress_port)
        if departure is None:
            return DropReason.NO_PORT
        vl = frame.vl
        if _parameter(arrival, "group") == LOCAL_GROUP:  # a source enters on the first VL of its class
            vl = VL_RESPONSE if frame.mgmt or frame.sl > 7 else 2 * frame.sl
        turning = vl if vl < VL_TURNS else vl & 1  # all classes of data share the turns of the first class
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
    """Return the frame with another source route (or None) and its length changed by `octets` bytes."""
    length = None if frame.length is None else resized(frame.length, octets)
    if frame.length is not None and length is None:
        return DropReason.LENGTH
    return frame._replace(route=route, length=length)

# SPDX-License-Identifier: Apache-2.0
"""One UB router written a second time, in Python and straight from the wire format, with tables made by hand.

The router stands at x = 1, y = 1 of an 8x8 mesh, CNA 9. Ports: 0 its own side; 1 to 7 to x = 0, 2..7; 8 to 14
to y = 0, 2..7. Two more ports, 16 down and 17 up, are a direction group of their own; port 15 is in no table.
"""

import random
from collections.abc import Iterator
from enum import IntEnum

from controller import Entry, Exact, Lpm
from tests.emulation.ub_frames import CFG_CNA16, CFG_SOURCE_ROUTE, ETHERTYPE, Srh, UbFrame, instructions

__all__ = [
    "CPU_PORT",
    "DIRECTIONS",
    "ENTRIES",
    "PORTS",
    "ROUTES",
    "Reason",
    "hop",
    "next_vl",
    "packet_out",
    "random_frames",
]

CPU_PORT = 510
PORTS = tuple(range(18))
OWN_X = OWN_Y = 1
_LONGEST = 16 * 32 * 20


class Reason(IntEnum):
    """Indices of the counter drops."""

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


# Port: (group, whether a frame that leaves by it goes up); who comes in by it went the other way.
DIRECTIONS = {
    0: (0, 0),
    **{1 + position: (1, int(x > OWN_X)) for position, x in enumerate(x for x in range(8) if x != OWN_X)},
    **{8 + position: (1, int(y > OWN_Y)) for position, y in enumerate(y for y in range(8) if y != OWN_Y)},
    16: (2, 0),
    17: (2, 1),
}

# (destination, bucket): bitmap, instructions.
ROUTES = {
    (0x0000, 0): (0b110000000000, instructions(1, 8)),
    (0x0000, 1): (0b110000000000, instructions(8, 1)),
    (0x000A, 15): (0b100000000000, instructions(2)),
    (0x0024, 7): (0b111111000000, instructions(17, 2, 9, 3, 1, 8)),
    (0x0025, 2): (0b010000000000, instructions(4)),
}


def next_vl(arrival: tuple[int, int], departure: tuple[int, int], vl: int) -> int | None:
    """Rules T2-G for a frame that enters the router on `vl`; None: no such turn."""
    (in_group, in_up), (out_group, out_up) = arrival, departure
    base = vl & 2
    if vl > 3 or (in_group == 0 and vl != base) or (out_group != 0 and out_group < in_group):
        return None
    if in_group == 0 or out_group == 0:
        return vl
    if in_group != out_group:
        return base
    if in_up == 0 and out_up == 1:
        return vl + 1 if vl == base else None
    return vl


def _arrival(port: int) -> tuple[int, int] | None:
    if port == CPU_PORT:
        return 0, 0
    if port not in DIRECTIONS:
        return None
    group, up = DIRECTIONS[port]
    return group, 0 if group == 0 else 1 - up


def _table_port(dcna: int) -> int | None:
    """Linear lookup: the row of the mesh by its x, other rows of the rack by their y, nothing else."""
    if dcna >> 6:
        return None
    x, y = dcna & 7, dcna >> 3
    if y == OWN_Y:
        return 0 if x == OWN_X else 1 + x - (x > OWN_X)
    return 8 + y - (y > OWN_Y)


def _entries() -> Iterator[Entry]:
    def exact(**fields: int) -> tuple[tuple[str, Exact], ...]:
        return tuple((name, Exact(value)) for name, value in fields.items())

    for port in (*DIRECTIONS, CPU_PORT):
        group, up = _arrival(port) or (0, 0)
        yield Entry("arrival", exact(port=port), "arrive", (("group", group), ("up", up)))
    for port, (group, up) in DIRECTIONS.items():
        yield Entry("departure", exact(port=port), "depart", (("group", group), ("up", up)))
    directions = [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)]
    for arrival in directions:
        for departure in directions:
            for vl in range(16):
                leaves = next_vl(arrival, departure, vl)
                if leaves is not None:
                    key = exact(
                        in_group=arrival[0],
                        in_up=arrival[1],
                        out_group=departure[0],
                        out_up=departure[1],
                        vl=vl,
                    )
                    yield Entry("vl_turn", key, "set_vl", (("vl", leaves),))
    for (dcna, bucket), (bitmap, instr) in ROUTES.items():
        yield Entry(
            "all_path", exact(dcna=dcna, bucket=bucket), "push_route", (("bitmap", bitmap), ("instr", instr))
        )
    for prefix, base, shift in [(Lpm(OWN_Y << 3, 13), 0, 0), (Lpm(0, 10), 8, 3)]:
        yield Entry(
            "segment", (("dcna", prefix),), "set_segment", (("base", base), ("shift", shift), ("mask", 7))
        )
    for x in range(8):
        yield Entry("linear", exact(index=x), "set_port", (("port", _table_port(OWN_Y << 3 | x) or 0),))
    for y in range(8):
        if y != OWN_Y:
            yield Entry("linear", exact(index=8 + y), "set_port", (("port", _table_port(y << 3) or 0),))


ENTRIES = tuple(_entries())


def packet_out(frame: bytes, *, egress_port: int = 0, routed: int = 1) -> bytes:
    """A frame as the CPU port brings it."""
    return (egress_port << 7 | routed << 6).to_bytes(2) + frame


def _parsed(data: bytes) -> UbFrame | Reason:
    if len(data) < 14:
        return Reason.TRUNCATED
    if data[12:14] != ETHERTYPE.to_bytes(2):
        return Reason.ETHERTYPE
    if len(data) < 18:
        return Reason.TRUNCATED
    cfg = data[15] & 0xF
    if cfg not in (CFG_CNA16, CFG_SOURCE_ROUTE):
        return Reason.CFG
    if len(data) < (26 if cfg == CFG_CNA16 else 34):
        return Reason.TRUNCATED
    return UbFrame.parsed(data)


def _bytes_coded(length: int) -> int:
    """A length field as the mixed-radix number it is, of blocks, flits and bytes."""
    return ((length >> 10) * 32 + (length >> 5 & 31)) * 20 + (length & 31)


def _coded(number: int) -> int | None:
    blocks, rest = divmod(number, 640)
    return blocks << 10 | rest // 20 << 5 | rest % 20 if number >= 0 and blocks < 16 else None


def hop(port: int, data: bytes) -> tuple[int, bytes] | Reason:
    """What one router makes of a frame: where it leaves and how, or why it does not."""
    egress, routed = 0, True
    if port == CPU_PORT:
        if len(data) < 2:
            return Reason.TRUNCATED
        egress, routed = data[0] << 1 | data[1] >> 7, bool(data[1] & 0x40)
        data = data[2:]
    frame = _parsed(data)
    if isinstance(frame, Reason):
        return frame
    arrival = _arrival(port)
    if arrival is None:
        return Reason.ARRIVAL
    vl = frame.vl
    if arrival[0] == 0:
        vl = 2 if frame.mgmt or frame.sl else 0
    if routed:
        if arrival[0] == 0 and frame.srh is None and (frame.dcna, frame.lb & 15) in ROUTES:
            longer = _coded(_bytes_coded(frame.length or 0) + 8)
            if longer is None:
                return Reason.LENGTH
            frame = frame.but(srh=Srh(0, *ROUTES[frame.dcna, frame.lb & 15]), length=longer)
        chosen = _table_port(frame.dcna)
        if frame.srh is not None:
            if frame.srh.ptr >= 12:
                return Reason.HOPS
            bits = f"{frame.srh.bitmap:012b}"
            if bits.count("1") > 6:
                return Reason.INSTRUCTIONS
            if bits[frame.srh.ptr] == "1":
                chosen = frame.srh.instr.to_bytes(6)[bits[: frame.srh.ptr].count("1")]
        if chosen is None:
            return Reason.NO_ROUTE
        egress = chosen
        if frame.srh is not None:
            frame = frame.but(srh=Srh(frame.srh.ptr + 1, frame.srh.bitmap, frame.srh.instr))
    if egress not in DIRECTIONS:
        return Reason.NO_PORT
    leaves = next_vl(arrival, DIRECTIONS[egress], vl)
    if leaves is None:
        return Reason.VL
    frame = frame.but(vl=leaves)
    if DIRECTIONS[egress][0] != 0:
        return egress, frame.packed()
    if frame.srh is not None:
        shorter = _coded(_bytes_coded(frame.length or 0) - 8)
        if shorter is None:
            return Reason.LENGTH
        frame = frame.but(srh=None, length=shorter)
    if frame.mgmt:
        return CPU_PORT, (port << 7).to_bytes(2) + frame.packed()
    return egress, frame.packed()


def random_frames(count: int, seed: int) -> list[tuple[int, bytes]]:
    """(port, frame): every part usually right, sometimes not. A number ends each whole frame."""
    rng = random.Random(seed)
    made = []
    for number in range(count):
        srh = None
        if rng.random() < 0.6:
            bitmap = rng.choice(
                [0, rng.getrandbits(12), rng.getrandbits(12) & rng.getrandbits(12), 0xD00, 0xFFF]
            )
            ptr = rng.choice([0, 0, 1, rng.randrange(12), rng.randrange(16)])
            srh = Srh(
                ptr,
                bitmap,
                instructions(*(rng.choice([0, rng.randrange(18), rng.getrandbits(8)]) for _ in range(6))),
            )
        frame = UbFrame(
            dcna=rng.choice([9, rng.randrange(64), rng.randrange(64), rng.getrandbits(16)]),
            vl=rng.choice([0, 1, 2, 3, rng.getrandbits(4)]),
            cfg=None if rng.random() < 0.97 else rng.getrandbits(4),
            srh=srh,
            scna=rng.getrandbits(16),
            lb=rng.getrandbits(8),
            sl=rng.choice([0, 0, 1, rng.getrandbits(4)]),
            mgmt=int(rng.random() < 0.2),
            # A tail of 20 or more codes no length; what comes of one is between the sender and itself.
            length=None
            if rng.random() < 0.5
            else _coded(rng.choice([rng.randrange(12), rng.randrange(_LONGEST), -1]) % _LONGEST),
            lb_mode=rng.getrandbits(1),
            other_lph=rng.getrandbits(8),
            payload=rng.randbytes(rng.choice([0, rng.randrange(200), rng.randrange(1500)]))
            + number.to_bytes(4),
            ethertype=ETHERTYPE if rng.random() < 0.98 else 0x86DD,
            addresses=rng.randbytes(12),
        ).packed()
        if rng.random() < 0.03:
            frame = frame[: rng.randrange(40)]
        port = rng.choice([*PORTS, 0, 0, CPU_PORT])
        if port == CPU_PORT:
            egress = rng.choice([rng.randrange(18), rng.getrandbits(9)])
            frame = packet_out(frame, egress_port=egress, routed=rng.getrandbits(1))
        made.append((port, frame))
    return made

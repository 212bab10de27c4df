# SPDX-License-Identifier: Apache-2.0
"""Writes the goldens: seeded random frames through our own programs, and what BMv2 makes of them, as STF.

    python -m tests.differential.goldens [NAME ...]

The engine says first what it expects, BMv2 must agree with every frame, and only then is the file written: so
CI, which has no BMv2, holds the engine to what BMv2 did.
"""

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

from controller import Exact, Lpm, Match, Ternary
from controller.forwarding.pipeline import DropReason
from controller.p4runtime.entry_encoding import calls_of
from tests.differential.stf.language import parse
from tests.differential.stf.on_engine import EngineRun
from tests.differential.stf.run import Case, differences
from tests.differential.stf.verdict import Outputs
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import CPU_PORT, ROUTERS, Router

__all__ = ["FOLDER", "NAMES", "golden", "program"]

FOLDER = Path(__file__).parent / "golden"
_TEST_PROGRAMS = Path(__file__).parents[1] / "programs" / "build"
_OWN_PROGRAMS = Path(__file__).parents[2] / "p4" / "build"

_Frames = Callable[[Random], list[tuple[int, bytes]]]


def _edge(chance: Random, octets: int) -> bytes:
    """A number as tests of arithmetic want it: often at an edge."""
    value = chance.choice(
        (
            chance.randbytes(octets),
            bytes(octets),
            b"\xff" * octets,
            b"\x7f" + b"\xff" * (octets - 1),
            b"\x80" + bytes(octets - 1),
            bytes(octets - 1) + chance.randbytes(1),
        )
    )
    return value


def _arithmetic(chance: Random) -> list[tuple[int, bytes]]:
    frames = []
    for _ in range(120):
        widths = (1, 1, 2, 8, 8, 16, 16, 1, 1, 9, 9)
        operands = [_edge(chance, width) for width in widths]
        if chance.random() < 0.2:
            operands[6] = operands[5]
        by = bytes([chance.choice((0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 255, chance.randrange(256)))])
        frames.append((0, b"".join(operands) + by + chance.randbytes(chance.randrange(6))))
    return frames


def _label(chance: Random, last: bool) -> bytes:
    value = chance.choice((0x12345, 0x00010, 0x0001F, chance.randrange(1 << 20)))
    class_ = chance.choice((0, 1, 2, 3, 4, 5, 6, 7 if chance.random() < 0.2 else 0))
    return (value << 12 | class_ << 9 | last << 8 | chance.randrange(256)).to_bytes(4)


def _parsing(chance: Random) -> list[tuple[int, bytes]]:
    frames = []
    for _ in range(400):
        kind = chance.choice((1, 1, 1, 2, 2, 3, 4, 5, 0x60, 0x6F, 0x77, chance.randrange(256)))
        front = bytes([kind, chance.choice((0, 1, 2, 3, 4, 5, 6, 9, chance.randrange(256)))])
        labels = chance.choice((0, 1, 2, 3, 4))
        body = b"".join(_label(chance, at + 1 == labels) for at in range(labels))
        words = chance.choice((0, 1, 2, 3, chance.randrange(16)))
        tail = chance.choice(
            (
                bytes([1, chance.randrange(256)]),
                bytes([2]) + chance.randbytes(3),
                bytes([chance.randrange(16) << 4 | words]) + chance.randbytes(max(0, 4 * words - 2) + 1),
                b"\x01\x11\x01",
                chance.randbytes(3),
            )
        )
        if kind not in (1, 0x60, 0x6F, 0x77):
            body = b""
        frame = front + body + tail + chance.randbytes(chance.randrange(12))
        frames.append((0, frame[: chance.randrange(1, 30)] if chance.random() < 0.15 else frame))
    return frames


_COPIES_SETUP = """\
mc_mgrp_create 1
mc_node_create 11 2 3
mc_node_associate 1 0
mc_mgrp_create 2
mc_node_create 21 4
mc_node_create 22 5
mc_node_associate 2 1
mc_node_associate 2 2
mc_mgrp_create 3
mc_node_create 31 12 13
mc_node_associate 3 3
mirroring_add 5 6
mirroring_add_mc 6 2
mirroring_add 8 14
mirroring_add_mc 9 3
"""


_ROUNDS = (0, 1, 3, 8, 200)


def _copies(chance: Random) -> list[tuple[int, bytes]]:
    frames = []
    for _ in range(250):
        what = chance.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11))
        session = chance.choice((1, 2, 4) if what == 1 else (8, 9, 7) if what > 9 else (5, 6, 7))
        rounds = chance.choice(_ROUNDS)
        # What goes round leaves later than what does not, so each number of rounds has a port of its own.
        port = {4: 20, 9: 60}[what] + _ROUNDS.index(rounds) if what in (4, 9) else 1
        head = bytes([what, session, rounds, port]) + chance.randbytes(1 + 2 + 2 + 2 + 4 + 2)
        frames.append((chance.choice((0, 7)), head + chance.randbytes(chance.randrange(20))))
    return frames


def _externs(chance: Random) -> list[tuple[int, bytes]]:
    frames = []
    for _ in range(200):
        what = chance.choice((1, 2, 3, 9, chance.randrange(0xF0)))
        covered = bytes([what]) + chance.randbytes(6)
        check = chance.randbytes(2)
        if chance.random() < 0.5:
            words = (covered + b"\0")[: 7 + 1]
            total = sum(int.from_bytes(words[at : at + 2]) for at in range(0, 8, 2))
            total = (total & 0xFFFF) + (total >> 16)
            check = (~((total & 0xFFFF) + (total >> 16)) & 0xFFFF).to_bytes(2)
        wide = chance.choice((bytes(12), chance.randbytes(12)))
        frames.append(
            (0, covered + wide + check + chance.randbytes(2) + chance.randbytes(chance.randrange(9)))
        )
    return frames


def _key(match: Match) -> str:
    """A key of 16 bits as STF has it."""
    if isinstance(match, Lpm):
        return f"{match.value}/{match.prefix}"
    if isinstance(match, Ternary):
        bits = zip(f"{match.value:016b}", f"{match.mask:016b}", strict=True)
        return "0b" + "".join(bit if asked == "1" else "*" for bit, asked in bits)
    assert isinstance(match, Exact)
    return str(match.value)


def _standing(router: Router) -> str:
    """The tables of a router."""
    lines = []
    for entry in router.entries:
        keys = " ".join(f"{name}:{_key(match)}" for name, match in entry.match)
        arguments = (",".join(f"{name}:{value}" for name, value in call) for call in calls_of(entry))
        priority = f"{entry.priority} " if entry.priority else ""
        calls = " | ".join(f"{entry.action}({call})" for call in arguments)
        lines.append(f"add {entry.table} {priority}{keys} {calls}\n")
    return "".join(lines)


def _drops(name: str, frames: list[tuple[int, bytes]]) -> str:
    """Return the expected final values of a router's counter of refused frames."""
    routers = [router for router in ROUTERS if router.program == name][:1]
    reasons = Counter(router.hop(port, frame) for router in routers for port, frame in frames)
    return "".join(
        f"check_counter drops({reason.value}) packets == {reasons[reason]}\n"
        for reason in DropReason
        if routers
    )


def _ub(router: Router) -> tuple[str, _Frames]:
    return _standing(router), lambda chance: random_frames(router, 300, chance.randrange(1000), longest=30)


_MADE: dict[str, tuple[str, _Frames]] = {
    "arithmetic": ("", _arithmetic),
    "parsing": ("", _parsing),
    "copies": (_COPIES_SETUP, _copies),
    "externs": ("", _externs),
    # The first router of a program: LRS and HRS run the same.
    **{router.program: _ub(router) for router in reversed(ROUTERS)},
}
NAMES = frozenset(_MADE)
_OWN = frozenset(router.program for router in ROUTERS)


# Fewer frames at a time than BMv2's egress queues hold, 64; before a command all that is expected must come.
_CHUNK = 40
_REST_SETUP, _REST = "mirroring_add 99 98\n", "mirroring_get 99\n"


def program(name: str) -> Path:
    """The compiled program of a golden."""
    return (_OWN_PROGRAMS if name in _OWN else _TEST_PROGRAMS) / f"{name}.json"


def _may_overtake(name: str, before: Outputs, after: Outputs) -> bool:
    """Would BMv2 send in another order by some port? Our programs give each VL a priority of its own."""
    return name in _OWN and any(
        {_vl(port, frame) for frame in before.get(port, ())} - {_vl(port, frame) for frame in frames}
        for port, frames in after.items()
    )


def _vl(port: int, frame: bytes) -> int:
    head = frame[2:] if port == CPU_PORT else frame  # behind packet_in
    return int.from_bytes(head[14:16]) >> 5 & 15


def golden(name: str) -> str:
    """The STF file as the engine would have it."""
    setup, frames = _MADE[name]
    text = setup + _REST_SETUP
    switch = EngineRun(program(name).read_bytes())
    for statement in parse(text):
        switch.take(statement)
    chunks: list[tuple[str, Outputs]] = [("", {})]
    sent = 0
    created = frames(Random(1))
    for port, frame in created:
        switch.outputs.clear()
        packet = f"packet {port} {frame.hex()}\n"
        for statement in parse(packet):
            switch.take(statement)
        chunk, expected = chunks[-1]
        if sent == _CHUNK or _may_overtake(name, expected, switch.outputs):
            chunk, expected, sent = "", {}, 0
            chunks.append((chunk, expected))
        for out, those in switch.outputs.items():
            expected.setdefault(out, []).extend(those)
        chunks[-1] = chunk + packet, expected
        sent += 1
    for chunk, expected in chunks:
        text += chunk
        text += "".join(
            f"expect {port} {frame.hex()}$\n" for port in sorted(expected) for frame in expected[port]
        )
        text += _REST
    text += _drops(name, created)
    return (
        "# SPDX-License-Identifier: Apache-2.0\n# Written by tests/differential/goldens.py; BMv2 agreed.\n"
        + text
    )


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    failed = False
    for name in sys.argv[1:] or _MADE:
        candidate = FOLDER / f"{name}.candidate.stf"
        candidate.write_text(golden(name))
        result = differences(Case(candidate, program(name)), "BMv2")
        print(f"{name}: {'BMv2 agrees' if not result else f'{len(result)} differences'}")
        for item in result[:10]:
            print(f"  {item}")
        if not result:
            candidate.rename(FOLDER / f"{name}.stf")
        failed = failed or bool(result)
        candidate.unlink(missing_ok=True)
    raise SystemExit(failed)


if __name__ == "__main__":
    main()

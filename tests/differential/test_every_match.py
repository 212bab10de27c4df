# SPDX-License-Identifier: Apache-2.0
"""every_match on the engine and on BMv2: match kinds, wide fields, registers, arithmetic, parser errors."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from controller import Entry, Exact, Lpm, Match, Optional, Range, Ternary
from controller.p4runtime.client import ProgramFiles
from tests.differential.differential import Differential, Frame

pytestmark = pytest.mark.bmv2

BUILD = Path(__file__).resolve().parents[1] / "programs" / "build"
PORTS = range(6)
REGISTERS, CELLS = 6, 16  # the kind that reads and writes a register, which BMv2 leaves at a larger index
WIDE = 0x0123456789ABCDEF << 64 | 0xFEDCBA9876543210


def answer(table: str, value: int, priority: int = 0, action: str = "answer", **match: Match) -> Entry:
    return Entry(table, tuple(match.items()), action, (("value", value),), priority)


ENTRIES = (
    answer("exact_small", 1, action="answer_counted", small=Exact(0)),
    answer("exact_small", 2, action="answer_counted", small=Exact(255)),
    answer("exact_wide", 3, wide=Exact(WIDE), a=Exact(5)),
    answer("exact_wide", WIDE >> 3, action="set_wide", wide=Exact(0), a=Exact(0)),
    answer("lpm", 5, small=Exact(1)),
    answer("lpm", 6, lpm_key=Lpm(0x0A000000, 8), small=Exact(1)),
    answer("lpm", 7, lpm_key=Lpm(0x0A0B0000, 16), small=Exact(1)),
    answer("lpm", 8, lpm_key=Lpm(0x0A0B0C0D, 32), small=Exact(2)),
    answer("ternary", 9, 10, number=Ternary(0x0100, 0x0F00)),
    answer("ternary", 10, 20, number=Ternary(0x0110, 0x0FF0), lpm_key=Lpm(0x0A000000, 8)),
    answer("ternary", 11, 5, lpm_key=Lpm(0x0A0B0000, 16)),
    answer("range", 12, 3, number=Range(100, 200), small=Optional(1)),
    answer("range", 13, 2, number=Range(150, 0xFFFF)),
    answer("range", 14, 1, small=Optional(0)),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Differential]:
    files = ProgramFiles(
        (BUILD / "every_match.json").read_bytes(), (BUILD / "every_match.p4info.txtpb").read_bytes()
    )
    with Differential(files, ENTRIES, ports=PORTS, directory=tmp_path_factory.mktemp("bmv2")) as pair:
        yield pair


def probes(kinds: tuple[int, ...], count: int, seed: int, ports: Sequence[int] = PORTS) -> list[Frame]:
    rng = random.Random(seed)
    created = []
    for number in range(count):
        kind, small = rng.choice(kinds), rng.choice([0, 1, 2, 255, rng.getrandbits(8)])
        fields = [
            (kind, 8),
            (small % CELLS if kind == REGISTERS else small, 8),
            (rng.choice([0x0A000001, 0x0A0B0001, 0x0A0B0C0D, rng.getrandbits(32)]), 32),
            (rng.choice([0x0100, 0x0115, 100, 150, 200, 201, rng.getrandbits(16)]), 16),
            (rng.choice([0, WIDE, rng.getrandbits(128)]), 128),
            (rng.choice([0, 5, rng.getrandbits(3)]), 3),
            (rng.choice([0x1F00, 1, 0x0F00, rng.getrandbits(13)]), 13),
            (rng.getrandbits(24), 24),
        ]
        packed = 0
        for value, bits in fields:
            packed = packed << bits | value
        # Long enough for a link when the program takes the header away.
        frame = packed.to_bytes(29) + bytes(12) + number.to_bytes(4)
        if rng.random() < 0.05:
            frame = frame[: rng.randrange(14, 29)]
        created.append((rng.choice(ports), frame))
    return created


@pytest.mark.parametrize("kind", [*range(9), 0xF5])
def test_each_kind(pair: Differential, kind: int) -> None:
    # By one port, since BMv2 is free to choose the order across ports, and kind 6 reads and writes registers.
    assert pair.differences(probes((kind,), 150, seed=kind, ports=(0,))) == []


def test_all_kinds_mixed(pair: Differential) -> None:
    assert pair.differences(probes((0, 1, 2, 3, 4, 5, 7, 8, 0xF0, 0xFF), 1500, seed=99)) == []

# SPDX-License-Identifier: Apache-2.0
"""The harness itself, on a small program: agreement is found, and so is a disagreement."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from controller import Entry, Exact, Lpm, Optional, Range, Ternary
from controller.p4runtime.client import ProgramFiles
from tests.differential.differential import Differential, Frame
from tests.emulation import sampler

pytestmark = pytest.mark.bmv2

PORTS = range(4)
ENTRIES = (
    Entry("exact_table", (("a", Exact(1)),), "forward", (("port", 1),)),
    Entry("exact_table", (("a", Exact(2)),), "forward", (("port", sampler.CPU_PORT),)),
    Entry("lpm_table", (("e", Lpm(0x0A000000, 8)),), "forward", (("port", 2),)),
    Entry("lpm_table", (("e", Lpm(0x0A0B0000, 16)),), "forward", (("port", 3),)),
    Entry("mixed_table", (("b", Ternary(0x10, 0xF0)), ("c", Range(5, 300))), "forward", (("port", 0),), 7),
    Entry("mixed_table", (("b", Ternary(0x10, 0x10)), ("d", Optional(3))), "refuse", (), 9),
)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Differential]:
    files = ProgramFiles(*sampler.packed(*sampler.program()))
    with Differential(files, ENTRIES, ports=PORTS, directory=tmp_path_factory.mktemp("bmv2")) as pair:
        yield pair


def frames(count: int, seed: int) -> list[Frame]:
    rng = random.Random(seed)
    created = []
    for number in range(count):
        a, e = rng.choice([0, 1, 2, 0xFFFF]), rng.choice([0, 0x0A000001, 0x0A0B0001])
        b, c, d = rng.choice([0, 0x10, 0x1F]), rng.choice([0, 5, 301]), rng.choice([0, 3])
        header = (a << 64 | b << 48 | c << 39 | d << 32 | e).to_bytes(10)
        port = rng.choice([*PORTS, sampler.CPU_PORT])
        front = (rng.randrange(1 << 16)).to_bytes(2) if port == sampler.CPU_PORT else b""
        created.append((port, front + header + number.to_bytes(4)))
    return created


def test_engine_and_bmv2_agree(pair: Differential) -> None:
    assert pair.differences(frames(500, seed=1)) == []


def test_a_difference_is_found(pair: Differential) -> None:
    pair.clients[0].install({"bmv2": [Entry("exact_table", (("a", Exact(3)),), "forward", (("port", 1),))]})
    frame = (3 << 64).to_bytes(10) + b"only here"
    result = pair.differences([(0, frame)], late_seconds=0.3)
    assert result == [f"only the engine: port 1, 19 bytes: {frame.hex()}"]


def test_both_return_the_entries_they_were_given(tmp_path: Path) -> None:
    files = ProgramFiles(*sampler.packed(*sampler.program()))
    with Differential(files, ENTRIES, ports=(), directory=tmp_path) as pair:
        for client in pair.clients:
            read = [entry for entry in client.read("bmv2") if entry.table != "const_table"]
            assert sorted(map(str, read)) == sorted(map(str, ENTRIES))

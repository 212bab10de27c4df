# SPDX-License-Identifier: Apache-2.0
"""The programs with the CNA24 header on the engine and on BMv2: routes, cut headers, random frames."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.differential.differential import Differential
from tests.emulation.programs.cna24_frames import PAIRS, widened, widened_at
from tests.emulation.programs.ub_frames import Srh, UbFrame, instructions
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import Router

pytestmark = pytest.mark.bmv2

INSTR = instructions(3, 10, 5, 7, 11, 2)


@pytest.fixture(scope="module", params=[wide for _, wide in PAIRS], ids=lambda router: router.program)
def router(request: pytest.FixtureRequest) -> Router:
    return request.param


@pytest.fixture(scope="module")
def pair(router: Router, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Differential]:
    directory: Path = tmp_path_factory.mktemp("bmv2")
    with Differential(router.files, router.entries, ports=router.ports, directory=directory) as pair:
        yield pair


def test_source_routes(pair: Differential) -> None:
    frames = [
        (1, widened(UbFrame(dcna, srh=Srh(ptr, bitmap, INSTR), payload=bytes((dcna, ptr))).packed()))
        for dcna in (9, 0x0A, 0x3F, 0x40)
        for bitmap in (0b110100000000, 0b111110000001, 0, 0b111111100000, 0xFFF)
        for ptr in range(16)
    ]
    assert pair.differences(frames) == []


def test_addresses_of_24_bits(pair: Differential) -> None:
    frames = []
    for bit in range(24):
        frame = bytearray(widened(UbFrame(0x0A, payload=bytes((bit,))).packed()))
        frame[22:25] = (1 << bit).to_bytes(3)
        frames.append((1, bytes(frame)))
    assert pair.differences(frames) == []


@pytest.mark.parametrize("srh", [None, Srh(2, 0xC00, INSTR)], ids=["NTH", "SRH"])
def test_truncated_at_every_length(pair: Differential, srh: Srh | None) -> None:
    whole = widened(UbFrame(9, srh=srh, payload=bytes(range(36))).packed())
    assert pair.differences([(1, whole[:length]) for length in range(67)]) == []


@pytest.mark.parametrize("seed", range(2))
def test_random_frames(pair: Differential, router: Router, seed: int) -> None:
    frames = [(port, widened_at(port, frame)) for port, frame in random_frames(router, 1500, seed)]
    assert pair.differences(frames) == []

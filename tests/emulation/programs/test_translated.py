# SPDX-License-Identifier: Apache-2.0
"""The programs of p4/ that the build translates to C++ do what the engine's interpreter does with them.

A member more makes the JSON another text, which has no translation; white space does not count.
"""

from collections.abc import Iterator

import pytest

from controller.p4runtime.client import ProgramFiles
from emulation._engine import Program
from tests.emulation.programs.cna24_frames import PAIRS, widened_at
from tests.emulation.programs.standing import Standing
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import BUILD, ROUTERS, Router

FRAMES = 1500
WIDE = tuple(wide for _, wide in PAIRS)


def interpreted(files: ProgramFiles) -> ProgramFiles:
    return ProgramFiles(_without_translation(files.json), files.p4info)


def _without_translation(json: bytes) -> bytes:
    return b'{"no_member_of_v1model": 0,' + json.lstrip()[1:]


@pytest.fixture(scope="module", params=ROUTERS + WIDE, ids=lambda router: router.program)
def both(request: pytest.FixtureRequest) -> Iterator[tuple[Standing, Standing]]:
    router: Router = request.param
    pair = Standing(router), Standing(router, interpreted(router.files))
    yield pair
    for standing in pair:
        standing.close()


@pytest.mark.parametrize("path", sorted(BUILD.glob("*_*.json")), ids=lambda path: path.stem)
def test_every_program_has_a_translation(path) -> None:
    json = path.read_bytes()
    assert Program(json).translated
    assert Program(b"".join(map(bytes.strip, json.splitlines()))).translated
    assert not Program(_without_translation(json)).translated
    assert not Program(json, traced=True).translated


@pytest.mark.parametrize("seed", [11, 12])
def test_random_frames(both: tuple[Standing, Standing], seed: int) -> None:
    translated, by_interpreter = both
    left = 0
    for port, frame in random_frames(translated.tables, FRAMES, seed):
        if translated.tables in WIDE:
            frame = widened_at(port, frame)
        out = translated(port, frame)
        assert out == by_interpreter(port, frame), (port, frame.hex())
        left += len(out)
    assert left > FRAMES / 10
    assert translated.counters() == by_interpreter.counters()

# SPDX-License-Identifier: Apache-2.0
"""The programs with congestion marks do what those without do, and mark frames that take marks.

Random frames go through both forms on the engine, with the same tables: what comes out differs in the marks
only, at the ports whose threshold no frame has to reach.
"""

import random

import pytest

from tests.emulation.programs.ecn_frames import CCS, PAIRS, after, with_cc
from tests.emulation.programs.standing import Standing
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import Router

FRAMES = 1200


@pytest.mark.parametrize(("plain", "marking"), PAIRS, ids=lambda router: router.program)
def test_frames_that_take_marks_are_marked_and_all_else_is_the_same(plain: Router, marking: Router) -> None:
    without, with_marks = Standing(plain), Standing(marking)
    rng = random.Random(1)
    marked = delivered = 0
    try:
        for port, drawn in random_frames(plain, FRAMES, 1):
            frame = with_cc(port, drawn, rng.choice(CCS))
            sent = without(port, frame)
            expected = [(out, after(out, left)) for out, left in sent]
            assert with_marks(port, frame) == expected, (port, frame.hex())
            delivered += len(sent)
            marked += expected != sent
        assert delivered > FRAMES / 10
        assert marked > 10
        assert without.dropped() == with_marks.dropped()
    finally:
        without.close()
        with_marks.close()

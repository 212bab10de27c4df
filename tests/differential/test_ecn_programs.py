# SPDX-License-Identifier: Apache-2.0
"""The programs with congestion marks on the engine and on BMv2: random frames with all values of the mark."""

import random
from pathlib import Path

import pytest

from tests.differential.differential import Differential
from tests.emulation.programs.ecn_frames import CCS, PAIRS, with_cc
from tests.emulation.programs.ub_random import random_frames
from tests.emulation.programs.ub_reference import Router

pytestmark = pytest.mark.bmv2


@pytest.mark.parametrize("router", [marking for _, marking in PAIRS], ids=lambda router: router.program)
def test_random_frames(router: Router, tmp_path: Path) -> None:
    rng = random.Random(2)
    frames = [(port, with_cc(port, frame, rng.choice(CCS))) for port, frame in random_frames(router, 1500, 2)]
    with Differential(router.files, router.entries, ports=router.ports, directory=tmp_path) as pair:
        assert pair.differences(frames) == []

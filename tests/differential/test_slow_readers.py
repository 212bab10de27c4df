# SPDX-License-Identifier: Apache-2.0
"""A short run of controllers of which one never reads and one reads slowly: the third gets every packet."""

from pathlib import Path

import pytest

from emulation import _engine
from tests.differential.slow_readers import Figures, run


@pytest.mark.skipif(not hasattr(_engine, "Wire"), reason="the engine was built without its Linux part")
def test_a_controller_beside_slow_ones_gets_every_packet_in_order(tmp_path: Path) -> None:
    figures = run(2.0, 500.0, tmp_path / "switchd.log")
    assert figures.numbered > 0
    assert figures.wrong == 0
    assert figures.flooded > 0


def test_growth_is_a_fault() -> None:
    flat = Figures(numbered=1, samples=[10.0, *[70.0] * 19])
    assert flat.faults == []
    growing = Figures(numbered=1, samples=[10.0, *(70.0 + 2 * at for at in range(19))])
    assert growing.faults == ["memory grew by 34.0 MiB"]
    assert Figures(wrong=2).faults == ["2 packet-ins out of order or changed", "no packet-in came back"]

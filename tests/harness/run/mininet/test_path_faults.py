# SPDX-License-Identifier: Apache-2.0
"""A slow link and a silent fault in real time: the data are right, by paths that sources find themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS, ROOT
from tests.harness.run.mininet.real_time import result_on_mininet

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

SCENARIO = (ROOT / "experiments" / "21_adaptive" / "real_time.yaml").read_text()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_link_and_a_silent_fault(tmp_path: Path, kind: str) -> None:
    """All assertions of the scenario hold, and nothing is left behind."""
    figures = result_on_mininet(tmp_path, kind, SCENARIO)["metrics"]
    healthy, slow = (figures[f"{name}.result_crc32"] for name in ("healthy", "slow-static"))
    assert healthy == slow
    assert figures["silent.lost_frames"] >= 1
    assert figures["slow.retransmitted_frames"] >= 1

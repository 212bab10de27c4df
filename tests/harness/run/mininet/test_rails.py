# SPDX-License-Identifier: Apache-2.0
"""Rails in real time: All-to-All over two domains on Mininet, by every kind of switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.harness.run.mininet.real_time import on_mininet

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

SCENARIO = """\
name: rails
topology: {name: rail-only, domains: 2, hb_size: 4}
collective: {kind: all-to-all, elements: 32768, payload_bytes: 4096}
routing: {strategy: shortest}
transport: {window: 32, initial_rto_us: 100, min_rto_us: 100}
variants:
  - {name: steps, collective: {algorithm: partitions, order: [1, 0], overlap: false}}
  - {name: pxn, collective: {algorithm: direct}}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_collectives_stay_on_their_rails(tmp_path: Path, kind: str) -> None:
    for there in on_mininet(tmp_path, kind, SCENARIO).values():
        assert (there["correct_npus"], there["cross_rail_frames"], there["dropped_frames"]) == (8, 0, 0)

# SPDX-License-Identifier: Apache-2.0
"""An incast in real time with each congestion control, by every kind of switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.harness.run.mininet.real_time import result_on_mininet

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

INCAST = """\
name: incast
topology: {name: rail-only, domains: 6, hb_size: 2, radix: 6, uplinks: 1, spines: 1}
routing: {strategy: shortest}
collective: {kind: reduce, algorithm: direct, elements: 32768, members: [gpu0, gpu2, gpu4, gpu6, gpu8, gpu10]}
transport: {ack_every: 1}
link: {ecn_frames: 4}
variants:
  - {name: fixed}
  - {name: nscc, transport: {ack_every: 1, congestion: nscc}}
  - {name: swift, transport: {ack_every: 1, congestion: swift}}
  - {name: dcqcn, transport: {ack_every: 1, congestion: dcqcn}}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_an_incast_ends_with_right_data_and_marks(tmp_path: Path, kind: str) -> None:
    figures = result_on_mininet(tmp_path, kind, INCAST)["metrics"]
    for name in ("fixed", "nscc", "swift", "dcqcn"):
        assert figures[f"{name}.correct_npus"] == 6, name
    assert figures["fixed.marked_frames"] > 0
    # An algorithm that sees the marks lets fewer frames wait, so fewer are marked.
    assert figures["nscc.marked_frames"] < figures["fixed.marked_frames"]

# SPDX-License-Identifier: Apache-2.0
"""Collectives in switches in real time, by every kind of switch: sums of integers and floats, and losses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.harness.run.mininet.real_time import on_mininet, result_on_mininet

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

SCENARIO = """\
name: sums
topology: {name: hpn, segments: 1, hosts: 2, rails: 2, aggs: 2}
collective: {kind: allreduce, algorithm: switch-tree, elements: 2000, slots: 4}
transport: {initial_rto_us: 100, min_rto_us: 100}
variants:
  - {name: integers}
  - {name: floats, collective: {dtype: float32}}
  - {name: pieces, collective: {kind: reduce-scatter, operation: maximum}}
  - {name: lossy, faults: [{at_us: 0.001, link: gpu0-tor0.0.0, event: loss, percent: 5}]}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_switches_add_up(tmp_path: Path, kind: str) -> None:
    for name, there in on_mininet(tmp_path, kind, SCENARIO).items():
        assert there["correct_npus"] == 4, name


# The rails of a domain are joined by leaves alone or by spines, which die after the collective has begun.
DEATHS = """\
name: deaths
topology: {name: rail-optimised, domains: 2, hb_size: 4, radix: 4, nic_gbps: 50, hb_gbps: 50}
transport: {initial_rto_us: 2.1, min_rto_us: 2.1}
collective: {algorithm: switch-tree, elements: 5000, slots: 4, members: [gpu0..gpu3]}
variants:
  - {name: other-tree, faults: [{at_us: 3, switch: spine0}]}
  - {name: around-a-ring, faults: [{at_us: 3, switch: spine0}, {at_us: 3, switch: spine1}]}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_members_outlive_their_switches(tmp_path: Path, kind: str) -> None:
    figures = result_on_mininet(tmp_path, kind, DEATHS)["metrics"]
    for name in ("other-tree", "around-a-ring"):
        assert figures[f"{name}.correct_npus"] == 4, name
    assert figures["other-tree.acknowledgement_frames"] == 0 < figures["around-a-ring.acknowledgement_frames"]

# SPDX-License-Identifier: Apache-2.0
"""HPN in real time: bundles come up on Mininet, a cable is cut, and the job goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.harness.run.mininet.real_time import result_on_mininet

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

SCENARIO = """\
name: hpn
topology: {name: hpn, segments: 1, hosts: 2, rails: 2, aggs: 1, nic_gbps: 10, hb_gbps: 20}
collective: {kind: allreduce, algorithm: dimension-wise, elements: 32768, payload_bytes: 4096}
routing: {strategy: hashed, peers: job}
link: {detect_us: 0.5}
control: {processing_us: 0.5, lacp_us: 20}
transport: {window: 32, initial_rto_us: 20, min_rto_us: 20}
faults: [{at_us: 20, link: gpu0-tor0.0.0}]
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_cable_is_cut_and_the_job_goes_on(tmp_path: Path, kind: str) -> None:
    figures = result_on_mininet(tmp_path, kind, SCENARIO)["metrics"]
    assert figures["run.correct_npus"] == 4
    assert figures["run.entries_rewritten"] > 0
    assert figures["run.cross_plane_frames"] == 0

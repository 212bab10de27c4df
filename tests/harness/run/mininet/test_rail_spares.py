# SPDX-License-Identifier: Apache-2.0
"""Rails in real time: a rail switch and a domain fail on Mininet, and idle ones take over."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.harness.run.mininet.real_time import result_on_mininet

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

SCENARIO = """\
name: rails
topology: {name: rail-only, domains: 2, hb_size: 2, spares: 1, spare_domains: 1, spare_rails: 1,
           optical: true, reconfiguration_us: 20}
collective: {kind: allreduce, algorithm: direct, elements: 65536, payload_bytes: 4096}
routing: {peers: job}
link: {detect_us: 0.5}
control: {processing_us: 0.5, migrate_us: 2}
transport: {window: 32, initial_rto_us: 20, min_rto_us: 20}
variants:
  - name: healthy
  - name: rail
    faults: [{at_us: 1, switch: rail0}]
  - name: domain
    faults: [{at_us: 1, domain: 1}]
"""


def test_what_is_idle_takes_over(tmp_path: Path) -> None:
    result = result_on_mininet(tmp_path, "builtin", SCENARIO)
    figures = result["metrics"]
    took = {name: all_[0] for name, all_ in result["takeovers"].items()}
    assert (took["rail"]["npu"], took["rail"]["spare"]) == ("rail0", "sparerail0")
    # Which of the domain is found first is for the machine to say.
    moved = [[took["domain"]["npu"], took["domain"]["spare"]], *took["domain"]["along"]]
    assert sorted(moved) == [["gpu2", "gpu4"], ["gpu3", "gpu5"]]
    for name in took:
        assert figures[f"{name}.correct_npus"] == 4
        assert figures[f"{name}.result_crc32"] == figures["healthy.result_crc32"]
    assert figures["domain.takeovers"] == 2
    assert took["rail"]["without"] == ["gpu0", "gpu2"]

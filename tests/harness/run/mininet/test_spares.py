# SPDX-License-Identifier: Apache-2.0
"""64+1 in real time: two racks lose NPUs on Mininet, by every kind of switch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS, Machine, railyard

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

SCENARIO = """\
name: spare
topology: {name: ub-pod, dims: [2, 2, 2, 1], planes: 1, uplink_lanes: 8}
collective: {kind: allreduce, algorithm: dimension-wise, elements: 65536, payload_bytes: 4096}
routing: {peers: job}
link: {detect_us: 0.5}
control: {processing_us: 0.5, migrate_us: 2}
transport: {window: 32, initial_rto_us: 20, min_rto_us: 20}
variants:
  - name: healthy
  - name: spare
    faults: [{at_us: 1, npu: npu5}]
"""


@pytest.mark.parametrize("kind", KINDS)
def test_a_spare_takes_over(tmp_path: Path, kind: str) -> None:
    machine = Machine(tmp_path)
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    code, said, err = railyard(
        tmp_path, "run", file, "--testbed", "mininet", "--switch", kind, "--out", "out"
    )
    assert code == 0, said + err
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    figures = result["metrics"]
    assert figures["spare.correct_npus"] == figures["healthy.correct_npus"] == 8
    assert figures["spare.result_crc32"] == figures["healthy.result_crc32"]
    assert figures["spare.sent_frames"] > figures["healthy.sent_frames"]
    assert figures["spare.takeovers"] == 1
    assert figures["spare.takeover_us"] >= 3
    assert figures["spare.spare_transit_frames"] == 0
    (item,) = result["takeovers"]["spare"]
    assert (item["npu"], item["spare"]) == ("npu5", "spare1")
    assert machine.left() == []


def test_no_spare_left_ends_the_run_with_its_word(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO.replace("npu: npu5}", "npu: npu5}, {at_us: 1, npu: npu6}"))
    code, said, _ = railyard(
        tmp_path, "run", file, "--testbed", "mininet", "--switch", "builtin", "--out", "out"
    )
    assert code == 1
    assert "is cut off at" in said
    result = json.loads((tmp_path / "out" / "result.json").read_text())
    assert "spare1 is used already" in result["cut_off"]["spare"]
    assert result["metrics"]["healthy.correct_npus"] == 8
    assert machine.left() == []

# SPDX-License-Identifier: Apache-2.0
"""Rails in real time: All-to-All over two domains on Mininet, by every kind of switch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.loader import load
from lab.metrics import measure
from lab.prepare import prepare
from lab.runner import run
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS, Machine, railyard

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

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
# In virtual or real time, the same.
SAME = ("npus", "right_npus", "sent_frames", "received_frames", "result_crc32", "table_entries")


@pytest.mark.parametrize("kind", KINDS)
def test_collectives_stay_on_their_rails(tmp_path: Path, kind: str) -> None:
    machine = Machine(tmp_path)
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    code, said, err = railyard(
        tmp_path, "run", file, "--testbed", "mininet", "--switch", kind, "--out", "out"
    )
    assert code == 0, said + err
    figures = json.loads((tmp_path / "out" / "result.json").read_text())["metrics"]
    for variant, subject in run(prepare(*load(file)), 1).subjects.items():
        embedded = measure(subject)
        there = {name: figures[f"{variant}.{name}"] for name in embedded}
        assert {name: there[name] for name in SAME} == {name: embedded[name] for name in SAME}
        assert (there["right_npus"], there["cross_rail_frames"], there["dropped_frames"]) == (8, 0, 0)
    assert machine.left() == []

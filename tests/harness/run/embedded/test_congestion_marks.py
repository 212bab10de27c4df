# SPDX-License-Identifier: Apache-2.0
"""Congestion marks in virtual time: which frames are marked, and what cannot have marks."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.report.measurement.metrics import measure
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.run.testbeds import Embedded, TestbedChoice
from harness.scenario.loader import load
from tests.oracle.make import embedded

INCAST = """\
name: incast
topology: {name: rail-only, domains: 4, hb_size: 2, radix: 4, uplinks: 1, spines: 1}
routing: {strategy: shortest}
link: {LINK}
graph:
  operations:
    - {id: first, send: 131072, from: gpu2, to: gpu0}
    - {id: second, send: 131072, from: gpu4, to: gpu0}
    - {id: third, send: 131072, from: gpu6, to: gpu0}
"""


def measured(path: Path, choice: TestbedChoice) -> dict[str, float]:
    (only,) = run(prepare(*load(path)), 1, choice=choice).runs.values()
    assert not only.observation.first_wrong
    return measure(only)


def incast(write: Callable[[str], Path], link: str) -> dict[str, float]:
    path = write(INCAST.replace("LINK", link))
    native = measured(path, Embedded("native"))
    assert native == measured(path, embedded("python"))
    return native


def test_frames_are_marked_from_the_stated_depth_of_a_queue_on(write: Callable[[str], Path]) -> None:
    plain = incast(write, "credit_bytes: 65536")
    assert "marked_frames" not in plain
    by_depth = [incast(write, f"ecn_frames: {depth}") for depth in (1, 8, 64)]
    marked = [run["marked_frames"] for run in by_depth]
    # 96 frames; the first ones find no queue, and the last one leaves none.
    assert 96 > marked[0] > marked[1] > 48
    assert marked[2] == 0
    for run_with_marks in by_depth:
        assert run_with_marks["completion_us"] == plain["completion_us"]
        assert run_with_marks["table_entries"] > plain["table_entries"]


def test_what_cannot_have_marks_is_refused(write: Callable[[str], Path]) -> None:
    wide = "{network_header: cna24, ecn_frames: 8}"
    text = f"name: small\ntopology: {{name: full-mesh, dims: [2, 3]}}\nlink: {wide}\n"
    with pytest.raises(ScenarioError, match=r":3: program ub_npu has no variant that marks .* CNA24"):
        prepare(*load(write(text)))
    with pytest.raises(ScenarioError, match="ecn_frames"):
        load(write(INCAST.replace("LINK", "ecn_frames: 0")))

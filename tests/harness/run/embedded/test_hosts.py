# SPDX-License-Identifier: Apache-2.0
"""Runs with agents in C++ and in Python: the same frames at the same times, the same observation."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load
from tests.harness.run.embedded.scenarios import JOBS
from tests.oracle.make import Hosts, embedded

Write = Callable[[str], Path]

MESH = """\
name: small
topology: {name: full-mesh, dims: [4, 4]}
collective: {elements: 65536, payload_bytes: 1024, dtype: float32}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
transport: {window: 16, initial_rto_us: 20, min_rto_us: 5}
faults:
"""

# The links of npu0 and npu1 in their line, and between their columns' next members, swallow all frames.
ALL_KNOWN_PATHS = "\n  - ".join(
    f"{{at_us: 1, link: {link}, event: loss, percent: 100}}"
    for link in ("npu0-npu1", "npu0-npu2", "npu0-npu3")
)


def recorded(file: Path, hosts: Hosts, folder: Path) -> tuple[Observation, dict[str, bytes]]:
    """Return what a run did, and the frames of all links with their times."""
    (ready,) = prepare(*load(file))
    folder.mkdir()
    captures = {link.name: folder for link in ready.fabric.links}
    result = run((ready,), 3, choice=embedded(hosts), captures=captures).runs["run"]
    return result.observation, {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("scenario", "fault"),
    [
        (MESH, "{at_us: 2, link: npu0-npu1}"),
        (MESH, "{at_us: 1, switch: npu3, event: loss, percent: 2}"),
        (MESH, "{at_us: 1, link: npu0-npu1, event: flap, period_us: 2, count: 3}"),
        (JOBS + "faults:\n", "{at_us: 1, direction: npu0->npu1, event: loss, percent: 5}"),
        (MESH, ALL_KNOWN_PATHS),
    ],
    ids=["cut", "loss", "flap", "iterations", "silence"],
)
def test_agents_of_either_kind_send_the_same_frames(
    write: Write, tmp_path: Path, scenario: str, fault: str
) -> None:
    file = write(f"{scenario}  - {fault}\n")
    python, frames = recorded(file, "python", tmp_path / "python")
    native, same = recorded(file, "native", tmp_path / "native")
    assert same == frames
    assert sum(map(len, frames.values())) > 100_000
    assert native == python

# SPDX-License-Identifier: Apache-2.0
"""Pods that optical circuits join, in real time on Mininet, by every kind of switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation.errors import TestbedError
from lab.run.prepare import prepare
from lab.run.testbeds import RealTime
from lab.scenario.loader import load
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.lab.run.mininet.real_time import on_mininet

reason = no_rights()
pytestmark = [pytest.mark.long, pytest.mark.skipif(bool(reason), reason=reason)]

SCENARIO = """\
name: pods
topology: {name: lumos, pods: 3, leaves: 1, spines: 1, accelerators: 2, hb_size: 2, ports: 4}
collective: {kind: all-to-all, algorithm: direct, elements: 24576, payload_bytes: 4096}
routing: {strategy: shortest}
transport: {window: 32, initial_rto_us: 100, min_rto_us: 100}
"""


@pytest.mark.parametrize("kind", KINDS)
def test_an_exchange_over_circuits_is_that_of_the_embedded_testbed(tmp_path: Path, kind: str) -> None:
    (there,) = on_mininet(tmp_path, kind, SCENARIO).values()
    assert (there["correct_npus"], there["dropped_frames"]) == (6, 0)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        ("control: {circuits: per-job}\nrouting: {peers: job}", "circuits per job"),
        ("jobs: [{name: late, at_us: 5}]", "job late begins at 5 us"),
    ],
)
def test_what_real_time_cannot_is_refused_before_it_starts(tmp_path: Path, key: str, why: str) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(
        f"name: pods\ntopology: {{name: lumos, pods: 2, leaves: 1, spines: 1, accelerators: 2, "
        f"hb_size: 2}}\ncollective: {{kind: all-gather}}\n{key}\n"
    )
    with pytest.raises(TestbedError, match=why):
        RealTime("builtin").check(prepare(*load(file)), captures=False)

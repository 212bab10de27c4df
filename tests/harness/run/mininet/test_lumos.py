# SPDX-License-Identifier: Apache-2.0
"""Pods that optical circuits join, in real time on Mininet, by every kind of switch."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS
from tests.harness.run.mininet.real_time import on_mininet

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

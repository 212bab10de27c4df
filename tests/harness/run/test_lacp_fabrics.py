# SPDX-License-Identifier: Apache-2.0
"""LACP on a fabric without NICs is refused before a run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ScenarioError
from harness.run.prepare import prepare
from harness.scenario.loader import load


def test_lacp_needs_nics(write: Callable[[str], Path]) -> None:
    text = "name: bundle\ntopology: {name: full-mesh, dims: [2, 2]}\ncontrol: {lacp_us: 4}\n"
    with pytest.raises(ScenarioError, match="no endpoint of full-mesh-2x2 has a NIC") as caught:
        prepare(*load(write(text)))
    assert "leave it out" in str(caught.value)

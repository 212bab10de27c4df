# SPDX-License-Identifier: Apache-2.0
"""Experiment 32 in virtual time: circuits that follow jobs, the important job, a cable and a ToR."""

from __future__ import annotations

import pytest

import railyard
from tests.emulation.mininet.commands import ROOT

FOLDER = ROOT / "experiments" / "32_real_time_jobs"


@pytest.mark.long
@pytest.mark.parametrize("name", ["circuits", "crux", "hpn"])
def test_all_assertions_of_the_experiment_hold(name: str) -> None:
    assert railyard.run(FOLDER / f"{name}.yaml").passed

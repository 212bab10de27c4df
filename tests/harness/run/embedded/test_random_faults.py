# SPDX-License-Identifier: Apache-2.0
"""Random scenarios of several faults: right data, or a message that names who is cut off."""

import pytest

from tests.harness.run.random_faults import judge, scenario_of

# All paths that a source knows are silent, while a permitted path remains that its controller knows.
ALL_SILENT = (51, 114, 178, 200)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 201))
def test_a_run_with_several_faults_is_right_or_says_who_is_cut_off(seed: int) -> None:
    assert judge(scenario_of(seed)) == ""


@pytest.mark.parametrize("seed", [1, 9, *ALL_SILENT])
def test_some_runs_with_several_faults(seed: int) -> None:
    assert judge(scenario_of(seed)) == ""

# SPDX-License-Identifier: Apache-2.0
"""Random scenarios of several faults: right data, or a message that names who is cut off."""

import pytest

from tests.lab.run.random_faults import judge, scenario_of

# Silent faults on all paths that a source knows, while a permitted path remains that it does not know.
UNSOLVED = (51, 114)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 51))
def test_a_run_with_several_faults_is_right_or_says_who_is_cut_off(seed: int) -> None:
    assert judge(scenario_of(seed)) == ""


@pytest.mark.long
@pytest.mark.parametrize("seed", UNSOLVED)
@pytest.mark.xfail(strict=True, reason="a source knows its planned and standby paths only")
def test_a_run_whose_known_paths_all_fail_silently(seed: int) -> None:
    assert judge(scenario_of(seed)) == ""


@pytest.mark.parametrize("seed", [1, 9])
def test_some_runs_with_several_faults(seed: int) -> None:
    assert judge(scenario_of(seed)) == ""

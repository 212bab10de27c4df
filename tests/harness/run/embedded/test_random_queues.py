# SPDX-License-Identifier: Apache-2.0
"""Random scenarios whose queues lose or pause: right data, or a failed link and a message."""

import pytest

from tests.harness.run.random_queues import judge, scenario_of

QUICK = 6


@pytest.mark.long(*map(str, range(QUICK + 1, 301)))
@pytest.mark.parametrize("seed", range(1, 301))
def test_a_run_with_full_queues_has_right_data_or_names_what_failed(seed: int) -> None:
    assert judge(scenario_of(seed)) == ""

# SPDX-License-Identifier: Apache-2.0
"""Shares of paths over the whole time of a run with adaptive sources, from the counters of links."""

from itertools import pairwise
from math import isnan

import pytest

import railyard
from papers.ub_mesh.shares import BIN_US, shares_over_time
from tests.harness.run.embedded.test_paths import EXPERIMENTS

ONSET_US = 10
# Time after which the source has left the link, and its queue has drained.
SETTLED_US = 40
# End of the last bin.
END_US = 96


@pytest.mark.parametrize(("percent", "most"), [(10, 0.15), (50, 0.4)])
def test_shares_leave_a_slow_link_once_and_do_not_swing(percent: int, most: float) -> None:
    shares, observation = shares_over_time(
        "adaptive", elements=2097152, percent=percent, onset_us=ONSET_US, until_us=END_US
    )
    assert observation.correct_nodes == 2
    healthy = shares[: ONSET_US // BIN_US]
    assert all(0.45 < share < 0.55 for share in healthy)
    # In the last bin the transfer ends, and only the slow link still has frames to send.
    settled = [share for share in shares[SETTLED_US // BIN_US :] if not isnan(share)][:-1]
    assert len(settled) > 8
    assert max(settled) < most
    assert max(abs(after - before) for before, after in pairwise(settled)) < 0.12


def test_two_jobs_that_share_links_leave_them() -> None:
    result = railyard.run(EXPERIMENTS / "21_adaptive" / "two_jobs.yaml")
    assert result.passed


def test_a_source_leaves_the_only_path_in_use_if_it_is_slow() -> None:
    result = railyard.run(EXPERIMENTS / "21_adaptive" / "only_path.yaml")
    assert result.passed


def test_losses_are_found_by_path() -> None:
    result = railyard.run(EXPERIMENTS / "33_loss_recovery" / "scenario.yaml")
    assert result.passed

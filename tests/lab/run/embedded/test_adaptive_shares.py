# SPDX-License-Identifier: Apache-2.0
"""Shares of paths over the whole time of a run with adaptive sources, from the counters of links."""

from itertools import pairwise

import pytest

import railyard
from emulation.testbed import Testbed
from lab.run.prepare import prepare
from lab.run.runner import observe
from lab.scenario.document import Document
from lab.scenario.loader import read
from tests.lab.run.embedded.test_paths import EXPERIMENTS

US = 10**6
BIN_US = 4
ONSET_US = 10
# Time after which the source has left the link, and its queue has drained.
SETTLED_US = 40
# A bin in which the source sends at less than half of its rate says nothing of shares.
FEWEST_FRAMES = 40


def shares_over_time(percent: int) -> list[float]:
    """Return the share of a link of npu0 in the frames that npu0 sends, bin by bin; the link slows down."""
    (ready,) = prepare(
        *read(
            Document.of_values(
                {
                    "name": "shares",
                    "topology": {"name": "full-mesh", "dims": [4, 4], "lane_rate_gbps": 100},
                    "routing": {"strategy": "adaptive", "weights": "oblivious"},
                    "collective": {
                        "kind": "broadcast",
                        "algorithm": "direct",
                        "members": ["npu0", "npu5"],
                        "elements": 2097152,
                        "payload_bytes": 4096,
                    },
                    "faults": [{"at_us": ONSET_US, "link": "npu0-npu1", "event": "rate", "percent": percent}],
                }
            )
        )
    )
    counts: list[dict[str, int]] = []

    def look(testbed: Testbed) -> None:
        def sample() -> None:
            usage = testbed.link_usage()
            counts.append({name: usage[name][0].frames for name in usage if name.startswith("npu0-")})
            if len(counts) < 100 / BIN_US:
                testbed.at(len(counts) * BIN_US * US, sample)

        testbed.at(0, sample)

    assert observe(ready, 1, look).correct_nodes == 2
    bins = [{name: after[name] - before[name] for name in after} for before, after in pairwise(counts)]
    return [
        frames["npu0-npu1"] / sum(frames.values()) if sum(frames.values()) >= FEWEST_FRAMES else -1.0
        for frames in bins
    ]


@pytest.mark.parametrize(("percent", "most"), [(10, 0.15), (50, 0.4)])
def test_shares_leave_a_slow_link_once_and_do_not_swing(percent: int, most: float) -> None:
    shares = shares_over_time(percent)
    healthy = shares[: ONSET_US // BIN_US]
    assert all(0.45 < share < 0.55 for share in healthy)
    # In the last bin the transfer ends, and only the slow link still has frames to send.
    settled = [share for share in shares[SETTLED_US // BIN_US :] if share >= 0][:-1]
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

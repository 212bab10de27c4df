# SPDX-License-Identifier: Apache-2.0
"""Counts that host processes share with the testbed."""

from mmap import mmap

from emulation.mininet.agents.tallies import Tallies
from emulation.traffic.host.stats import NOTHING


def test_agents_that_go_on_keep_their_finishing_times() -> None:
    tallies = Tallies(mmap(-1, Tallies.size(3)), 3)
    for host in (0, 1):
        tallies.note(host, NOTHING, 5 * host)
    tallies.begin_again([1])
    assert [tallies.finished_ps(host) for host in range(3)] == [0, None, None]

# SPDX-License-Identifier: Apache-2.0
"""Tallies: counts of all hosts of a running run, in memory that host processes share with the testbed."""

from collections.abc import Sequence
from mmap import mmap
from typing import Final, final

import numpy as np

from emulation.traffic.host.stats import NOTHING, AgentStats

__all__ = ["Tallies"]

_ARRIVED, _SENT, _RETRANSMITTED, _RECEIVED, _RTT_PS, _FINISHED = range(6)
_BYTES: Final = 6 * 8


@final
class Tallies:
    """Rows of 64-bit counts, one for each host and written by its process; all begin as zeros.

    The bytes of data that have arrived are exact at any time. A host notes all other counts every 50 ms or
    so, and only in a watched run.
    """

    def __init__(self, memory: mmap, hosts: int) -> None:
        self._rows = np.frombuffer(memory, np.int64, hosts * 6).reshape(hosts, 6)

    @staticmethod
    def size(hosts: int) -> int:
        """Return the bytes of memory for the rows of `hosts` hosts."""
        return hosts * _BYTES

    def arrived(self, host: int) -> np.ndarray:
        """Return a view, of shape (1,), of a host's count of received bytes of data."""
        return self._rows[host, _ARRIVED : _ARRIVED + 1]

    def note(self, host: int, stats: AgentStats, finished_ps: int | None) -> None:
        """Store the counts of a host, and its finishing time in scenario ps; None: not finished yet."""
        finished = 0 if finished_ps is None else 1 + finished_ps
        self._rows[host, _SENT:] = stats.sent, stats.retransmitted, stats.received, stats.rtt_ps, finished

    def begin_again(self, hosts: Sequence[int]) -> None:
        """Clear the finishing times of hosts before their agents are replaced."""
        self._rows[hosts, _FINISHED] = 0

    @property
    def arrived_bytes(self) -> int:
        """Bytes of data received by all hosts together."""
        return int(self._rows[:, _ARRIVED].sum())

    def stats(self, host: int) -> AgentStats:
        """Return the latest counts noted by a host; counts without a column are 0."""
        sent, retransmitted, received, rtt_ps, _ = map(int, self._rows[host, _SENT:])
        return AgentStats(sent, retransmitted, received, 0, 0, 0, rtt_ps, NOTHING.junk)

    def finished_ps(self, host: int) -> int | None:
        """Return the finishing time of a host's array in scenario ps; None before."""
        finished = int(self._rows[host, _FINISHED])
        return finished - 1 if finished else None

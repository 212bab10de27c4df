# SPDX-License-Identifier: Apache-2.0
"""Sender of receiver credit congestion control: it sends as many bytes as its receiver has granted.

Source: Ultra Ethernet Specification 1.0, section 3.6.14.
"""

from typing import final

from emulation.traffic.host.congestion import ALGORITHMS, Limits, PathFacts, receiver_credits

__all__ = ["Rccc"]


@final
class Rccc:
    """Window such that all bytes sent so far are at most those granted; 1 for none, since 0 is no limit."""

    def __init__(self, facts: PathFacts, **parameters: float) -> None:
        self.credits = receiver_credits(facts, **{**ALGORITHMS["rccc"], **parameters})
        self.window = self.credits[0]

    def start(self) -> Limits:
        """Return the first credit."""
        return self._spend(0)

    def on_ack(self, now: int, rtt: int, acked: int, marked: int, under_way: int) -> Limits:
        """Take acknowledged bytes: they are no longer under way, and their credit is spent."""
        return self._spend(acked)

    def on_nack(self, now: int, lost: int, under_way: int) -> Limits:
        """Take lost bytes: to go again they need credit again."""
        return self._spend(lost)

    on_trim = on_timeout = on_nack

    def on_credit(self, now: int, granted: int) -> Limits:
        """Take granted bytes."""
        return self._spend(-granted)

    def _spend(self, count: int) -> Limits:
        self.window -= count
        return max(1, self.window), 0

# SPDX-License-Identifier: Apache-2.0
"""Both congestion controls of Ultra Ethernet at once: the smaller window of NSCC and RCCC."""

from typing import final

from emulation.traffic.host.congestion import ALGORITHMS, Limits, PathFacts
from tests.oracle.congestion.nscc import Nscc
from tests.oracle.congestion.rccc import Rccc

__all__ = ["NsccRccc"]


@final
class NsccRccc:
    """The smaller window of two algorithms, each of which takes every event."""

    def __init__(self, facts: PathFacts, **parameters: float) -> None:
        def of(name: str) -> dict[str, float]:
            return {key: value for key, value in parameters.items() if key in ALGORITHMS[name]}

        self._network, self._receiver = Nscc(facts, **of("nscc")), Rccc(facts, **of("rccc"))
        self.credits = self._receiver.credits

    def start(self) -> Limits:
        """Return the first limits."""
        return self._least("start")

    def on_ack(self, *event: int) -> Limits:
        """Take acknowledged bytes."""
        return self._least("on_ack", *event)

    def on_nack(self, *event: int) -> Limits:
        """Take bytes that are missing."""
        return self._least("on_nack", *event)

    def on_trim(self, *event: int) -> Limits:
        """Take bytes of trimmed frames."""
        return self._least("on_trim", *event)

    def on_timeout(self, *event: int) -> Limits:
        """Take bytes that nobody acknowledged in time."""
        return self._least("on_timeout", *event)

    def on_credit(self, *event: int) -> Limits:
        """Take granted bytes."""
        return self._least("on_credit", *event)

    def _least(self, method: str, *event: int) -> Limits:
        return min(getattr(part, method)(*event) for part in (self._network, self._receiver))

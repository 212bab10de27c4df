# SPDX-License-Identifier: Apache-2.0
"""Swift: a window that follows the delay towards a target, and may be less than a frame.

Source: Kumar et al., "Swift: Delay is Simple and Effective for Congestion Control in the Datacenter", SIGCOMM
2020, algorithm 1.
"""

from math import sqrt
from typing import final

from emulation.traffic.host.congestion import ALGORITHMS, Limits, PathFacts

__all__ = ["Swift"]

_BIT_PS = 8e12
_FEWEST, _MOST = 0.1, 100.0  # frames between which the target depends on the window


@final
class Swift:
    """Additive increase below the target, a decrease in proportion to the excess once a round trip."""

    def __init__(self, facts: PathFacts, **parameters: float) -> None:
        chosen = {**ALGORITHMS["swift"], **parameters}
        base = float(facts.base_rtt_ps)
        self.frame = float(facts.frame_bytes)
        self.step, self.beta = chosen["increase_frames"], chosen["beta"]
        self.most, self.least = chosen["largest_decrease"], chosen["least_frames"]
        target, spread = chosen["target_us"] * 1e6, chosen["range_us"] * 1e6
        self.base_target = target if target > 0 else 1.5 * base
        self.spread = spread if spread > 0 else base
        self.largest = max(1.5 * (base * float(facts.rate_bps) / _BIT_PS) / self.frame, 1.0)
        self.window = self.largest
        self.rtt = base
        self.decreased_at = 0

    def start(self) -> Limits:
        """Return the window; below a frame, one frame and the rate of the window."""
        if self.window >= 1:
            return int(self.window * self.frame), 0
        return int(self.frame), int(self.window * self.frame * _BIT_PS / self.rtt)

    def target(self) -> float:
        """Return the target delay, which is longer for small windows."""
        slope = self.spread / (1 / sqrt(_FEWEST) - 1 / sqrt(_MOST))
        extra = slope / sqrt(self.window) - slope / sqrt(_MOST)
        return self.base_target + min(max(extra, 0.0), self.spread)

    def on_ack(self, now: int, rtt: int, acked: int, marked: int, under_way: int) -> Limits:
        """Move the window by the delay."""
        frames = acked / self.frame
        if rtt > 0:
            self.rtt = float(rtt)
            goal = self.target()
            if self.rtt < goal:
                self.window += self.step * frames / self.window if self.window >= 1 else self.step * frames
            elif now - self.decreased_at >= self.rtt:
                self.window *= max(1 - self.beta * (self.rtt - goal) / self.rtt, 1 - self.most)
                self.decreased_at = now
        elif self.window < 1:
            # Frames sent again have no round trip; otherwise the window would keep its size until the last.
            self.window += self.step * frames
        self.bound()
        return self.start()

    def on_trim(self, now: int, lost: int, under_way: int) -> Limits:
        """Decrease as far as allowed, once a round trip."""
        if now - self.decreased_at >= self.rtt:
            self.window *= 1 - self.most
            self.decreased_at = now
        self.bound()
        return self.start()

    on_nack = on_timeout = on_trim

    def on_credit(self, now: int, granted: int) -> Limits:
        """Ignore credits."""
        return self.start()

    def bound(self) -> None:
        """Keep the window between the least and 1.5 products of bandwidth and delay."""
        self.window = min(max(self.window, self.least), self.largest)

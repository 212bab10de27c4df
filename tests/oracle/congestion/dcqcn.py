# SPDX-License-Identifier: Apache-2.0
"""DCQCN: a rate that notifications of marked frames cut, and timers and a byte counter raise.

Source: Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, figures 7 and 8. The
timers are evaluated at the next event of the connection.
"""

from typing import final

from emulation.traffic.host.congestion import ALGORITHMS, Limits, PathFacts

__all__ = ["Dcqcn"]


@final
class Dcqcn:
    """Rate, target rate, and alpha, the smoothed share of intervals with a notification."""

    def __init__(self, facts: PathFacts, **parameters: float) -> None:
        chosen = {**ALGORITHMS["dcqcn"], **parameters}
        self.gain, self.recovery = chosen["gain"], int(chosen["recovery"])
        self.additive, self.hyper = chosen["additive_mbps"] * 1e6, chosen["hyper_mbps"] * 1e6
        self.least, self.counter = chosen["least_mbps"] * 1e6, chosen["counter_bytes"]
        self.interval, self.alpha_period, self.period = (
            int(chosen[name] * 1e6) for name in ("interval_us", "alpha_us", "timer_us")
        )
        self.line = self.rate = self.target = float(facts.rate_bps)
        self.alpha = 1.0
        self.acked = 0.0
        self.by_time = self.by_bytes = 0
        self.notified_at, self.alpha_at, self.timer_at = -1, 0, 0

    def start(self) -> Limits:
        """Return the rate."""
        return 0, int(self.rate)

    def on_ack(self, now: int, rtt: int, acked: int, marked: int, under_way: int) -> Limits:
        """Count bytes towards an increase; marks are a notification."""
        self.advance(now)
        self.acked += acked
        while self.acked >= self.counter:
            self.acked -= self.counter
            self.by_bytes += 1
            self.increase()
        return self.on_trim(now, 0, under_way) if marked else self.start()

    def on_trim(self, now: int, lost: int, under_way: int) -> Limits:
        """Cut the rate, once an interval."""
        self.advance(now)
        if self.notified_at >= 0 and now - self.notified_at < self.interval:
            return self.start()
        self.notified_at = self.alpha_at = self.timer_at = now
        self.target = self.rate
        self.rate = max(self.rate * (1 - self.alpha / 2), self.least)
        self.alpha = (1 - self.gain) * self.alpha + self.gain
        self.by_time = self.by_bytes = 0
        self.acked = 0.0
        return self.start()

    on_nack = on_timeout = on_trim

    def on_credit(self, now: int, granted: int) -> Limits:
        """Ignore credits."""
        return self.start()

    def advance(self, now: int) -> None:
        """Let the timers of alpha and of the rate expire that are due."""
        if self.notified_at < 0:
            return
        while now - self.alpha_at >= self.alpha_period:
            self.alpha *= 1 - self.gain
            self.alpha_at += self.alpha_period
        while now - self.timer_at >= self.period:
            self.timer_at += self.period
            self.by_time += 1
            self.increase()

    def increase(self) -> None:
        """Recover fast, then increase the target by a constant, then by a larger one."""
        if min(self.by_time, self.by_bytes) > self.recovery:
            self.target = min(self.target + self.hyper, self.line)
        elif max(self.by_time, self.by_bytes) > self.recovery:
            self.target = min(self.target + self.additive, self.line)
        self.rate = (self.target + self.rate) / 2

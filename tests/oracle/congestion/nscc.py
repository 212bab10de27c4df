# SPDX-License-Identifier: Apache-2.0
"""Network signalled congestion control of Ultra Ethernet: a window by marks and delay.

Source: Ultra Ethernet Specification 1.0, section 3.6.13, with the constants of the consortium's simulator.
"""

from typing import final

from emulation.traffic.host.congestion import ALGORITHMS, Limits, PathFacts

__all__ = ["Nscc"]

_REFERENCE_RTT = 12e6  # ps; the constants hold for this round trip at 100 Gbit/s
_REFERENCE_BYTES = 150_000
_BIT_PS = 8e12
_IDLE_DELAY = 1e6
_SETTLE_FRAMES = 8


@final
class Nscc:
    """Four cases by mark and delay, collected over eight frames or a round trip; quick adapt after losses."""

    def __init__(self, facts: PathFacts, **parameters: float) -> None:
        chosen = {**ALGORITHMS["nscc"], **parameters}
        self.gamma, self.gain, self.gate = (chosen[name] for name in ("gamma", "gain", "gate"))
        self.rate, self.frame = float(facts.rate_bps), float(facts.frame_bytes)
        self.network_rtt = float(facts.base_rtt_ps)
        target = chosen["target_us"] * 1e6
        self.target = target if target > 0 else self.network_rtt * (0.75 if facts.trims else 1.0)
        self.scale = self.network_rtt * self.rate / _BIT_PS / _REFERENCE_BYTES
        self.set_base(facts.base_rtt_ps)
        start = chosen["start_frames"] * self.frame
        self.window = min(start, self.largest) if start > 0 else self.largest
        self.mean_delay = 0.0
        self.increase = self.since_settled = 0.0
        self.achieved = self.ignored = self.to_ignore = self.quiet = 0.0
        self.fast = self.adapt_due = False
        self.adapt_at = self.settled_at = self.shrunk_at = 0

    def set_base(self, rtt: int) -> None:
        """Set the round trip without queues, and the largest window."""
        self.base = float(rtt)
        self.largest = max(1.5 * (self.base * self.rate / _BIT_PS), self.frame)

    def start(self) -> Limits:
        """Return the window."""
        return int(self.window), 0

    def on_ack(self, now: int, rtt: int, acked: int, marked: int, under_way: int) -> Limits:
        """Grow or shrink by mark and delay."""
        is_marked = marked > 0 and 2 * marked >= acked
        self.achieved += acked
        self.since_settled += acked
        self.ignored += acked
        delay = self.mean_delay
        if rtt > 0:
            if rtt < self.base:
                self.set_base(rtt)
            delay = rtt - self.base
            self.average(delay, marked=is_marked)
        if self.adapt(now, delay, under_way, lost=False, marked=is_marked):
            return self.start()
        if not is_marked:
            self.grow(delay, acked)
        elif delay >= self.target:
            self.shrink(now)
        self.bound()
        if self.since_settled > _SETTLE_FRAMES * self.frame or now - self.settled_at > self.network_rtt:
            self.settle(now)
        self.bound()
        return self.start()

    def on_trim(self, now: int, lost: int, under_way: int) -> Limits:
        """Take the bytes off the window, or adapt."""
        self.ignored += lost
        self.average(self.network_rtt, marked=True)
        self.adapt_due = True
        if not self.adapt(now, 0.0, under_way, lost=True, marked=True):
            self.window -= lost
        self.bound()
        return self.start()

    on_nack = on_timeout = on_trim

    def on_credit(self, now: int, granted: int) -> Limits:
        """Ignore credits."""
        return self.start()

    def average(self, delay: float, *, marked: bool) -> None:
        """Add a delay to the mean; a long one without a mark is over already."""
        sample = 0.25 * self.base if not marked and delay > self.target else delay
        self.mean_delay = self.gain * sample + (1 - self.gain) * self.mean_delay

    def adapt(self, now: int, delay: float, under_way: int, *, lost: bool, marked: bool) -> bool:
        """Set the window to what has arrived in a round trip with losses or long delays."""
        done = False
        if marked and self.ignored < self.to_ignore:
            done = True
        elif now > self.adapt_at:
            called_for = self.adapt_due or lost or delay > 4 * self.target
            if self.adapt_at and called_for and self.achieved < self.gate * self.largest:
                self.window = max(self.achieved, self.frame)
                self.to_ignore, self.ignored = float(under_way), 0.0
                self.adapt_due, done = False, True
            self.achieved = 0.0
            self.adapt_at = now + int(self.base + self.target)
        if done:
            self.increase = self.since_settled = 0.0
        return done

    def grow(self, delay: float, acked: int) -> None:
        """Add to the increase: a fair share, or in proportion to what is left to the target."""
        if delay >= self.target:
            self.increase += 5 * self.frame * self.scale * acked
            return
        self.quiet = self.quiet + acked if delay < _IDLE_DELAY else 0.0
        self.fast = delay < _IDLE_DELAY and (self.fast or self.quiet > self.window)
        if self.fast:
            self.window += 0.25 * self.scale * acked
        else:
            self.increase += 4 * self.frame * self.scale / _REFERENCE_RTT * acked * (self.target - delay)

    def shrink(self, now: int) -> None:
        """Decrease by the mean delay, once a round trip."""
        self.fast, self.quiet = False, 0.0
        if self.mean_delay <= self.target or now - self.shrunk_at <= self.base:
            return
        self.window *= max(1 - self.gamma * (self.mean_delay - self.target) / self.mean_delay, 0.5)
        self.shrunk_at = now

    def settle(self, now: int) -> None:
        """Carry out the collected increase."""
        self.window += self.increase / self.window
        if now - self.settled_at >= self.network_rtt:
            self.window += 0.15 * self.frame * self.scale
            self.settled_at = now
        self.increase = self.since_settled = 0.0

    def bound(self) -> None:
        """Keep the window between a frame and 1.5 products of bandwidth and delay."""
        self.window = min(max(self.window, self.frame), self.largest)

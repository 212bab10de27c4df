# SPDX-License-Identifier: Apache-2.0
"""The sending end of a connection that knows its paths: losses are found by path, not by timers alone.

Three proofs of a loss, from the earliest to the latest:

    order    a later frame of the same path is acknowledged: frames of a path do not overtake each other
    age      a frame sent a timeout later is acknowledged, whatever its path (RFC 8985, RACK)
    silence  nothing new is acknowledged for a timeout: the oldest frame goes again, by another path, as a
             probe; if it is acknowledged before any frame of the silent path, these frames are all lost

Lost frames go again at once. The timeout follows the round trips that the agent has measured over all
connections, so a connection that has never heard anything has a timeout as well.

The time between timeouts doubles. A frame that probes the paths in turn goes more often: at the latest after
an eighth of that time, or 50 us if that is longer, so a path that works again is noticed soon.

After three timeouts in a row a sender asks the controller of its node for other paths in place of the silent
ones (`silent_buckets`); timeouts begin anew on them.
"""

from collections.abc import Sequence
from typing import Final, final

from emulation.traffic.frames.wire import PSN_MASK, readdress
from emulation.traffic.host.path_choice import BUCKETS, PathTiming
from emulation.traffic.host.transport import MAX_WINDOW, NEVER, TransportParameters
from tests.oracle.codec import DataWriter
from tests.oracle.paths.delay import PathDelays
from tests.oracle.paths.entropies import Entropies, PathNews
from tests.oracle.paths.spray import RoundTrips, Spray
from tests.oracle.transport import ACK_NOW, RETRANSMISSION, SLOT, Sender

__all__ = ["PathSender"]

# Timeouts begin this many times above the largest round trip of late.
_PEAKS: Final = 1.5
# Timeouts are shorter than those of a Sender, so a connection has some more of them before it is given up.
_MORE_RETRIES: Final = 4
# Timeouts in a row after which a sender asks for other paths, and how often they begin anew on these.
_ASK_AFTER: Final = 3
_MOST_ASKS: Final = 16
# Probes go after this part of the time between two timeouts, and after so many ps at least.
_PROBES: Final = 8
_PROBE_PS: Final = 50_000_000


@final
class PathSender(Sender):
    """A Sender that sprays over known paths; `lost` is filled by `on_ack`, for `resend`."""

    __slots__ = (
        "_asked",
        "_asks",
        "_delays",
        "_heard",
        "_late_at",
        "_moved",
        "_newest",
        "_next_timeout",
        "_order",
        "_orders",
        "_resent",
        "_silent",
        "_top",
        "_trips",
        "lost",
        "spray",
    )

    def __init__(
        self,
        parameters: TransportParameters,
        writer: DataWriter,
        spray: Spray,
        trips: RoundTrips,
        timings: Sequence[PathTiming] = (),
        entropies: Entropies | None = None,
    ) -> None:
        super().__init__(parameters, writer, 0, entropies)
        self.spray = spray
        self._trips = trips
        self._delays = PathDelays(trips, timings, parameters.ack_delay_ps) if parameters.adaptive else None
        self._order = 0
        self._orders = [0] * MAX_WINDOW
        self._resent = [0] * MAX_WINDOW  # how often the frame has been sent again
        self._top: dict[int, int] = {}  # by path, the order of the last frame known to have arrived
        self._silent: dict[int, int] = {}  # by path on which a frame timed out, the time of the probe
        self._moved: dict[int, int] = {}  # by bucket, the order of the first frame on its present route
        self._asked = False  # a probe asks which frames arrived by former routes
        self._asks = 0  # times that timeouts have begun anew since the last news
        self._next_timeout = 0  # time of the next timeout; probes go before
        self._newest = 0  # time at which a frame was sent that has arrived
        self._heard = 0  # time of the last news
        self._late_at = NEVER  # time at which a frame has waited too long on a congested path
        self.lost: list[int] = []

    def has_room(self) -> bool:
        """Return whether another frame may leave: the window has room, and not all paths are slow."""
        return super().has_room() and (self._delays is None or self._delays.has_room(self.spray.health))

    def send(
        self, op: int, step: int, chunk: int, offset: int, payload: bytes | memoryview, last: bool, now: int
    ) -> bytes:
        """Return the next frame, after `has_room`; `last` if no other frame follows for now."""
        self._lb = self._draw_lb(now)
        if self._delays is not None:
            self._lb, asks = self._delays.steer(self._lb, self.spray.health, now)
            last = last or asks or self.in_flight + 1 >= self._window
            path = self.spray.path_of(self._lb)
            self._delays.new_frame(self.next_psn & SLOT, path, len(payload), last)
        if self.timer == NEVER:
            self._rto = self._estimate()
        slot = self.next_psn & SLOT
        self._orders[slot] = self._order
        self._resent[slot] = 0
        self._order += 1
        return super().send(op, step, chunk, offset, payload, last, now)

    def _draw_lb(self, now: int) -> int:
        if self._entropies is not None:
            return self.spray.next_of(self._entropies, now)
        return self.spray.next_lb(now)

    def _next_lb(self) -> int:
        return self._lb  # `send` has chosen it

    def _estimate(self) -> int:
        limits, peak = self._parameters, self._trips.peak
        if not peak:
            return limits.initial_rto_ps
        own = self.rtt_ps + 4 * self.rttvar_ps
        return min(max(own, int(_PEAKS * peak), limits.path_rto_ps), limits.max_rto_ps)

    def rearm(self, now: int) -> None:
        """Shorten a timer that was set before the agent had measured any round trip."""
        if self.timer != NEVER and not self.retries:
            self._rto = self._estimate()
            self.timer = min(self.timer, now + self._rto)

    def on_ack(
        self, ack_psn: int, sack: int, now: int, flags: int = 0, marks: int = 0, skipped: int = 0
    ) -> bool:
        """Take an acknowledgement; return whether the window moved, and fill `lost`.

        The flag RETRANSMISSION says that a frame sent again has arrived since the last acknowledgement.
        `marks` are the buckets of marked frames that have arrived since then, a bit each.
        """
        base = self._base
        flying, moved = (self.next_psn - base) & PSN_MASK, (ack_psn - base) & PSN_MASK
        if moved > flying or skipped:  # a window of 64 frames needs no map that begins later
            return super().on_ack(ack_psn, sack, now, flags, marks, skipped)
        rest = flying - moved
        later = sack & ((1 << rest - 1) - 1) if rest > 1 else 0
        # Bit i stands for PSN base + i.
        news = ((1 << moved) - 1 | later << moved + 1) & ~(self._sacked << 1)
        advanced = super().on_ack(ack_psn, sack, now, flags, marks)
        answered = self._asked and bool(flags & RETRANSMISSION)
        if not news and not answered:
            return advanced
        self._heard = now
        self._asks = 0
        while news:
            place = (news & -news).bit_length() - 1
            news &= news - 1
            self._arrived(base + place & SLOT, now, bool(flags & RETRANSMISSION), marks)
        if rest and not advanced:
            self._rto = self._estimate()
            self.timer = now + self._rto
        self._find_lost(answered, now)
        self.timer = min(self.timer, self._late_at)
        self._asked = self._asked and not answered
        return advanced

    def _arrived(self, slot: int, now: int, again: bool, marks: int) -> None:
        sent_at = self._sent_at[slot]
        path = self.spray.path_of(self._lbs[slot])
        if self._delays is not None:
            self._delays.note_mark(path, marks >> self._lbs[slot] % BUCKETS & 1)
            if not self._resent[slot]:
                self._delays.measured(slot, now - sent_at)
            self._delays.ended(slot)
        if self._resent[slot]:
            if not again or self._resent[slot] > 1:  # another of its transmissions may have arrived
                return
        else:
            self._trips.add(now - sent_at)
            self._top[path] = max(self._top.get(path, 0), self._orders[slot])
        self._newest = max(self._newest, sent_at)
        self._silent.pop(path, None)
        self.spray.health.acknowledged(path)

    def _find_lost(self, answered: bool, now: int) -> None:
        old = self._newest - self._estimate()
        delays, floor = self._delays, self._parameters.path_rto_ps
        self._late_at = NEVER
        for place in range(self.in_flight):
            slot = (self._base + place) & SLOT
            if place and self._sacked >> (place - 1) & 1:
                continue
            path, sent_at = self.spray.path_of(self._lbs[slot]), self._sent_at[slot]
            probed = self._silent.get(path, -1)
            if (
                self._orders[slot] < self._top.get(path, -1)
                or sent_at <= old
                or sent_at < probed <= self._newest
                or (answered and self._took_former_route(slot))
            ):
                self.lost.append(slot)
            elif delays is not None and delays.congested(path):
                late_at = sent_at + delays.patience(slot, floor)
                if late_at <= now:
                    self.lost.append(slot)
                elif not place:
                    self._late_at = late_at

    def resend(self, now: int) -> list[bytes]:
        """Return the lost frames, to be sent again by other paths; the last asks for an acknowledgement."""
        slots, self.lost = self.lost, []
        for slot in slots:
            path = self.spray.path_of(self._lbs[slot])
            congested = self._delays is not None and self._delays.congested(path)
            if not congested and not self._took_former_route(slot):
                self.spray.health.lost(path, now)
            self._note_path(self._lbs[slot], PathNews.LOST, now)
        return self._again_by(slots, now)

    def rerouted(self, buckets: frozenset[int], now: int) -> list[bytes]:
        """Return a probe if frames are under way in buckets whose route has changed: the newest of them.

        Its acknowledgement has all frames that arrived before the failure; the other ones are lost.
        """
        slots = [
            slot
            for place in range(self.in_flight)
            if not (place and self._sacked >> (place - 1) & 1)
            and self._lbs[slot := (self._base + place) & SLOT] % BUCKETS in buckets
        ]
        if not slots:
            return []
        self._asked = True
        self._moved.update(dict.fromkeys(buckets, self._order))
        if self.retries >= _ASK_AFTER and self._asks < _MOST_ASKS:
            self._asks += 1
            self.retries = 0
            self._rto = self._estimate()
        return self._again_by([max(slots, key=self._orders.__getitem__)], now, other=False)

    def silent_buckets(self) -> frozenset[int]:
        """Return the buckets whose paths are silent or avoided, once timeouts call for other paths."""
        if self.retries < _ASK_AFTER:
            return frozenset()
        health = self.spray.health
        return frozenset(
            bucket
            for bucket, path in enumerate(health.paths)
            if path in self._silent or not health.works(path)
        )

    def _took_former_route(self, slot: int) -> bool:
        return self._orders[slot] < self._moved.get(self._lbs[slot] % BUCKETS, 0)

    def _again_by(self, slots: list[int], now: int, *, other: bool = True) -> list[bytes]:
        frames = []
        for slot in slots:
            lb = self._other_lb(slot, now) if other else self._lbs[slot]
            flags = RETRANSMISSION | ACK_NOW if slot == slots[-1] else RETRANSMISSION
            frame = readdress(self._frames[slot], lb, flags)
            self._frames[slot] = frame
            self._sent_at[slot] = now
            self._lbs[slot] = lb
            self._orders[slot] = self._order
            self._resent[slot] += 1
            self._order += 1
            if self._delays is not None:
                self._delays.sent(slot, self.spray.path_of(lb))
            frames.append(frame)
        if slots:
            self._again = True
            self._recover = self.next_psn
            self.retransmitted += len(slots)
            self.timer = min(now + self._rto, self._late_at)
        return frames

    def _other_lb(self, slot: int, now: int) -> int:
        lb = self._lbs[slot]
        if self._delays is not None:
            self._delays.goes_again(slot, now)
            if (faster := self._delays.choose(lb, self.spray.health, now)) != lb:
                return faster
        for _ in range(BUCKETS if self._entropies is not None else 0):
            other = self._draw_lb(now)
            path = self.spray.path_of(other)
            if path != self.spray.path_of(lb) and path not in self._silent:
                return other
        return self.spray.other_lb(lb, self._silent)

    def on_timeout(self, now: int) -> list[bytes]:
        """Return the oldest frame, to be sent again by another path: after a timeout, or as a probe before.

        None if the connection is given up; none either while a timer runs that was set before longer round
        trips were measured.
        """
        slot = self._base & SLOT
        if not self.retries:
            if self._late_at <= now:
                self._find_lost(False, now)
                if self.lost:
                    return self.resend(now)
            due = max(self._sent_at[slot], self._heard) + self._estimate()
            if due > now:
                self.timer = min(due, self._late_at)
                return []
        limits = self._parameters
        timeout = not self.retries or now >= self._next_timeout
        if timeout and self.retries >= limits.max_retries + _MORE_RETRIES:
            self.failed_psn = self._base
            self.timer = NEVER
            return []
        if not self.retries:
            self._rto = self._estimate()
        path = self.spray.path_of(self._lbs[slot])
        self._silent.setdefault(path, now)
        self.spray.health.lost(path, now)
        self._note_path(self._lbs[slot], PathNews.SILENT, now)
        frames = self._again_by([slot], now)
        if timeout:
            self.retries += 1
            self._rto = min(2 * self._rto, limits.max_rto_ps)
            self._next_timeout = now + self._rto
        self.timer = min(self._next_timeout, now + max(self._rto // _PROBES, _PROBE_PS))
        return frames

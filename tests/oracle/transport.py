# SPDX-License-Identifier: Apache-2.0
"""A reliable connection from one rank to another, sans-IO: a Sender at one end, a Receiver at the other.

Frames carry 24-bit sequence numbers (PSN). Data are placed by offset, so frames out of order are accepted; an
acknowledgement has the first missing PSN and a map of 64 PSNs after it, which ends near the PSN that arrived
last if the window is larger than the map. Retransmission is selective. A Sender triggers it by a timer only,
since frames sprayed over many paths overtake each other even without losses; a sender that knows its paths
finds losses earlier (tests.oracle.paths.sender).
"""

from collections.abc import Container
from typing import Final

from emulation.traffic.frames.values import Flags
from emulation.traffic.frames.wire import MAP_FRAMES, MAP_STEP, PSN_MASK, readdress
from emulation.traffic.host.path_choice import BUCKETS
from emulation.traffic.host.transport import MAX_WINDOW, NEVER, TransportParameters
from tests.oracle.codec import AckWriter, DataWriter
from tests.oracle.paths.entropies import Entropies, PathNews
from tests.oracle.paths.spray import Spray

__all__ = [
    "ACK_NOW",
    "RETRANSMISSION",
    "SLOT",
    "Receiver",
    "Sender",
]

SLOT: Final = MAX_WINDOW - 1  # MAX_WINDOW divides 2^24, so a PSN keeps its slot when PSNs wrap
# Distance in PSNs of two arrivals in a row above which one acknowledgement may not cover both.
_MAP_REACH = MAP_FRAMES - MAP_STEP
_HALF = 1 << 23
ACK_NOW: Final = int(Flags.ACK_NOW)
RETRANSMISSION: Final = int(Flags.RETRANSMISSION)
# Frames in a row that have come again unasked, after which a receiver asks for other paths.
_ASK_AFTER = 4
# Odd, so that sixteen timeouts try all sixteen buckets; not 1, since neighbouring buckets often share a path.
_BUCKET_STRIDE = 5


class Sender:
    """The sending end: frames in flight, the round-trip estimate (RFC 6298), the retransmission timer.

    `timer` is the time at which `on_timeout` is due, NEVER if nothing is in flight. `unfinished` are bytes
    sent and not yet cumulatively acknowledged. `failed_psn` is the oldest frame of a connection given up,
    None while it lives.
    """

    __slots__ = (
        "_again",
        "_base",
        "_entropies",
        "_frames",
        "_lb",
        "_lbs",
        "_parameters",
        "_recover",
        "_rto",
        "_sacked",
        "_sent_at",
        "_spray",
        "_window",
        "_writer",
        "acks",
        "failed_psn",
        "next_psn",
        "retransmitted",
        "retries",
        "rtt_ps",
        "rttvar_ps",
        "sent",
        "timer",
        "unfinished",
    )

    def __init__(
        self, parameters: TransportParameters, writer: DataWriter, lb: int, entropies: Entropies | None = None
    ) -> None:
        self._parameters = parameters
        self._entropies = entropies  # None: frames take values of lb in turn, or by shares
        self._writer = writer
        self._window = parameters.window
        self._spray = parameters.lb_mode
        self._lb = lb & 0xFF
        self._base = self.next_psn = self._recover = parameters.first_psn
        self._frames: list[bytes] = [b""] * MAX_WINDOW
        self._sent_at = [0] * MAX_WINDOW
        self._lbs = [0] * MAX_WINDOW
        self._sacked = 0  # bit i: base + 1 + i is acknowledged
        self._again = False  # frames before _recover were sent twice and give no round-trip sample
        self._rto = parameters.initial_rto_ps
        self.rtt_ps = self.rttvar_ps = 0
        self.timer = NEVER
        self.retries = 0
        self.failed_psn: int | None = None
        self.sent = self.retransmitted = self.acks = self.unfinished = 0

    @property
    def in_flight(self) -> int:
        """Frames from the oldest unacknowledged one to the newest sent."""
        return (self.next_psn - self._base) & PSN_MASK

    @property
    def rto_ps(self) -> int:
        """The retransmission timeout now, backoff included."""
        return self._rto

    def has_room(self) -> bool:
        """Return whether the window has room for another frame."""
        return (self.next_psn - self._base) & PSN_MASK < self._window

    def send(
        self, op: int, step: int, chunk: int, offset: int, payload: bytes | memoryview, last: bool, now: int
    ) -> bytes:
        """Return the next frame, after `has_room`; `last` if no other frame follows for now."""
        psn = self.next_psn
        lb = self._next_lb()
        self.next_psn = after = (psn + 1) & PSN_MASK
        flags = ACK_NOW if last or (after - self._base) & PSN_MASK >= self._window else 0
        frame = self._writer.frame(lb, flags, psn, op, step, chunk, offset, payload)
        slot = psn & SLOT
        self._frames[slot] = frame
        self._sent_at[slot] = now
        self._lbs[slot] = lb
        self.sent += 1
        self.unfinished += len(frame)
        if self.timer == NEVER:
            self.timer = now + self._rto
        return frame

    def _next_lb(self) -> int:
        if self._entropies is not None:
            return self._entropies.next()
        lb = self._lb
        if self._spray:
            self._lb = (lb + 1) & 0xFF
        return lb

    def _note_path(self, lb: int, news: PathNews, now: int) -> None:
        if self._entropies is not None:
            self._entropies.note(lb, news, now)

    def on_ack(
        self, ack_psn: int, sack: int, now: int, flags: int = 0, marks: int = 0, skipped: int = 0
    ) -> bool:
        """Take an acknowledgement; return whether the window moved. Old or invalid ones change nothing.

        Bit i of `sack` stands for PSN ack_psn + 1 + skipped + i.
        """
        self.acks += 1
        base = self._base
        flying = (self.next_psn - base) & PSN_MASK
        moved = (ack_psn - base) & PSN_MASK
        if moved > flying:
            return False
        left = flying - moved
        news = (sack << skipped & ((1 << left - 1) - 1) if left > 1 else 0) if sack else 0
        if self._entropies is not None:
            self._note_arrivals(moved, news, marks, now)
        if not moved:
            if news & ~self._sacked:
                self._sacked |= news
                self.retries = 0
            return False
        frames = self._frames
        for psn in range(base, base + moved):
            self.unfinished -= len(frames[psn & SLOT])
            frames[psn & SLOT] = b""
        if self._again and (ack_psn - self._recover) & PSN_MASK < _HALF:
            self._again = False
        elif not self._again:
            self._sample(now - self._sent_at[(ack_psn - 1) & SLOT])
        self._base = ack_psn
        # The map of a small window is complete, and corrects what a damaged acknowledgement has said.
        self._sacked = news if self._window <= MAP_FRAMES else self._sacked >> moved | news
        self.retries = 0
        self._rto = self._estimate()
        self.timer = now + self._rto if left else NEVER
        return True

    def _note_arrivals(self, moved: int, news: int, marks: int, now: int) -> None:
        """Note the paths of the frames that an acknowledgement names for the first time."""
        for place in range(self.in_flight):
            named = place < moved or (place > moved and news >> place - moved - 1 & 1)
            if not named or (place and self._sacked >> place - 1 & 1):
                continue
            lb = self._lbs[(self._base + place) & SLOT]
            self._note_path(lb, PathNews.MARKED if marks >> lb % BUCKETS & 1 else PathNews.GOOD, now)

    def _sample(self, rtt: int) -> None:
        if self.rtt_ps:
            self.rttvar_ps = (3 * self.rttvar_ps + abs(self.rtt_ps - rtt)) // 4
            self.rtt_ps = (7 * self.rtt_ps + rtt) // 8
        else:
            self.rtt_ps = rtt
            self.rttvar_ps = rtt // 2

    def _estimate(self) -> int:
        limits = self._parameters
        if not self.rtt_ps:
            return limits.initial_rto_ps
        return min(max(self.rtt_ps + 4 * self.rttvar_ps, limits.min_rto_ps), limits.max_rto_ps)

    def on_timeout(self, now: int) -> list[bytes]:
        """Return the frames to send again when the timer is due; none if the connection is given up.

        Every frame that is not acknowledged is sent again in another bucket, except frames younger than a
        timeout; the oldest frame always is. The last asks for an immediate acknowledgement.
        """
        limits = self._parameters
        if self.retries >= limits.max_retries:
            self.failed_psn = self._base
            self.timer = NEVER
            return []
        self.retries += 1
        self._again = True
        self._recover = self.next_psn
        if not self._spray:
            self._lb = (self._lb + _BUCKET_STRIDE) & 0xFF
        slots = []
        for place in range(self.in_flight):
            slot = (self._base + place) & SLOT
            marked = place > 0 and self._sacked >> (place - 1) & 1
            if not marked and (place == 0 or now - self._sent_at[slot] >= self._rto):
                slots.append(slot)
                self._note_path(self._lbs[slot], PathNews.SILENT, now)
        out = []
        for slot in slots:
            lb = (self._lbs[slot] + _BUCKET_STRIDE) & 0xFF if self._spray else self._lb
            if self._entropies is not None:
                lb = self._entropies.next()
            flags = RETRANSMISSION | ACK_NOW if slot == slots[-1] else RETRANSMISSION
            frame = readdress(self._frames[slot], lb, flags)
            self._frames[slot] = frame
            self._sent_at[slot] = now
            self._lbs[slot] = lb
            out.append(frame)
        self.retransmitted += len(out)
        self._rto = min(2 * self._rto, limits.max_rto_ps)
        self.timer = now + self._rto
        return out


class Receiver:
    """The receiving end: received PSNs, and the time of the next acknowledgement.

    `ack_at` is the latest time of the next acknowledgement, NEVER if none is due. A frame that asks for an
    acknowledgement before earlier frames have arrived gets a second one once these have arrived: the sender
    would otherwise wait for the delay of an acknowledgement, and take them for lost. A receiver that knows
    its paths asks the controller of its node for other paths (`silent_buckets`) if frames only come again.
    """

    __slots__ = (
        "_ack_delay",
        "_ack_every",
        "_bitmap",
        "_echo",
        "_expected",
        "_last",
        "_lb",
        "_marks",
        "_most",
        "_newest",
        "_owed",
        "_paths",
        "_repeated",
        "_spray",
        "_unacknowledged",
        "_wants_path",
        "_writer",
        "ack_at",
        "acks",
        "duplicates",
        "marked",
        "received",
    )

    def __init__(
        self, parameters: TransportParameters, writer: AckWriter, lb: int, paths: Spray | None = None
    ) -> None:
        self._paths = paths
        self._echo = 0
        self._marks = 0  # buckets of marked frames since the last acknowledgement, a bit each
        self._last = -1  # load-balance value of the last acknowledgement
        self._repeated = 0  # frames in a row that came again
        self._wants_path = False  # has asked for other paths since the last acknowledgement
        self._writer = writer
        self._ack_every = parameters.ack_every
        self._ack_delay = parameters.ack_delay_ps
        self._spray = parameters.lb_mode or parameters.spray is not None
        self._lb = lb & 0xFF
        self._expected = parameters.first_psn
        self._most = max(parameters.window, MAP_FRAMES)  # largest distance of a PSN from the first missing
        self._newest = parameters.first_psn  # PSN of the frame that arrived last
        self._bitmap = 0  # bit i: expected + 1 + i is received
        self._unacknowledged = 0
        self._owed = -1  # PSN up to which all frames are to be acknowledged once they have arrived; -1: none
        self.ack_at = NEVER
        self.acks = self.duplicates = self.marked = self.received = 0

    def note_mark(self, lb: int) -> None:
        """Note that a frame with this load-balance value was marked, for the next acknowledgement."""
        self.marked += 1
        self._marks |= 1 << lb % BUCKETS

    def accept(self, psn: int, flags: int, now: int) -> bool | None:
        """Return True for a new frame, False for a duplicate, None beyond any window; set `ack_at`."""
        ahead = (psn - self._expected) & PSN_MASK
        if ahead == 0:
            bitmap = self._bitmap
            if bitmap:
                run = (~bitmap & (bitmap + 1)).bit_length()  # 1 + the ones bitmap ends with
                self._bitmap = bitmap >> run
                self._expected = (psn + run) & PSN_MASK
            else:
                self._expected = (psn + 1) & PSN_MASK
            new = True
        elif ahead <= self._most:
            bit = 1 << ahead - 1
            new = not self._bitmap & bit
            self._bitmap |= bit
        elif ahead >= _HALF:
            new = False
        else:
            return None
        if new:
            self.received += 1
            self._repeated = 0
        else:
            # The sender missed acknowledgements: their path may have failed.
            self.duplicates += 1
            self._lb = (self._lb + _BUCKET_STRIDE) & 0xFF
            # A frame that comes late, after it was sent again, says nothing of acknowledgements.
            if self._paths is not None and self._last >= 0 and flags & RETRANSMISSION:
                self._paths.health.suspect(self._paths.path_of(self._last), now)
                self._repeated += 1
                self._last = -1
        self._echo |= flags & RETRANSMISSION
        self._unacknowledged += 1
        if flags & ACK_NOW and new and ahead:
            self._owed = psn
        complete = self._owed >= 0 and (self._expected - self._owed - 1) & PSN_MASK < _HALF
        if complete:
            self._owed = -1
        apart = min((psn - self._newest) & PSN_MASK, (self._newest - psn) & PSN_MASK)
        uncovered = self._most > MAP_FRAMES and apart > _MAP_REACH
        self._newest = psn
        if complete or uncovered or flags & ACK_NOW or self._unacknowledged >= self._ack_every:
            self.ack_at = now
        elif self._unacknowledged == 1:
            self.ack_at = now + self._ack_delay
        return new

    def silent_buckets(self) -> frozenset[int]:
        """Return the buckets whose paths have lost acknowledgements, once other paths are called for."""
        if self._paths is None or self._repeated < _ASK_AFTER:
            return frozenset()
        self._repeated, self._wants_path = 0, True
        return self._paths.health.suspects

    def last_by(self, buckets: Container[int]) -> bool:
        """Return whether the last acknowledgement took one of these buckets or is missing by all paths.

        False without known paths.
        """
        if self._paths is None:
            return False
        return self._wants_path or (self._last >= 0 and self._last % BUCKETS in buckets)

    def ack(self, now: int = 0) -> bytes:
        """Return an acknowledgement of all received frames, with RETRANSMISSION if some came again."""
        lb = self._lb if self._paths is None else self._paths.next_lb(now)
        self._last = lb
        if self._spray:
            self._lb = (lb + 1) & 0xFF
        flags, self._echo = self._echo, 0
        marks, self._marks = self._marks, 0
        self._unacknowledged = 0
        self._wants_path = False
        self.ack_at = NEVER
        self.acks += 1
        skipped = self._skipped()
        sack = self._bitmap >> skipped & (1 << MAP_FRAMES) - 1
        return self._writer.frame(lb, self._expected, sack, flags, marks, skipped)

    def _skipped(self) -> int:
        """Return the number of frames between the first missing frame and the map of an acknowledgement."""
        ahead = (self._newest - self._expected) & PSN_MASK
        if ahead <= MAP_FRAMES or ahead >= _HALF:
            return 0
        return -(-(ahead - MAP_FRAMES) // MAP_STEP) * MAP_STEP

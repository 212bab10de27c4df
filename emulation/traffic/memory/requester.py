# SPDX-License-Identifier: Apache-2.0
"""A borrower's side of a connection: requests, responses and retransmissions, sans-IO.

A request whose timer expires is sent again in another path bucket. Timeouts follow RFC 6298, with backoff;
only requests sent once measure round trips. A lender that stays silent for `timeout_ps` is given up.
"""

from dataclasses import dataclass
from typing import Final, final

from emulation.traffic.frames.values import Operation, Status
from emulation.traffic.frames.wire import PSN_MASK
from emulation.traffic.host.transport import NEVER
from emulation.traffic.memory.wire import MemoryFields, write_frame

__all__ = ["Requester", "RequesterParameters"]

_BUCKET_STRIDE: Final = 5  # odd: sixteen retries try all sixteen buckets


@final
@dataclass(frozen=True, slots=True)
class RequesterParameters:
    """Parameters of a connection; times are picoseconds, `window` counts requests."""

    window: int = 16
    initial_rto_ps: int = 30_000_000
    min_rto_ps: int = 5_000_000
    max_rto_ps: int = 40_000_000
    timeout_ps: int = 400_000_000
    first_psn: int = 0


@final
class _Request:
    __slots__ = ("answered", "fields", "first_ps", "sent_ps", "tag", "tries")

    def __init__(self, fields: MemoryFields, tag: object, now: int) -> None:
        self.fields = fields
        self.tag = tag
        self.first_ps = self.sent_ps = now
        self.tries = 1
        self.answered = False


@final
class Requester:
    """The borrower's end of a connection with one lender: sends requests, and repeats them until answered.

    `own` is the CNA of the borrower, and `lb` the first value of the header field lb (load balancing).

    `timer` is the time at which `on_timer` is due. `failed` is True once the lender has been given up. `late`
    counts responses to requests that were no longer open.
    """

    def __init__(self, own: int, lender: int, parameters: RequesterParameters, lb: int = 0) -> None:
        self._own = own
        self.lender = lender
        self._parameters = parameters
        self._lb = lb
        self._next = self._oldest = parameters.first_psn
        self._open: dict[int, _Request] = {}  # by PSN, in the order in which they were first sent
        self._rtt = self._deviation = 0
        self._rto = parameters.initial_rto_ps
        self._silent_since = 0
        self._messages = 0
        self.timer = NEVER
        self.failed = False
        self.sent = self.retransmitted = self.late = 0

    @property
    def rtt_ps(self) -> int:
        """Smoothed round trip in ps; 0 before the first measurement."""
        return self._rtt

    def has_room(self) -> bool:
        """Return whether the window, counted from the oldest unanswered request, admits another request."""
        return not self.failed and (self._next - self._oldest) & PSN_MASK < self._parameters.window

    def request(
        self, operation: Operation, address: int, now: int, tag: object, *, length: int = 0, data: bytes = b""
    ) -> bytes:
        """Return the frame of a new request; call `has_room` first. `on_response` returns its `tag`.

        `length` counts the bytes of a load. A message gets the next message number as its address.
        """
        if operation is Operation.MESSAGE:
            address, self._messages = self._messages, self._messages + 1
        psn = self._next
        self._next = (psn + 1) & PSN_MASK
        if not self._open:
            self._silent_since = now
        fields = MemoryFields(
            False,
            self._own,
            self.lender,
            self._bucket(),
            psn,
            self._oldest,
            operation,
            0,
            length,
            address,
            data,
        )
        self._open[psn] = _Request(fields, tag, now)
        self.sent += 1
        self._arm(now)
        return write_frame(fields)

    def on_response(self, fields: MemoryFields, now: int) -> tuple[object, Status, bytes] | None:
        """Return tag, status and data of the request that a response answers; None for a late response."""
        request = self._open.get(fields.psn)
        if request is None or request.answered or self.failed:
            self.late += 1
            return None
        request.answered = True
        self._silent_since = now
        if request.tries == 1:
            self._sample(now - request.first_ps)
        limits = self._parameters
        if self._rtt:
            wanted = self._rtt + 4 * self._deviation
            self._rto = min(max(wanted, limits.min_rto_ps), limits.max_rto_ps)
        while self._open and self._open[self._oldest].answered:
            del self._open[self._oldest]
            self._oldest = (self._oldest + 1) & PSN_MASK
        self._arm(now)
        return request.tag, Status(fields.status), fields.data

    def on_timer(self, now: int) -> list[bytes]:
        """Return the frames to retransmit; if the lender has been silent too long, none, and set `failed`."""
        if now < self.timer:
            return []
        if now - self._silent_since >= self._parameters.timeout_ps:
            self.failed = True
            self.timer = NEVER
            return []
        out = []
        for request in self._open.values():
            if not request.answered and now - request.sent_ps >= self._rto:
                request.sent_ps = now
                request.tries += 1
                lb = request.fields.lb + _BUCKET_STRIDE
                request.fields = request.fields._replace(lb=lb & 0xFF, oldest=self._oldest)
                out.append(write_frame(request.fields, retransmission=True))
        self.retransmitted += len(out)
        if out:
            self._rto = min(2 * self._rto, self._parameters.max_rto_ps)
        self._arm(now)
        return out

    def _bucket(self) -> int:
        lb, self._lb = self._lb, (self._lb + 1) & 0xFF
        return lb

    def _sample(self, rtt: int) -> None:
        if self._rtt:
            self._deviation = (3 * self._deviation + abs(self._rtt - rtt)) // 4
            self._rtt = (7 * self._rtt + rtt) // 8
        else:
            self._rtt, self._deviation = rtt, rtt // 2

    def _arm(self, now: int) -> None:
        waiting = [request.sent_ps for request in self._open.values() if not request.answered]
        given_up = self._silent_since + self._parameters.timeout_ps
        self.timer = max(now, min(min(waiting) + self._rto, given_up)) if waiting else NEVER

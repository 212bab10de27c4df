# SPDX-License-Identifier: Apache-2.0
"""A lender's side of a connection: every operation of a requester takes effect once.

A request may arrive late, twice, or before an earlier request. Each request carries `oldest`, the PSN of the
oldest request without a response. The responder records the responses from `oldest` on, which the requester
may still ask for again, and drops requests before `oldest` as late copies. It answers a repeated atomic,
store or message from the record. For a repeated load it reads the memory again:
its requester still has no value.
"""

from collections.abc import Callable
from typing import Final, final

from emulation.traffic.frames.values import Operation, Status
from emulation.traffic.frames.wire import PSN_MASK
from emulation.traffic.memory.memory import Memory
from emulation.traffic.memory.wire import MemoryFields, write_frame

__all__ = ["Responder"]

_HALF: Final = (PSN_MASK + 1) // 2


@final
class Responder:
    """The connection with one requester; `deliver` is called with its messages, in their order.

    `executed` counts operations, `repeated` requests that came again, `stale` dropped late copies.
    """

    def __init__(self, memory: Memory, deliver: Callable[[bytes], None], first_psn: int = 0) -> None:
        self._memory = memory
        self._deliver = deliver
        self._oldest = first_psn
        self._record: dict[int, tuple[Status, bytes]] = {}
        self._messages: dict[int, bytes] = {}  # by number; each waits for earlier messages
        self._next_message = 0
        self.executed = self.repeated = self.stale = 0

    @property
    def recorded(self) -> int:
        """Number of responses in the record, at most the requester's window."""
        return len(self._record)

    def on_request(self, fields: MemoryFields) -> bytes | None:
        """Return the frame of the response to a request; None for a late copy, which needs no response."""
        if (fields.psn - self._oldest) & PSN_MASK >= _HALF:
            self.stale += 1
            return None
        ahead = (fields.oldest - self._oldest) & PSN_MASK
        if 0 < ahead < _HALF:
            self._oldest = fields.oldest
            self._record = {
                psn: kept for psn, kept in self._record.items() if (psn - fields.oldest) & PSN_MASK < _HALF
            }
        known = self._record.get(fields.psn)
        if known is None:
            status, data = self._execute(fields)
            self.executed += 1
            kept = b"" if fields.operation == Operation.LOAD else data
            self._record[fields.psn] = status, kept
        else:
            self.repeated += 1
            status, data = self._execute(fields) if fields.operation == Operation.LOAD else known
        return write_frame(
            fields._replace(
                response=True, scna=fields.dcna, dcna=fields.scna, oldest=0, status=status, data=data
            )
        )

    def _execute(self, fields: MemoryFields) -> tuple[Status, bytes]:
        if fields.operation != Operation.MESSAGE:
            operation = Operation(fields.operation)
            return self._memory.execute(operation, fields.address, fields.length, fields.data)
        self._messages[fields.address] = fields.data
        while self._next_message in self._messages:
            self._deliver(self._messages.pop(self._next_message))
            self._next_message += 1
        return Status.DONE, b""

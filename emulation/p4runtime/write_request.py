# SPDX-License-Identifier: Apache-2.0
"""A serialised WriteRequest: the engine reads most updates from the bytes, without message objects."""

from collections.abc import Sequence
from typing import final

from finsy.proto import p4r, rpc_code
from google.protobuf.message import DecodeError

from emulation import _engine
from emulation.p4runtime.status import Refusal

__all__ = ["SerialisedWrite"]


@final
class SerialisedWrite:
    """A serialised WriteRequest; INVALID_ARGUMENT for malformed bytes.

    `head` has all fields but the updates. `entries` are the updates for the engine; None if the bytes have
    unknown fields of a wire type that the engine does not read because P4Runtime never uses it.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._message: p4r.WriteRequest | None = None
        self.entries: _engine.EntryUpdates | None = None
        try:
            self.entries = _engine.EntryUpdates(data)
        except ValueError:
            self.head = self.parse()
        else:
            self.head = _message_of(self.entries.head)

    @property
    def count(self) -> int:
        """Number of updates."""
        return len(self.updates) if self.entries is None else self.entries.count

    @property
    def updates(self) -> Sequence[p4r.Update]:
        """Updates as messages."""
        return self.parse().updates

    def parse(self) -> p4r.WriteRequest:
        """Return the request as a message, parsed on first use; INVALID_ARGUMENT for malformed bytes."""
        if self._message is None:
            self._message = _message_of(self._data)
        return self._message


def _message_of(data: bytes) -> p4r.WriteRequest:
    try:
        return p4r.WriteRequest.FromString(data)
    except DecodeError as error:
        raise Refusal(rpc_code.INVALID_ARGUMENT, f"the bytes are no WriteRequest: {error}") from error

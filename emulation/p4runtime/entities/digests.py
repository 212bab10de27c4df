# SPDX-License-Identifier: Apache-2.0
"""Digests of one switch: gathered into lists, sent, and not sent again until acknowledged or timed out."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import final

from finsy.proto import p4d, p4r, rpc_code

from emulation.p4runtime.clock import Clock
from emulation.p4runtime.pipeline.layout import DigestLayout
from emulation.p4runtime.pipeline.pipelines import Pipeline
from emulation.p4runtime.status import Refusal

__all__ = ["Digests", "Publish"]

Publish = Callable[[int, p4r.StreamMessageResponse], None]
"""Sends a message about the entity with an id to the primaries of the roles that have that entity."""

_INVALID = rpc_code.INVALID_ARGUMENT
_INSERT, _DELETE = p4r.Update.INSERT, p4r.Update.DELETE
_LONGEST_LIST = 1000  # without a limit in the configuration
_MOST_KNOWN = 1 << 17
"""Most unacknowledged messages of a digest; beyond it, the oldest lists are dropped as if timed out."""


@final
@dataclass(slots=True)
class _Sent:
    """A sent list of messages, not yet acknowledged."""

    at_ns: int
    messages: list[bytes]


@final
@dataclass(slots=True)
class _Learning:
    """A digest configured by a controller, with its gathered and unacknowledged messages."""

    layout: DigestLayout
    entry: p4r.DigestEntry
    gathered: dict[bytes, None] = field(default_factory=dict)
    # By list id, oldest first. A dict would scan the slots of deleted lists to find its first item.
    unacknowledged: OrderedDict[int, _Sent] = field(default_factory=OrderedDict)
    known: set[bytes] = field(default_factory=set)

    def forget(self, list_id: int) -> None:
        """Drop an unacknowledged list; its messages may be sent again."""
        sent = self.unacknowledged.pop(list_id, None)
        if sent is not None:
            self.known.difference_update(sent.messages)

    def forget_before(self, now_ns: int) -> None:
        """Drop every list whose acknowledgement has timed out."""
        timeout_ns = self.entry.config.ack_timeout_ns
        while self.unacknowledged:
            oldest = next(iter(self.unacknowledged))
            if now_ns - self.unacknowledged[oldest].at_ns < timeout_ns:
                break
            self.forget(oldest)

    def wait_for(self, list_id: int, sent: _Sent) -> None:
        """Remember a list until it is acknowledged or timed out, or until too many messages wait."""
        self.unacknowledged[list_id] = sent
        self.known.update(sent.messages)
        while len(self.known) > _MOST_KNOWN and len(self.unacknowledged) > 1:
            self.forget(next(iter(self.unacknowledged)))


@final
class Digests:
    """Digests of a switch: collects the values that programs send, and sends lists of them to controllers.

    Callers hold the engine's lock, and so does the clock when it calls back.
    """

    def __init__(self, pipeline: Pipeline, clock: Clock, publish: Publish) -> None:
        self._layouts = pipeline.digests
        self._by_handle = {layout.handle: layout.id for layout in pipeline.digests.values()}
        self._clock = clock
        self._publish = publish
        self._learning: dict[int, _Learning] = {}
        self._next_list = dict.fromkeys(pipeline.digests, 1)

    # -- configuration

    def write(self, kind: int, entry: p4r.DigestEntry) -> None:
        """Start sending a digest (INSERT), change its limits (MODIFY) or stop sending it (DELETE)."""
        layout = self._layouts.get(entry.digest_id)
        if layout is None:
            raise Refusal(_INVALID, f"there is no digest with id {entry.digest_id}")
        present = self._learning.get(layout.id)
        if kind == _INSERT and present is not None:
            raise Refusal(rpc_code.ALREADY_EXISTS, f"digest {layout.name!r} is configured already")
        if kind != _INSERT and present is None:
            raise Refusal(rpc_code.NOT_FOUND, f"digest {layout.name!r} is not configured")
        if kind == _DELETE:
            del self._learning[layout.id]
            return
        config = entry.config
        if min(config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns) < 0:
            raise Refusal(
                _INVALID,
                f"digest {layout.name!r}: max_timeout_ns {config.max_timeout_ns}, max_list_size "
                f"{config.max_list_size} or ack_timeout_ns {config.ack_timeout_ns} is below 0",
            )
        kept = p4r.DigestEntry()
        kept.CopyFrom(entry)
        if present is None:
            self._learning[layout.id] = _Learning(layout, kept)
        else:
            self._send(present)  # messages gathered under the old limits do not wait for the new ones
            present.entry = kept

    def read(self, wanted: p4r.DigestEntry) -> Iterator[p4r.Entity]:
        """Yield the configuration of one digest or of all."""
        if wanted.digest_id and wanted.digest_id not in self._layouts:
            raise Refusal(_INVALID, f"there is no digest with id {wanted.digest_id}")
        for id, learning in self._learning.items():
            if wanted.digest_id in (0, id):
                yield p4r.Entity(digest_entry=learning.entry)

    # -- data

    def learn(self, handle: int, fields: bytes) -> None:
        """Gather a digest message (by handle); dropped unless a controller has configured the digest."""
        learning = self._learning.get(self._by_handle.get(handle, 0))
        if learning is None:
            return
        learning.forget_before(self._clock.now_ns())
        if fields in learning.known or fields in learning.gathered:
            return
        first = not learning.gathered
        learning.gathered[fields] = None
        config = learning.entry.config
        if not config.max_timeout_ns or len(learning.gathered) >= (config.max_list_size or _LONGEST_LIST):
            self._send(learning)
        elif first:
            self._send_later(learning)

    def _send_later(self, learning: _Learning) -> None:
        gathered = learning.gathered

        def due() -> None:
            if self._learning.get(learning.layout.id) is learning and learning.gathered is gathered:
                self._send(learning)

        self._clock.later(learning.entry.config.max_timeout_ns, due)

    def _send(self, learning: _Learning) -> None:
        messages, learning.gathered = list(learning.gathered), {}
        if not messages:
            return
        id = learning.layout.id
        list_id, self._next_list[id] = self._next_list[id], self._next_list[id] + 1
        if learning.entry.config.ack_timeout_ns:
            learning.wait_for(list_id, _Sent(self._clock.now_ns(), messages))
        sent = p4r.DigestList(
            digest_id=id,
            list_id=list_id,
            data=[_data(learning.layout, fields) for fields in messages],
            timestamp=self._clock.timestamp_ns(),
        )
        self._publish(id, p4r.StreamMessageResponse(digest=sent))

    def acknowledge(self, ack: p4r.DigestListAck) -> None:
        """Note the acknowledgement of a list; an unexpected acknowledgement has no effect."""
        if ack.digest_id not in self._layouts:
            raise Refusal(_INVALID, f"there is no digest with id {ack.digest_id}")
        learning = self._learning.get(ack.digest_id)
        if learning is not None:
            learning.forget(ack.list_id)

    def primary_changed(self) -> None:
        """Forget all lists sent: a new primary has not received them."""
        for learning in self._learning.values():
            learning.unacknowledged.clear()
            learning.known.clear()


def _data(layout: DigestLayout, fields: bytes) -> p4d.P4Data:
    leaves, at = [], 0
    for bits in layout.widths:
        octets = (bits + 7) // 8
        leaves.append(int.from_bytes(fields[at : at + octets]))
        at += octets
    return layout.type.encode(iter(leaves))

# SPDX-License-Identifier: Apache-2.0
"""Parser value sets of one switch; the engine holds each member as a value and a mask of the whole key."""

from collections.abc import Iterator
from typing import final

from finsy.proto import p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.pipeline.layout import ValueSetLayout
from emulation.p4runtime.pipeline.match import Key, KeyLayout
from emulation.p4runtime.pipeline.pipelines import Pipeline
from emulation.p4runtime.status import Refusal

__all__ = ["ValueSets"]

_INVALID = rpc_code.INVALID_ARGUMENT

_Member = tuple[bytes, bytes]
"""Value and mask of a member, each field in whole bytes."""


@final
class ValueSets:
    """P4Runtime writes and reads of a switch's parser value sets. Callers hold the engine's lock."""

    def __init__(self, network: _engine.SwitchSet, switch: int, pipeline: Pipeline) -> None:
        self._network = network
        self._switch = switch
        self._sets = pipeline.value_sets
        self._members = {id: p4r.ValueSetEntry(value_set_id=id) for id in pipeline.value_sets}

    def _find(self, id: int) -> ValueSetLayout:
        layout = self._sets.get(id)
        if layout is None:
            raise Refusal(_INVALID, f"there is no value set with id {id}")
        return layout

    def write(self, kind: int, entry: p4r.ValueSetEntry) -> None:
        """Carry out a MODIFY by replacing all members."""
        layout = self._find(entry.value_set_id)
        what = f"value set {layout.name!r}"
        if kind != p4r.Update.MODIFY:
            raise Refusal(_INVALID, f"{what} accepts MODIFY only, not {p4r.Update.Type.keys()[kind]}")
        if len(entry.members) > layout.size:
            raise Refusal(
                rpc_code.RESOURCE_EXHAUSTED,
                f"{what}: {len(entry.members)} members exceed its size {layout.size}",
            )
        kept = p4r.ValueSetEntry(value_set_id=layout.id)
        members: list[_Member] = []
        for sent in entry.members:
            keys = _decoded(layout, sent, what)
            member = _masked(layout, keys)
            if member in members:
                raise Refusal(
                    rpc_code.ALREADY_EXISTS,
                    f"{what}: members {members.index(member)} and {len(members)} of the list are equal",
                )
            members.append(member)
            added = kept.members.add()
            for field, key in zip(layout.keys, keys, strict=True):
                field.encode(added, key)
        self._network.value_set_write(self._switch, layout.handle, members)
        self._members[layout.id] = kept

    def read(self, wanted: p4r.ValueSetEntry) -> Iterator[p4r.Entity]:
        """Yield one value set or all, with their members."""
        if wanted.value_set_id:
            self._find(wanted.value_set_id)
        for id, entry in self._members.items():
            if wanted.value_set_id in (0, id):
                yield p4r.Entity(value_set_entry=entry)


def _decoded(layout: ValueSetLayout, member: p4r.ValueSetMember, what: str) -> list[Key]:
    by_field: dict[int, Key] = {}
    by_id = {key.id: key for key in layout.keys}
    for sent in member.match:
        key = by_id.get(sent.field_id)
        if key is None or sent.field_id in by_field:
            raise Refusal(_INVALID, f"{what}: field id {sent.field_id} is unknown or given twice")
        by_field[sent.field_id] = key.decode(sent)
    keys = []
    for key in layout.keys:
        decoded = by_field.get(key.id, key.wildcard)
        if decoded is None:
            raise Refusal(_INVALID, f"{key.what} is exact and must be given")
        keys.append(decoded)
    return keys


def _masked(layout: ValueSetLayout, keys: list[Key]) -> _Member:
    value, mask = b"", b""
    for key, (low, extra, prefix) in zip(layout.keys, keys, strict=True):
        octets = (key.bits + 7) // 8
        value += low.rjust(octets, b"\0")
        mask += _mask(key, low, extra, prefix).to_bytes(octets)
    return value, mask


def _mask(key: KeyLayout, low: bytes, extra: bytes, prefix: int) -> int:
    """Return the mask of a field's bits to be matched; UNIMPLEMENTED for a range."""
    ones = (1 << key.bits) - 1
    match key.match:
        case "exact":
            return ones
        case "lpm":
            return ones & ~(ones >> prefix)
        case "optional":
            return ones if prefix else 0
        case "range" if int.from_bytes(low) == 0 and int.from_bytes(extra) == ones:
            return 0
        case "range":
            raise Refusal(rpc_code.UNIMPLEMENTED, f"{key.what}: ranges in value sets are not supported")
        case _:
            return int.from_bytes(extra)

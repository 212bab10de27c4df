# SPDX-License-Identifier: Apache-2.0
"""Random P4Runtime updates for a program: most of them valid, the others wrong in one way."""

import random
from collections.abc import Callable, Sequence
from typing import Any, final

from finsy.proto import p4i, p4r

from tests.differential.bmv2 import CPU_PORT
from tests.differential.fuzz.frames import Pool
from tests.differential.fuzz.profiles import ProfileMaker

__all__ = ["UpdateMaker"]

_INVALID = 0.2
_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
_PORT_BITS = 9
_DROP_PORT = 511


@final
class UpdateMaker:
    """Makes updates, among them modifications, deletions and duplicates of its earlier entries."""

    def __init__(self, info: p4i.P4Info, ports: Sequence[int], rng: random.Random, pool: Pool) -> None:
        self._rng, self._pool, self._ports = rng, pool, tuple(ports)
        keyed = [table for table in info.tables if table.match_fields]
        # Constant tables refuse everything: once in a while is enough.
        self._tables = [table for table in keyed if not table.is_const_table] * 10
        self._tables += [table for table in keyed if table.is_const_table]
        self._all_tables = list(info.tables)
        self._direct = [table for table in info.tables if not table.implementation_id]
        self._actions = {action.preamble.id: action for action in info.actions}
        self.profiles = ProfileMaker(info, rng, self._call)
        self._made: list[p4r.TableEntry] = []
        self._priority = 0

    def start(self, entries: Sequence[p4r.TableEntry]) -> None:
        """From tables that hold these entries and no others."""
        self._made = list(entries)
        self.profiles.start()

    def batch(self, size: int) -> list[tuple[p4r.Update, str]]:
        """Each update with what is wrong in it, if anything is. None for a program without tables."""
        return [self._update() for _ in range(size)] if self._all_tables and self._actions else []

    def _update(self) -> tuple[p4r.Update, str]:
        rng = self._rng
        kind = rng.random()
        if (kind < 0.15 and self._all_tables) or not self._tables:
            update = self._default()
        elif kind < 0.40 and self._made:
            old = rng.choice(self._made)
            update = p4r.Update(type=rng.choice((_MODIFY, _DELETE, _INSERT)))
            update.entity.table_entry.CopyFrom(old)
            if update.type == _MODIFY:
                self._act(update.entity.table_entry)
        else:
            update = p4r.Update(type=_INSERT if rng.random() < 0.95 else rng.choice((_MODIFY, _DELETE)))
            self._fill(update.entity.table_entry)
            self._made.append(p4r.TableEntry())
            self._made[-1].CopyFrom(update.entity.table_entry)
            if len(self._made) > 300:
                del self._made[rng.randrange(300)]
        if rng.random() < _INVALID:
            wrong = rng.choice(_WRONGS)
            said = wrong(self, update)
            return update, said
        return update, ""

    def _default(self) -> p4r.Update:
        table = self._rng.choice(self._direct or self._all_tables)
        update = p4r.Update(type=_MODIFY)
        entry = update.entity.table_entry
        entry.table_id, entry.is_default_action = table.preamble.id, True
        self._act(entry)
        return update

    def _fill(self, entry: p4r.TableEntry) -> None:
        rng, pool = self._rng, self._pool
        if not self._tables:
            return
        table = rng.choice(self._tables)
        entry.table_id = table.preamble.id
        ordered = False
        for field in table.match_fields:
            bits, top = field.bitwidth, (1 << field.bitwidth) - 1
            value = self._value(bits)
            match field.match_type:
                case p4i.MatchField.EXACT:
                    entry.match.add(field_id=field.id).exact.value = encode(value)
                case p4i.MatchField.LPM:
                    length = rng.choice((bits, rng.randrange(bits + 1)))
                    value &= top ^ top >> length
                    if length:
                        prefix = entry.match.add(field_id=field.id).lpm
                        prefix.value, prefix.prefix_len = encode(value), length
                case p4i.MatchField.TERNARY:
                    ordered = True
                    mask = rng.choice((top, pool.value(bits), top ^ top >> rng.randrange(bits + 1), 0))
                    value &= mask
                    if mask:
                        ternary = entry.match.add(field_id=field.id).ternary
                        ternary.value, ternary.mask = encode(value), encode(mask)
                case p4i.MatchField.RANGE:
                    ordered = True
                    low, high = sorted((value, pool.value(bits)))
                    if (low, high) == (0, 255) != (0, top):
                        low = 1  # PI takes 0..255 for "any value" of a field of any width, and refuses it
                    if (low, high) != (0, top):
                        between = entry.match.add(field_id=field.id).range
                        between.low, between.high = encode(low), encode(high)
                case _:
                    ordered = True
                    if rng.random() < 0.7:
                        entry.match.add(field_id=field.id).optional.value = encode(value)
            pool.add(value, bits)
        if ordered:
            # Each its own: which of two of one priority wins, the specification leaves open.
            self._priority += 1
            entry.priority = self._priority if rng.random() < 0.5 else (1 << 24) - self._priority
        self._act(entry)

    def _act(self, entry: p4r.TableEntry) -> None:
        table = self._table_of(entry)
        if table is None or not table.action_refs:
            return
        if table.implementation_id:
            entry.action.Clear()
            self.profiles.point(entry.action, table)
            return
        unfit = p4i.ActionRef.TABLE_ONLY if entry.is_default_action else p4i.ActionRef.DEFAULT_ONLY
        references = [action_ref for action_ref in table.action_refs if action_ref.scope != unfit] or list(
            table.action_refs
        )
        action = self._actions[self._rng.choice(references).id]
        entry.action.Clear()
        self._call(entry.action.action, action)

    def _call(self, call: p4r.Action, action: p4i.Action) -> None:
        call.action_id = action.preamble.id
        for parameter in action.params:
            value = self._value(parameter.bitwidth)
            # A later table may match on it.
            self._pool.add(value, parameter.bitwidth)
            call.params.add(param_id=parameter.id, value=encode(value))

    def _value(self, bits: int) -> int:
        """Return a value; a field as wide as a port often gets a port."""
        if bits == _PORT_BITS and self._rng.random() < 0.8:
            return self._rng.choice((*self._ports, *self._ports, CPU_PORT, _DROP_PORT))
        return self._pool.value(bits)

    def _table_of(self, entry: p4r.TableEntry) -> p4i.Table | None:
        return next(
            (all_table for all_table in self._all_tables if all_table.preamble.id == entry.table_id), None
        )

    # -- one way to be wrong each; a method leaves the update as it is where there is nothing to spoil

    def _wrong_id(self, update: p4r.Update) -> str:
        entry = update.entity.table_entry
        which = self._rng.randrange(4)
        if which == 0:
            entry.table_id ^= 1 << self._rng.randrange(32)
            return "unknown table"
        if which == 1:
            entry.action.action.action_id ^= 1 << self._rng.randrange(32)
            return "unknown action"
        if which == 2 and entry.match:
            self._rng.choice(entry.match).field_id += self._rng.choice((1, 100))
            return "unknown match field"
        if entry.action.action.params:
            self._rng.choice(entry.action.action.params).param_id += self._rng.choice((1, 100))
        return "unknown parameter"

    def _wrong_value(self, update: p4r.Update) -> str:
        """One byte string spoilt."""
        entry = update.entity.table_entry
        held: list[tuple[Any, str, int]] = []
        table = self._table_of(entry)
        widths = {field.id: field.bitwidth for field in table.match_fields} if table else {}
        for match in entry.match:
            which = match.WhichOneof("field_match_type")
            if which is not None:
                message = getattr(match, which)
                names = [field.name for field in message.DESCRIPTOR.fields if field.name != "prefix_len"]
                held += [(message, name, widths.get(match.field_id, 8)) for name in names]
        action = self._actions.get(entry.action.action.action_id)
        for parameter in entry.action.action.params:
            for item in action.params if action else ():
                if item.id == parameter.param_id:
                    held.append((parameter, "value", item.bitwidth))
        if not held:
            return ""
        message, name, bits = self._rng.choice(held)
        value: bytes = getattr(message, name)
        which = self._rng.randrange(4)
        if which == 0:
            setattr(message, name, b"")
            return "empty value"
        if which == 1:
            setattr(message, name, b"\0" + value)
            return "value with a zero in front"
        if which == 2:
            setattr(message, name, encode(1 << bits | int.from_bytes(value)))
            return "value one bit too wide"
        setattr(message, name, b"\1" + bytes(bits // 8 + 1))
        return "value bytes too wide"

    def _wrong_match(self, update: p4r.Update) -> str:
        entry, rng = update.entity.table_entry, self._rng
        if not entry.match:
            return ""
        field = rng.choice(entry.match)
        which = rng.randrange(4)
        if which == 0:
            entry.match.add().CopyFrom(field)
            return "field given twice"
        if which == 1:
            entry.match.remove(field)
            return "field left out"
        if which == 2:
            kind = field.WhichOneof("field_match_type")
            if kind == "exact":
                field.ternary.value, field.ternary.mask = field.exact.value, field.exact.value
            else:
                field.exact.value = b"\1"
            return "field of another kind"
        return self._wrong_don_t_care(field)

    def _wrong_don_t_care(self, field: p4r.FieldMatch) -> str:
        """Bits that do not matter, or a match of anything that should have been left out."""
        rng, kind = self._rng, field.WhichOneof("field_match_type")
        if kind == "lpm":
            if rng.random() < 0.5:
                field.lpm.prefix_len = rng.choice((0, -1, 1000))
                return f"prefix length {field.lpm.prefix_len}"
            field.lpm.value, field.lpm.prefix_len = b"\1", 1
            return "bits behind the prefix"
        if kind == "ternary":
            if rng.random() < 0.5:
                field.ternary.value, field.ternary.mask = b"\0", b"\0"
                return "mask 0"
            field.ternary.value, field.ternary.mask = b"\1", b"\2"
            return "bits outside the mask"
        if kind == "range":
            field.range.low, field.range.high = b"\2", b"\1"
            return "range from 2 to 1"
        field.ClearField(kind or "exact")
        return "field without a value"

    def _wrong_priority(self, update: p4r.Update) -> str:
        entry = update.entity.table_entry
        entry.priority = self._rng.choice((-1, -(1 << 31), (1 << 31) - 1, 0 if entry.priority else 7))
        return f"priority {entry.priority}"

    def _wrong_action(self, update: p4r.Update) -> str:
        entry, rng = update.entity.table_entry, self._rng
        which = rng.randrange(5)
        if which == 0:
            entry.ClearField("action")
            return "no action"
        if which == 1:
            other = rng.choice(list(self._actions.values()))
            entry.action.action.Clear()
            entry.action.action.action_id = other.preamble.id
            for parameter in other.params:
                entry.action.action.params.add(param_id=parameter.id, value=b"\1")
            return "action of any table"
        if which == 2 and entry.action.action.params:
            del entry.action.action.params[rng.randrange(len(entry.action.action.params))]
            return "parameter left out"
        if which == 3 and entry.action.action.params:
            entry.action.action.params.add().CopyFrom(rng.choice(entry.action.action.params))
            return "parameter given twice"
        entry.action.action_profile_member_id = 1
        return "member of no profile"

    def _wrong_kind(self, update: p4r.Update) -> str:
        which = self._rng.randrange(5)
        if which == 0:
            update.type = p4r.Update.UNSPECIFIED
            return "no update type"
        if which == 1:
            update.type = self._rng.choice((_INSERT, _MODIFY, _DELETE))
            return "another update type"
        if which == 2:
            update.entity.table_entry.is_default_action ^= True
            return "default or not"
        if which == 3:
            update.ClearField("entity")
            return "no entity"
        update.entity.table_entry.is_const = True
        return "is_const"


_WRONGS: tuple[Callable[[UpdateMaker, p4r.Update], str], ...] = (
    UpdateMaker._wrong_id,
    UpdateMaker._wrong_value,
    UpdateMaker._wrong_value,
    UpdateMaker._wrong_match,
    UpdateMaker._wrong_match,
    UpdateMaker._wrong_priority,
    UpdateMaker._wrong_action,
    UpdateMaker._wrong_kind,
)


def encode(value: int) -> bytes:
    """The canonical byte string of a number."""
    return value.to_bytes((value.bit_length() + 7) // 8 or 1)

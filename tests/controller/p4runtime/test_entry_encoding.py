# SPDX-License-Identifier: Apache-2.0
"""Serialised entries are those of protocol buffers: same messages, also in canonical form."""

import random
from dataclasses import replace
from typing import Any

import pytest
from finsy.proto import p4i, p4r

from controller.errors import InstallError
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry, Exact, Lpm, Match, Optional, Range, Ternary
from controller.plan.updates import Kind
from tests.controller.p4runtime.match_types import MATCH_TYPES

_WIDTHS = (1, 7, 8, 9, 31, 32, 48, 63, 64, 65, 128, 1100)


def _info() -> P4Info:
    """Return a p4info whose table and action have a field of every width, the table one of every kind too."""
    table = p4i.Table(preamble=p4i.Preamble(id=0x2000001, name="table", alias="table"))
    action = p4i.Action(preamble=p4i.Preamble(id=0x1FFFFFF, name="action", alias="action"))
    table.action_refs.add(id=action.preamble.id)
    numbers = iter(range(1, 1000))
    for bits in _WIDTHS:
        action.params.add(id=bits, name=f"p{bits}", bitwidth=bits)
        for kind, match_type in MATCH_TYPES.items():
            name = f"{kind.__name__}{bits}"
            table.match_fields.add(id=next(numbers), name=name, bitwidth=bits, match_type=match_type)
    return P4Info(p4i.P4Info(tables=[table], actions=[action]))


_INFO = _info()


def _canonical(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8 or 1)


def _expected(entry: Entry) -> p4r.TableEntry:
    """Return the message of an entry, built field by field."""
    message = p4r.TableEntry(
        table_id=0x2000001, priority=entry.priority, is_default_action=entry.default, match=[]
    )
    fields = {field.name: field.id for field in _INFO.message.tables[0].match_fields}
    for name, match in entry.match:
        field = message.match.add(field_id=fields[name])
        if isinstance(match, Exact):
            field.exact.value = _canonical(match.value)
        elif isinstance(match, Optional):
            field.optional.value = _canonical(match.value)
        elif isinstance(match, Lpm):
            field.lpm.value, field.lpm.prefix_len = _canonical(match.value), match.prefix
        elif isinstance(match, Ternary):
            field.ternary.value, field.ternary.mask = _canonical(match.value), _canonical(match.mask)
        else:
            field.range.low, field.range.high = _canonical(match.low), _canonical(match.high)
    calls = [
        p4r.Action(
            action_id=0x1FFFFFF,
            params=[
                p4r.Action.Param(param_id=int(name[1:]), value=_canonical(value)) for name, value in params
            ],
        )
        for params in entry.members or (entry.params,)
    ]
    if entry.members:
        actions = message.action.action_profile_action_set.action_profile_actions
        actions.extend(p4r.ActionProfileAction(action=call, weight=1) for call in calls)
    else:
        message.action.action.CopyFrom(calls[0])
    return message


def _entry(dice: random.Random) -> Entry:
    def number(bits: int) -> int:
        return dice.getrandbits(bits) >> dice.randrange(bits)

    def match(kind: type[Match], bits: int) -> Match:
        if kind is Lpm:
            return Lpm(number(bits), dice.randrange(bits + 1))
        if kind is Ternary or kind is Range:
            return kind(number(bits), number(bits))
        return kind(number(bits))  # type: ignore[call-arg]

    def params() -> tuple[tuple[str, int], ...]:
        return tuple((f"p{bits}", number(bits)) for bits in _WIDTHS)

    chosen = dice.sample([(kind, bits) for kind in MATCH_TYPES for bits in _WIDTHS], dice.randrange(1, 20))
    members = tuple(params() for _ in range(dice.choice((0, 0, 1, 3))))
    return Entry(
        "table",
        tuple((f"{kind.__name__}{bits}", match(kind, bits)) for kind, bits in chosen),
        "action",
        () if members else params(),
        priority=dice.choice((0, 1, 127, 128, (1 << 31) - 1)),
        members=members,
        default=dice.random() < 0.1,
    )


@pytest.mark.parametrize("seed", range(40))
def test_an_update_is_the_serialised_message(seed: int) -> None:
    entry = _entry(random.Random(seed))
    kinds: dict[Kind, Any] = {"insert": p4r.Update.INSERT, "modify": p4r.Update.MODIFY}
    for kind, type in kinds.items():
        update = p4r.Update(type=type, entity=p4r.Entity(table_entry=_expected(entry)))
        wanted = p4r.WriteRequest(updates=[update])
        sent = _INFO.encode_update(kind, entry)
        assert p4r.WriteRequest.FromString(sent) == wanted
        assert sent == wanted.SerializeToString()
    deletion = p4r.Update(type=p4r.Update.DELETE, entity=p4r.Entity(table_entry=_expected(entry)))
    deletion.entity.table_entry.ClearField("action")
    assert _INFO.encode_update("delete", entry) == p4r.WriteRequest(updates=[deletion]).SerializeToString()


def test_updates_that_install_entries_are_those_of_each_entry() -> None:
    dice = random.Random(1)
    entries = [_entry(dice) for _ in range(60)]
    entries += [replace(dice.choice(entries), priority=0) for _ in range(60)]
    kinds: list[Kind] = ["modify" if entry.default else "insert" for entry in entries]
    wanted = b"".join(map(_INFO.encode_update, kinds, entries))
    assert _info().encode_installing(entries) == wanted  # nothing is known from before
    assert _INFO.encode_installing(entries) == wanted
    assert _INFO.encode_installing(()) == b""


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Entry("table", (("Exact9", Exact(512)),), "action"), "Exact9 = 0x200 does not fit in 9 bits"),
        (Entry("table", (("Lpm8", Lpm(-1, 8)),), "action"), "Lpm8 = -0x1 does not fit in 8 bits"),
        (Entry("table", (("Ternary1", Ternary(0, 2)),), "action"), "Ternary1 mask = 0x2 does not fit"),
        (Entry("table", (), "action", priority=-1), r"priority -1 is not within 1\.\."),
        (Entry("table", (), "action", priority=1 << 31), "priority 2147483648 is not within"),
    ],
)
def test_what_no_message_can_carry_is_refused(entry: Entry, message: str) -> None:
    with pytest.raises(InstallError, match=message):
        _INFO.encode_update("delete", entry)
    with pytest.raises(InstallError):
        _INFO.encode_installing([entry])

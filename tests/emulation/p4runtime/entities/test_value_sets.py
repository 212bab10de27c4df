# SPDX-License-Identifier: Apache-2.0
"""Parser value sets: what is a member takes the transition."""

import pytest
from finsy.proto import p4r

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.every_entity import COUNTED, ID, flow, frame, ternary, value_set
from tests.emulation.p4runtime.messages import refusals

SPECIAL, PLAIN = 9, 1


def way(bench: Bench, number: int) -> int:
    """The port that tells whether a frame of this flow was special."""
    return bench.ask(frame(COUNTED, 0, number))[0][0]


def test_members_take_the_transition(full: Controller, bench: Bench) -> None:
    assert way(bench, 7) == PLAIN
    full.write(("MODIFY", value_set([ternary(COUNTED, 0xFF), flow(7)], [flow(0x1234)])))
    assert [way(bench, number) for number in (7, 8, 0x1234)] == [SPECIAL, PLAIN, SPECIAL]
    full.write(("MODIFY", value_set([ternary(COUNTED + 1, 0xFF), flow(7)])))
    assert [way(bench, number) for number in (7, 0x1234)] == [PLAIN, PLAIN]
    full.write(("MODIFY", value_set()))
    assert full.read(value_set()) == [value_set()]


def test_members_are_read_in_canonical_form(full: Controller) -> None:
    long = p4r.FieldMatch(field_id=2, exact=p4r.FieldMatch.Exact(value=b"\0\0\x07"))
    full.write(("MODIFY", value_set([long, ternary(1, 0xFF)], [long])))
    expected = [value_set([ternary(1, 0xFF), flow(7)], [flow(7)])]
    assert full.read(value_set()) == expected
    assert full.read(p4r.Entity(value_set_entry=p4r.ValueSetEntry())) == expected


@pytest.mark.parametrize(
    ("code", "kind", "bad"),
    [
        ("INVALID_ARGUMENT", "INSERT", value_set([flow(1)])),
        ("INVALID_ARGUMENT", "DELETE", value_set()),
        ("INVALID_ARGUMENT", "MODIFY", p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=5))),
        ("RESOURCE_EXHAUSTED", "MODIFY", value_set(*([flow(number)] for number in range(4)))),
        ("ALREADY_EXISTS", "MODIFY", value_set([flow(1)], [flow(1)])),
        ("INVALID_ARGUMENT", "MODIFY", value_set([])),
        ("INVALID_ARGUMENT", "MODIFY", value_set([flow(1), flow(2)])),
        ("INVALID_ARGUMENT", "MODIFY", value_set([flow(1), ternary(1, 0)])),
        ("OUT_OF_RANGE", "MODIFY", value_set([flow(1 << 16)])),
        ("INVALID_ARGUMENT", "MODIFY", value_set([flow(1), p4r.FieldMatch(field_id=3)])),
    ],
    ids=lambda value: " ".join(str(value).split()) if isinstance(value, p4r.Entity) else value,
)
def test_bad_update_is_refused_and_changes_nothing(
    full: Controller, bench: Bench, code: str, kind: str, bad: p4r.Entity
) -> None:
    full.write(("MODIFY", value_set([flow(7)])))
    assert refusals(lambda: full.write((kind, bad))) == [code]
    assert full.read(value_set()) == [value_set([flow(7)])]
    assert way(bench, 7) == SPECIAL


def test_unknown_value_set(full: Controller) -> None:
    wanted = p4r.Entity(value_set_entry=p4r.ValueSetEntry(value_set_id=ID["ageing"]))
    assert refusals(lambda: full.read(wanted)) == ["INVALID_ARGUMENT"]

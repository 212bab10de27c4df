# SPDX-License-Identifier: Apache-2.0
"""Action profiles and selectors: members, groups, action sets, their limits, and frames that follow them."""

from collections import Counter

import pytest
from finsy.proto import p4r

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.every_entity import (
    BY_PROFILE,
    BY_SELECTOR,
    BY_WEIGHT,
    ID,
    act,
    entry,
    frame,
    group,
    key,
    member,
    one_shot,
    to,
    to_group,
    to_member,
    whole,
)
from tests.emulation.p4runtime.messages import refusals

FLOWS = range(2000)


def ports(bench: Bench, kind: int, value: int = 1) -> Counter[int]:
    """Count the flows that leave by each port; port 0 counts dropped flows."""
    seen: Counter[int] = Counter()
    for flow in FLOWS:
        out = bench.ask(frame(kind, value, flow))
        seen[out[0][0] if out else 0] += 1
    return seen


def test_entries_of_one_member_change_with_it(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", member("next_hops", 7, to(3))))
    full.write(
        ("INSERT", entry("by_profile", 1, to_member(7))), ("INSERT", entry("by_profile", 2, to_member(7)))
    )
    assert [bench.ask(frame(BY_PROFILE, value))[0][0] for value in (1, 2)] == [3, 3]
    full.write(("MODIFY", member("next_hops", 7, act("mark", 4, 99))))
    assert [bench.ask(frame(BY_PROFILE, value)) for value in (1, 2)] == [
        [(4, frame(BY_PROFILE, value, result=99))] for value in (1, 2)
    ]
    assert full.read(member("next_hops")) == [member("next_hops", 7, act("mark", 4, 99))]


def test_entry_moves_to_another_member(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", member("next_hops", 1, to(3))), ("INSERT", member("next_hops", 2, to(4))))
    full.write(("INSERT", entry("by_profile", 1, to_member(1))))
    full.write(("MODIFY", entry("by_profile", 1, to_member(2))))
    assert bench.ask(frame(BY_PROFILE, 1))[0][0] == 4
    assert full.read(whole("by_profile")) == [entry("by_profile", 1, to_member(2))]
    full.write(("DELETE", member("next_hops", 1)))
    full.write(("DELETE", p4r.Entity(table_entry=key("by_profile", 1))))
    full.write(("DELETE", member("next_hops", 2)))
    assert full.read(member("")) == []


def test_a_group_spreads_flows_by_weight(full: Controller, bench: Bench) -> None:
    members = [("INSERT", member("paths", port, to(port))) for port in (2, 3)]
    full.write(*members)
    full.write(("INSERT", group("paths", 2, (2, 1), (3, 3))))
    full.write(("INSERT", entry("by_selector", 1, to_group(2))))
    seen = ports(bench, BY_SELECTOR)
    assert set(seen) == {2, 3}
    assert 0.65 < seen[3] / len(FLOWS) < 0.85
    full.write(("MODIFY", group("paths", 2, (2, 1))))
    assert ports(bench, BY_SELECTOR) == {2: len(FLOWS)}
    full.write(("MODIFY", entry("by_selector", 1, to_member(3))))
    assert ports(bench, BY_SELECTOR) == {3: len(FLOWS)}


def test_wildcard_reads(full: Controller) -> None:
    written = [member("next_hops", 1, to(1)), member("paths", 1, to(2)), member("paths", 2, to(3))]
    groups = [group("paths", 1, (1, 1), (2, 1), max_size=3), group("paths", 9, (1, 2))]
    full.write(*(("INSERT", item) for item in written))
    full.write(*(("INSERT", group) for group in groups))
    assert full.read(member("")) == written
    assert full.read(member("paths")) == written[1:]
    assert full.read(member("paths", 2)) == written[2:]
    assert full.read(member("paths", 5)) == []
    assert full.read(group("")) == groups
    assert full.read(group("paths", 9)) == groups[1:]
    assert full.read(group("next_hops")) == []


def test_action_set_is_read_as_it_was_written(full: Controller, bench: Bench) -> None:
    """Two actions that are the same stay two."""
    written = entry("by_selector", 1, one_shot((to(2), 1), (to(2), 1), (to(3), 2)), metadata=b"note")
    full.write(("INSERT", written))
    assert full.read(whole("by_selector")) == [written]
    assert full.read(member("")) == full.read(group("")) == []
    seen = ports(bench, BY_SELECTOR)
    assert set(seen) == {2, 3}
    assert 0.35 < seen[2] / len(FLOWS) < 0.65
    changed = entry("by_selector", 1, one_shot((act("mark", 4, 5), 4)))
    full.write(("MODIFY", changed))
    assert full.read(whole("by_selector")) == [changed]
    assert ports(bench, BY_SELECTOR) == {4: len(FLOWS)}


def test_action_sets_that_are_gone_leave_no_trace(full: Controller) -> None:
    """Their members and groups would fill the selector: 4 of 16 each."""
    for _ in range(20):
        full.write(("INSERT", entry("by_selector", 1, one_shot((to(2), 2), (to(3), 2)))))
        full.write(("MODIFY", entry("by_selector", 1, one_shot((to(3), 4)))))
        full.write(("DELETE", p4r.Entity(table_entry=key("by_selector", 1))))
    # With none left the selector can be programmed the other way.
    full.write(("INSERT", member("paths", 1, to(2))))


def test_one_way_or_the_other(full: Controller) -> None:
    full.write(("INSERT", entry("by_selector", 1, one_shot((to(2), 1)))))
    assert refusals(lambda: full.write(("INSERT", member("paths", 1, to(2))))) == ["INVALID_ARGUMENT"]
    full.write(("INSERT", member("weighted", 1, to(2))))
    mixed = entry("by_weight", 1, one_shot((to(2), 1)))
    assert refusals(lambda: full.write(("INSERT", mixed))) == ["INVALID_ARGUMENT"]


def test_selection_mode_and_size_semantics_may_repeat_the_selectors(full: Controller) -> None:
    written = entry("by_weight", 1, one_shot((to(2), 1)))
    chosen = written.table_entry.action.action_profile_action_set
    chosen.action_selection_mode, chosen.size_semantics = chosen.HASH, chosen.SUM_OF_MEMBERS
    full.write(("INSERT", written))
    assert full.read(whole("by_weight")) == [written]
    chosen.action_selection_mode = chosen.RANDOM
    assert refusals(lambda: full.write(("MODIFY", written))) == ["UNIMPLEMENTED"]
    chosen.action_selection_mode, chosen.size_semantics = chosen.HASH, chosen.SUM_OF_WEIGHTS
    assert refusals(lambda: full.write(("MODIFY", written))) == ["UNIMPLEMENTED"]


def test_members_that_watch_a_port_that_is_down_are_left_out(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", member("paths", 1, to(2))), ("INSERT", member("paths", 2, to(3))))
    watching = group("paths", 1, (1, 1), (2, 1))
    watching.action_profile_group.members[0].watch_port = b"\x02"
    watching.action_profile_group.members[1].watch = 3
    full.write(("INSERT", watching))
    full.write(("INSERT", entry("by_selector", 1, to_group(1))))
    full.write(("INSERT", entry("by_weight", 1, one_shot((to(2), 1), (to(4), 1), watch_port=b"\x02"))))
    assert (set(ports(bench, BY_SELECTOR)), set(ports(bench, BY_WEIGHT))) == ({2, 3}, {2, 4})
    bench.server.deliver(("port", 0, 0, 2, False, b""))
    assert (set(ports(bench, BY_SELECTOR)), set(ports(bench, BY_WEIGHT))) == ({3}, {4})
    assert full.read(group("paths")) == [watching]
    bench.server.deliver(("port", 0, 0, 2, True, b""))
    assert (set(ports(bench, BY_SELECTOR)), set(ports(bench, BY_WEIGHT))) == ({2, 3}, {2, 4})


@pytest.fixture
def used(full: Controller) -> Controller:
    """Members 1 to 3 and group 1 of `paths`, member 1 of `next_hops`, and entries on them."""
    full.write(
        *(("INSERT", member("paths", id, to(id))) for id in (1, 2, 3)),
        ("INSERT", member("next_hops", 1, to(1))),
    )
    full.write(("INSERT", group("paths", 1, (1, 1), (2, 1), max_size=3)))
    full.write(
        ("INSERT", entry("by_selector", 1, to_group(1))),
        ("INSERT", entry("by_selector", 2, to_member(3))),
        ("INSERT", entry("by_profile", 1, to_member(1))),
    )
    return full


@pytest.mark.parametrize(
    ("code", "kind", "bad"),
    [
        ("INVALID_ARGUMENT", "INSERT", member("", 1, to(1))),
        ("INVALID_ARGUMENT", "INSERT", member("paths", 0, to(1))),
        ("INVALID_ARGUMENT", "INSERT", member("paths", 4)),
        ("INVALID_ARGUMENT", "INSERT", member("paths", 4, act("drop"))),
        ("PERMISSION_DENIED", "INSERT", member("paths", 4, act("NoAction"))),
        ("OUT_OF_RANGE", "INSERT", member("paths", 4, to(1 << 9))),
        ("ALREADY_EXISTS", "INSERT", member("paths", 1, to(1))),
        ("NOT_FOUND", "MODIFY", member("paths", 4, to(1))),
        ("INVALID_ARGUMENT", "MODIFY", member("paths", 1)),
        ("NOT_FOUND", "DELETE", member("paths", 4)),
        ("FAILED_PRECONDITION", "DELETE", member("paths", 1)),
        ("FAILED_PRECONDITION", "DELETE", member("paths", 3)),
        ("FAILED_PRECONDITION", "DELETE", member("next_hops", 1)),
        ("INVALID_ARGUMENT", "INSERT", group("next_hops", 1, (1, 1))),
        ("INVALID_ARGUMENT", "INSERT", group("paths", 0, (1, 1))),
        ("ALREADY_EXISTS", "INSERT", group("paths", 1, (1, 1))),
        ("NOT_FOUND", "INSERT", group("paths", 2, (9, 1))),
        ("INVALID_ARGUMENT", "INSERT", group("paths", 2, (1, 1), (1, 1))),
        ("INVALID_ARGUMENT", "INSERT", group("paths", 2, (1, 0))),
        ("INVALID_ARGUMENT", "INSERT", group("paths", 2, (1, -1))),
        ("INVALID_ARGUMENT", "INSERT", group("paths", 2, (1, 1), max_size=5)),
        ("INVALID_ARGUMENT", "INSERT", group("paths", 2, (1, 1), max_size=-1)),
        ("RESOURCE_EXHAUSTED", "INSERT", group("paths", 2, (1, 5))),
        ("RESOURCE_EXHAUSTED", "INSERT", group("paths", 2, (1, 1), (2, 1), max_size=1)),
        ("NOT_FOUND", "MODIFY", group("paths", 2, (1, 1))),
        ("INVALID_ARGUMENT", "MODIFY", group("paths", 1, (1, 1), max_size=4)),
        ("RESOURCE_EXHAUSTED", "MODIFY", group("paths", 1, (1, 4), max_size=3)),
        ("NOT_FOUND", "DELETE", group("paths", 2)),
        ("FAILED_PRECONDITION", "DELETE", group("paths", 1)),
        ("INVALID_ARGUMENT", "INSERT", entry("by_profile", 3, to(1))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_profile", 3, one_shot((to(1), 1)))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_profile", 3, to_group(1))),
        ("NOT_FOUND", "INSERT", entry("by_profile", 3, to_member(2))),
        ("NOT_FOUND", "INSERT", entry("by_selector", 3, to_group(2))),
        ("NOT_FOUND", "INSERT", entry("by_selector", 3, to_member(0))),
        ("NOT_FOUND", "MODIFY", entry("by_selector", 3, to_member(1))),
        ("ALREADY_EXISTS", "INSERT", entry("by_selector", 1, to_member(1))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_selector", 3, p4r.TableAction())),
        ("INVALID_ARGUMENT", "INSERT", entry("ageing", 3, to_member(1))),
        ("PERMISSION_DENIED", "MODIFY", p4r.Entity(table_entry=key("by_profile", is_default_action=True))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_weight", 3, one_shot((to(1), 0)))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_weight", 3, one_shot((to(1), 101)))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_weight", 3, one_shot(*[(to(1), 1)] * 4))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_weight", 3, one_shot((to(1), 1), watch_port=b"\x02\x00"))),
        ("INVALID_ARGUMENT", "INSERT", entry("by_weight", 3, one_shot((act("drop"), 1)))),
    ],
    ids=lambda value: " ".join(str(value).split()) if isinstance(value, p4r.Entity) else value,
)
def test_bad_update_is_refused_and_changes_nothing(
    used: Controller, code: str, kind: str, bad: p4r.Entity
) -> None:
    wanted = (member(""), group(""), whole(), whole(is_default_action=True))
    before = used.read(*wanted)
    assert refusals(lambda: used.write((kind, bad))) == [code]
    assert used.read(*wanted) == before


def test_profile_is_full(full: Controller) -> None:
    full.write(*(("INSERT", member("next_hops", id, to(id))) for id in range(1, 5)))
    assert refusals(lambda: full.write(("INSERT", member("next_hops", 5, to(5))))) == ["RESOURCE_EXHAUSTED"]


def test_size_of_a_selector_counts_weights_or_members(full: Controller) -> None:
    full.write(*(("INSERT", entry("by_selector", value, one_shot((to(1), 4)))) for value in range(4)))
    over = entry("by_selector", 4, one_shot((to(1), 1)))
    assert refusals(lambda: full.write(("INSERT", over))) == ["RESOURCE_EXHAUSTED"]
    full.write(("MODIFY", entry("by_selector", 0, one_shot((to(2), 3)))))
    full.write(("INSERT", over))
    three = one_shot((to(1), 100), (to(2), 100), (to(3), 100))
    full.write(*(("INSERT", entry("by_weight", value, three)) for value in range(2)))
    over = entry("by_weight", 3, one_shot((to(1), 1)))
    assert refusals(lambda: full.write(("INSERT", over))) == ["RESOURCE_EXHAUSTED"]


def test_reads_with_an_id_but_no_profile(full: Controller) -> None:
    assert refusals(lambda: full.read(member("", 1), group("", 1))) == ["INVALID_ARGUMENT"] * 2


def test_default_entry_of_an_indirect_table_is_constant(full: Controller) -> None:
    (read,) = full.read(whole("by_profile", is_default_action=True))
    assert read.table_entry.is_const
    assert read.table_entry.action.action.action_id == ID["NoAction"]


def test_entries_can_be_filtered_by_what_they_point_to(used: Controller) -> None:
    assert used.read(whole("by_selector", action=to_member(3))) == [entry("by_selector", 2, to_member(3))]
    assert used.read(whole("by_selector", action=to_group(1))) == [entry("by_selector", 1, to_group(1))]

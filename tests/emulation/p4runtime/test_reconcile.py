# SPDX-License-Identifier: Apache-2.0
"""A new pipeline in the place of one that runs: what is cleared, what is kept, what stands in the way."""

import json
import threading
from collections.abc import Callable
from typing import Any

import pytest
from finsy.proto import p4i, p4r

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.every_entity import (
    AGEING,
    BY_WEIGHT,
    CONFIG,
    INITIAL,
    act,
    entry,
    frame,
    key,
    to,
    whole,
)
from tests.emulation.p4runtime.messages import refusals, refused
from tests.emulation.p4runtime.test_atomicity import COUNTS, STATE, UNDONE, state


def changed(change: Callable[[dict[str, Any], p4i.P4Info], None]) -> tuple[bytes, p4i.P4Info]:
    """The program and its p4info after a change."""
    program, info = json.loads(CONFIG[0]), p4i.P4Info()
    info.CopyFrom(CONFIG[1])
    change(program, info)
    return json.dumps(program).encode(), info


def table_of(info: p4i.P4Info, name: str) -> p4i.Table:
    return next(table for table in info.tables if table.preamble.alias == name)


def test_all_is_kept_under_the_same_pipeline(full: Controller, bench: Bench) -> None:
    full.write(*STATE, *UNDONE)
    constant = key("fixed", 0x10, priority=2, counter_data=COUNTS)
    full.write(("MODIFY", p4r.Entity(table_entry=constant)))
    before = state(full)
    full.push(CONFIG, "RECONCILE_AND_COMMIT", cookie=7)
    assert state(full) == before
    assert full.pipeline("COOKIE_ONLY").config.cookie.cookie == 7


def test_what_is_kept_forwards(full: Controller, bench: Bench) -> None:
    full.write(*STATE)
    full.write(("MODIFY", entry("initial", 2, to(5))), ("DELETE", entry("initial", 1, to(1))))
    asked = [frame(AGEING, 1), *(frame(BY_WEIGHT, 1, flow) for flow in range(20)), frame(INITIAL, 2)]
    before = [bench.ask(item) for item in asked]
    assert all(before)
    full.push(CONFIG, "RECONCILE_AND_COMMIT")
    assert [bench.ask(item) for item in asked] == before
    assert bench.ask(frame(INITIAL, 1)) == []


def test_the_first_pipeline(client: Controller) -> None:
    client.push(CONFIG, "RECONCILE_AND_COMMIT")
    assert client.pipeline().config.p4_device_config == CONFIG[0]


def test_tables_and_arrays_may_come_and_go_while_they_are_empty(full: Controller) -> None:
    kept = entry("by_profile", 1, STATE[7][1].table_entry.action)
    full.write(STATE[3], ("INSERT", kept))

    def change(_: dict[str, Any], info: p4i.P4Info) -> None:
        del info.tables[0]  # ageing, with its direct counter and meter
        del info.direct_counters[0], info.direct_meters[0], info.counters[0]

    full.push(changed(change), "RECONCILE_AND_COMMIT")
    assert full.read(whole("by_profile")) == [kept]
    assert refusals(lambda: full.read(whole("ageing"))) == ["INVALID_ARGUMENT"]
    full.push(CONFIG, "RECONCILE_AND_COMMIT")
    assert full.read(whole("by_profile"), whole("ageing")) == [kept]


def without_table(_: dict[str, Any], info: p4i.P4Info) -> None:
    del info.tables[0], info.direct_counters[0], info.direct_meters[0]


def other_key_id(_: dict[str, Any], info: p4i.P4Info) -> None:
    table_of(info, "ageing").match_fields[0].id = 7


def other_parameter_id(_: dict[str, Any], info: p4i.P4Info) -> None:
    next(action for action in info.actions if action.preamble.alias == "metered").params[0].id = 7


def no_room(program: dict[str, Any], _: p4i.P4Info) -> None:
    for table in program["pipelines"][0]["tables"]:
        if table["name"].endswith("ageing"):
            table["max_size"] = 1


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (without_table, "'TestIngress.ageing'"),
        (other_key_id, "'TestIngress.ageing'"),
        (other_parameter_id, "'TestIngress.metered'"),
        (no_room, "'ageing'"),
    ],
)
def test_state_that_cannot_be_kept_stands_in_the_way(
    full: Controller, bench: Bench, change: Callable[[dict[str, Any], p4i.P4Info], None], named: str
) -> None:
    full.write(*STATE, ("INSERT", entry("ageing", 2, act("metered", 2))))
    before = state(full)
    code, message = refused(lambda: full.push(changed(change), "RECONCILE_AND_COMMIT"))
    assert (code, named in message) == ("INVALID_ARGUMENT", True)
    assert state(full) == before
    assert full.pipeline().config.p4_device_config == CONFIG[0]
    assert bench.ask(frame(AGEING, 2))[0][0] == 2


def test_it_takes_a_config(full: Controller) -> None:
    assert refused(lambda: full.push(None, "RECONCILE_AND_COMMIT"))[0] == "INVALID_ARGUMENT"


def test_frames_meet_the_old_pipeline_or_the_new(full: Controller, bench: Bench) -> None:
    """Frames in a thread of their own while the pipeline is replaced: none is lost on the way."""
    full.write(("INSERT", entry("ageing", 1, act("metered", 5))))
    stop, lost = threading.Event(), 0

    def traffic() -> None:
        nonlocal lost
        while not stop.is_set():
            with bench.lock:
                lost += bench.network.process(0, 0, frame(AGEING, 1)) != [(5, frame(AGEING, 1))]

    thread = threading.Thread(target=traffic)
    thread.start()
    try:
        for _ in range(10):
            full.push(CONFIG, "RECONCILE_AND_COMMIT")
    finally:
        stop.set()
        thread.join()
    assert lost == 0

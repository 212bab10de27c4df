# SPDX-License-Identifier: Apache-2.0
"""Carrier changes, each told once."""

import select
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulation.linux.watch import CarrierWatch
from emulation.mininet.links.endpoints import Endpoint
from tests.emulation.mininet.benches import Bench, no_rights, until

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with Bench(4, tmp_path) as bench:
        yield bench


def gather(watch: CarrierWatch, count: int) -> list[tuple[str, bool]]:
    """As many changes; and then no more come at once."""
    result: list[tuple[str, bool]] = []
    until(lambda: len(result.__iadd__(watch.take())) >= count)
    assert not select.select([watch], [], [], 0.05)[0] or watch.take() == []
    return result


def test_a_cut_and_its_end(bench: Bench) -> None:
    bench.connect(0, 1)
    bench.connect(2, 3)
    bench.cross_connect.set_carrier("j0", "j1", False)
    assert select.select([bench.watch], [], [], 5)[0]
    assert sorted(gather(bench.watch, 2)) == [("d0", False), ("d1", False)]
    bench.cross_connect.set_carrier("j0", "j1", True)
    assert sorted(gather(bench.watch, 2)) == [("d0", True), ("d1", True)]


def test_waiting_for_an_interface_that_has_a_carrier_ends_at_once(bench: Bench) -> None:
    bench.connect(0, 1)
    watch = CarrierWatch(bench.devices)
    watch.await_up(["d0", "d1"], 0.0)
    watch.close()


def test_what_is_no_change_of_carrier(bench: Bench) -> None:
    bench.connect(0, 1)
    subprocess.run(["ip", "-n", bench.devices, "link", "set", "d0", "alias", "x", "mtu", "2000"], check=True)
    subprocess.run(["ip", "-n", bench.devices, "link", "set", "d0", "promisc", "on"], check=True)
    assert select.select([bench.watch], [], [], 5)[0]
    assert bench.watch.take() == []


def test_interfaces_that_come_and_go(bench: Bench) -> None:
    bench.cross_connect.add([Endpoint("x", "x", bench.devices, "x", 1500)])
    bench.cross_connect.connect("j0", "x")
    assert sorted(gather(bench.watch, 2)) == [("d0", True), ("x", True)]
    bench.cross_connect.close()
    assert sorted(gather(bench.watch, 2)) == [("d0", False), ("x", False)]


def test_a_watch_begins_with_how_it_is(bench: Bench) -> None:
    bench.connect(0, 1)
    watch = CarrierWatch(bench.devices)
    bench.cross_connect.set_carrier("j0", "j1", False)
    assert sorted(gather(watch, 2)) == [("d0", False), ("d1", False)]
    watch.close()


def test_more_changes_than_there_is_room_for(bench: Bench) -> None:
    bench.connect(0, 1)
    bench.connect(2, 3)
    watch = CarrierWatch(bench.devices, buffer_bytes=2304)
    for _ in range(40):
        for up in (False, True):
            bench.cross_connect.set_carrier("j0", "j1", up)
            bench.carriers()
            until(lambda up=up: ("d0" in bench.carriers()) is up)
    bench.cross_connect.set_carrier("j2", "j3", False)
    until(lambda: "d2" not in bench.carriers())
    overflowed = len(gather(watch, 2)) < 2 * 80 + 2
    assert overflowed  # else there was room after all, and this shows nothing
    assert {name for name, up in watch._known.values() if up} == {"d0", "d1"}
    watch.close()

# SPDX-License-Identifier: Apache-2.0
"""Places of lost frames, computed from the counts of endpoints and programs."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from emulation.mininet.agents.driver import Pace
from emulation.mininet.agents.measure import Between, Lost, lost, usage
from emulation.mininet.links.cabling import endpoint_at
from emulation.mininet.links.carried import Span
from emulation.mininet.links.counters import EndpointCounters
from emulation.testbed import SwitchReport
from topologies import HOST_PORT, End, Fabric
from topologies.families.full_mesh import full_mesh

NOTHING = EndpointCounters(*(0 for _ in EndpointCounters.__slots__))
QUIET = SwitchReport({}, 0, 0)


def found(
    fabric: Fabric,
    after: Mapping[str, EndpointCounters],
    struck: set[End],
    paces: Mapping[str, Pace] | None = None,
    /,
    **seen: SwitchReport,
) -> Lost:
    endpoints = [f"{node.name}:{port.number}" for node in fabric.nodes for port in node.ports]
    endpoints += [f"{node.name}:host" for node in fabric.nodes]
    before = dict.fromkeys(endpoints, NOTHING)
    switches = {node.name: seen.get(node.name, QUIET) for node in fabric.nodes}
    return lost(fabric, Between(before, {**before, **after}), switches, paces or {}, struck)


def places(result: Lost) -> dict[str, int]:
    return {place: count for place, count in result.places.items() if count}


def test_a_link_that_was_down_takes_the_blame_for_its_own() -> None:
    """10 frames were sent, 7 came to the inner side; 1 was dropped at the other side, 2 in between."""
    fabric = full_mesh([2])
    link = fabric.link("npu0-npu1")
    after = {
        "npu0:1": replace(NOTHING, from_frames=7, from_dropped_veth=3),
        "npu1:1": replace(NOTHING, to_frames=4, to_dropped_veth=1),
    }
    # What comes into npu1 has to go on, or it would have been lost there.
    seen = {"npu0": SwitchReport({1: 10}, 0, 10), "npu1": SwitchReport({}, 4, 0)}
    down = found(fabric, after, {link.a, link.b}, **seen)
    assert places(down) == {"fault": 3 + 3, "program": 4}
    assert down.to_dead_links == 3
    up = found(fabric, after, set(), **seen)
    assert places(up) == {"switch queue": 3, "veth": 3 + 1, "program": 4}
    assert up.to_dead_links == 0


def test_frames_that_an_agent_sent_in_vain_are_lost() -> None:
    """An agent sent 5 frames, 2 of which left its interface."""
    fabric = full_mesh([2])
    after = {"npu0:host": replace(NOTHING, from_frames=2), "npu0:0": replace(NOTHING, to_frames=2)}
    late = np.zeros(5)
    paces = {"npu0": Pace(5000, 5000, late, late, refused=0, missed=0)}
    seen = {"npu0": SwitchReport({}, 2, 0)}
    assert places(found(fabric, after, set(), paces, **seen)) == {"veth": 3, "program": 2}
    host = {End("npu0", HOST_PORT)}
    assert places(found(fabric, after, host, paces, **seen)) == {"fault": 3, "program": 2}


def test_a_queue_that_was_full_is_not_the_faults_doing() -> None:
    fabric = full_mesh([2])
    link = fabric.link("npu0-npu1")
    after = {
        "npu0:1": replace(NOTHING, from_frames=9),
        "npu1:1": replace(NOTHING, to_frames=3, to_dropped_queue=4),
    }
    seen = {"npu0": SwitchReport({1: 9}, 0, 9), "npu1": SwitchReport({}, 3, 0)}
    assert places(found(fabric, after, {link.a, link.b}, **seen)) == {
        "link queue": 4,
        "fault": 2,
        "program": 3,
    }


def test_a_loss_on_purpose_is_a_fault_though_the_link_stays_up() -> None:
    fabric = full_mesh([2])
    after = {
        "npu0:1": replace(NOTHING, from_frames=9, from_dropped_filter=5),
        "npu1:1": replace(NOTHING, to_frames=4),
    }
    seen = {"npu0": SwitchReport({1: 9}, 0, 9), "npu1": SwitchReport({}, 4, 0)}
    assert places(found(fabric, after, set(), **seen)) == {"fault": 5, "program": 4}


def test_what_links_carried() -> None:
    fabric = full_mesh([2])
    before = {"npu0:1": NOTHING, "npu1:1": replace(NOTHING, from_frames=5, from_bytes=500)}
    after = {
        "npu0:1": replace(NOTHING, from_frames=7, from_bytes=700),
        "npu1:1": replace(NOTHING, from_frames=8, from_bytes=900, to_frames=6),
    }
    there, back = usage(fabric, Between(before, after))["npu0-npu1"]
    assert (there.frames, there.bytes, there.lost_frames) == (7, 700, 1)
    assert (back.frames, back.bytes, back.lost_frames) == (3, 400, 3)
    assert there.busy_ps == 700 * 8 * 10**12 // fabric.link("npu0-npu1").rate_bps


def test_a_circuit_counts_the_frames_of_its_own_times() -> None:
    """An endpoint counts for all its circuits: 5 frames before one went down, 3 after the next came."""
    fabric = full_mesh([3])
    first, second = fabric.link("npu0-npu1"), fabric.link("npu0-npu2")
    endpoints: dict[str, EndpointCounters] = dict.fromkeys(("npu0:1", "npu1:1", "npu0:2", "npu2:1"), NOTHING)
    assert {endpoint_at(end) for link in (first, second) for end in (link.a, link.b)} == set(endpoints)
    torn = {**endpoints, "npu0:1": replace(NOTHING, from_frames=5), "npu1:1": replace(NOTHING, to_frames=4)}
    after = {**torn, "npu0:1": replace(NOTHING, from_frames=8), "npu1:1": replace(NOTHING, to_frames=7)}
    after["npu0:2"] = replace(NOTHING, from_frames=2)
    spans = [Span(first, None, torn), Span(second, None, torn), Span(second, torn, None)]
    only = replace(fabric, links=(first,))
    result = usage(only, Between(endpoints, after), spans)
    assert (result["npu0-npu1"][0].frames, result["npu0-npu1"][0].lost_frames) == (5, 1)
    assert (result["npu0-npu2"][0].frames, result["npu0-npu2"][0].lost_frames) == (2, 2)

# SPDX-License-Identifier: Apache-2.0
from collections.abc import Callable
from pathlib import Path

import pytest

from controller import Mode, Plan, make_plan
from controller.recovery.notification import Delays, Notification, propagation_ps, spread_over
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from harness.sweeps.cases import sample_pairs
from papers.ub_mesh.figures.recovery import job_pairs
from topologies import full_mesh, ub_rack
from topologies.families.ub_mesh.fabrics import ub_pod

US = 10**6
COSTS = Delays(detect_ps=US, processing_ps=US)
MODES: tuple[Mode, ...] = ("direct", "flooding")


@pytest.fixture(scope="module")
def rack_plan() -> Plan:
    return make_plan(ub_rack())


@pytest.fixture(scope="module")
def shortest_plan() -> Plan:
    return make_plan(ub_rack(), strategy="shortest")


def test_direct_notices_inform_the_watchers_and_flooding_everybody(rack_plan: Plan):
    link = "npu3-npu27"
    direct, flooded = (Notification(rack_plan, mode, COSTS).fail([link]) for mode in MODES)
    assert direct.informed == set(rack_plan.subscribers[link])
    assert (direct.sources, direct.notices, direct.watches, direct.lost) == (22, 2 * 21, 0, 0)
    assert len(flooded.informed) == 64
    # Both ends by 13 ports, everybody else by all but the one the news came by.
    assert flooded.messages == 2 * 13 + 62 * 13
    assert (direct.stranded, flooded.stranded, direct.cut_off) == (0, 0, 0)


@pytest.mark.long
def test_notified_sets_of_a_rack(shortest_plan: Plan, rack_plan: Plan):
    """UB-Mesh, fault notification; the sets are derived here."""

    def sizes(plan: Plan) -> dict[int | None, set[int]]:
        result: dict[int | None, set[int]] = {}
        for link in plan.fabric.links:
            result.setdefault(link.dimension, set()).add(len(plan.subscribers[link.name]))
        return result

    assert sizes(shortest_plan) == {0: {2}, 1: {16}}
    both = spread_over(shortest_plan, 0)
    assert sizes(both) == {0: {16}, 1: {16}}
    x, y = 3, 2  # of the link's ends, in columns 3 and 5 of row 2
    columns = {f"npu{8 * board + slot}" for board in range(8) for slot in (x, 5)}
    assert set(both.subscribers[f"npu{8 * y + x}-npu{8 * y + 5}"]) == columns
    assert sizes(rack_plan) == {0: {22}, 1: {22}}
    assert sizes(spread_over(shortest_plan, 1)) == {0: {64}, 1: {64}}


@pytest.mark.long
def test_within_a_rack_flooding_is_as_early_unless_sources_are_two_hops_away(
    rack_plan: Plan, shortest_plan: Plan
):
    def bare(plan: Plan, delays: Delays) -> tuple[int, int]:
        direct, flooded = (Notification(plan, mode, delays).fail(["npu9-npu13"]) for mode in MODES)
        return propagation_ps(direct, delays), propagation_ps(flooded, delays)

    direct, flooded = bare(rack_plan, COSTS)
    assert US < flooded < direct < 1.01 * US
    direct, flooded = bare(spread_over(shortest_plan, 1), COSTS)
    assert 1.9 < flooded / direct < 2
    queued = Delays(detect_ps=US, processing_ps=US, send_ps=US // 10, queued=True)
    direct, flooded = bare(rack_plan, queued)
    assert flooded < direct


def test_without_processing_direct_notification_takes_one_path_delay(rack_plan: Plan):
    told = Notification(rack_plan, "direct", Delays()).fail(["npu9-npu13"])
    assert 0 < told.repaired_ps < 2 * rack_plan.fabric.links[0].delay_ps


@pytest.mark.long("flooding-all-path", "direct-all-path", "flooding-shortest")
@pytest.mark.parametrize("strategy", ["shortest", "all-path"])
@pytest.mark.parametrize("mode", MODES)
def test_no_source_is_left_on_a_dead_path_by_pairs_of_failures(strategy, mode: Mode):
    plan = make_plan(full_mesh([4, 4]), strategy=strategy)
    links = [link.name for link in plan.fabric.links]
    notification = Notification(plan, mode, COSTS)
    for pair in sample_pairs(links, 40, seed=3):
        for apart in (0, US // 2, 3 * US):
            assert notification.fail(pair, apart).stranded == 0, pair


def test_a_source_beyond_its_candidates_asks_and_is_answered(shortest_plan: Plan):
    notification = Notification(shortest_plan, "direct", COSTS)
    first = notification.fail(["npu0-npu1"])
    assert first.watches == 32
    # npu2-npu1 is on the path that npu0 takes next; it is down, and nobody would have told npu0.
    both = notification.fail(["npu1-npu2", "npu0-npu1"], apart_ps=20 * US)
    assert both.stranded == 0
    assert both.repaired_ps > 20 * US + first.repaired_ps


@pytest.mark.parametrize("mode", MODES)
def test_links_from_rack_to_rack(mode: Mode):
    pod = ub_pod(dims=(2, 2, 2, 2), planes=1, uplink_lanes=4)
    plan = make_plan(pod, peers=job_pairs(pod))
    told = Notification(plan, mode, COSTS)
    across = [link.name for link in pod.links if link.dimension in (2, 3)]
    ran = [told.fail([link]) for link in across]
    assert all((item.stranded, item.cut_off) == (0, 0) for item in ran)
    if mode == "flooding":
        assert {len(item.informed) for item in ran} == {len(pod.nodes)}
    assert {item.repaired_ps // US for item in ran} == ({3} if mode == "direct" else {4})


RACK = """\
name: small
topology: {name: full-mesh, dims: [4, 4]}
collective: {elements: 65536, payload_bytes: 1024}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
faults: [{at_us: 0.5, link: npu0-npu1}]
routing: {notification: MODE, weights: oblivious}
"""


@pytest.mark.parametrize("mode", MODES)
def test_a_run_sees_what_the_controllers_alone_do(write: Callable[[str], Path], mode: Mode):
    (ready,) = prepare(*load(write(RACK.replace("MODE", mode))))
    seen = observe(ready, seed=1).recovery
    delays = Delays(detect_ps=US // 2, processing_ps=US // 2)
    told = Notification(ready.plan, mode, delays).fail(["npu0-npu1"])
    assert seen.notices == told.messages
    assert seen.converged_ps is not None
    # Notices wait for data frames that are being sent.
    assert 0 <= seen.converged_ps - US // 2 - told.repaired_ps < US // 10


POD = """\
name: pod
topology: {name: ub-pod, dims: [2, 2, 2, 2], planes: 1, uplink_lanes: 4, cpus: 0}
collective: {algorithm: dimension-wise, elements: 16384, payload_bytes: 1024}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
transport: {initial_rto_us: 5, min_rto_us: 3}
variants:
  - {name: direct, faults: FAULTS, routing: {strategy: shortest, notification: direct}}
  - {name: flooding, faults: FAULTS, routing: {strategy: shortest, notification: flooding}}
"""


@pytest.mark.long(
    "lrs0p0r0-lrs1p0r0+lrs0p0n1-lrs0p0r1",
    "lrs0p0n0-lrs0p0r0",
    "npu0-npu2+lrs0p0r1-lrs2p0r1",
    "lrs0p0r0-lrs1p0r0",
)
@pytest.mark.parametrize(
    "links",
    [
        ["npu0-npu1"],
        ["lrs0p0n0-lrs0p0r0"],
        ["lrs0p0r0-lrs1p0r0"],
        ["lrs0p0r0-lrs1p0r0", "lrs0p0n1-lrs0p0r1"],
        ["npu0-npu2", "lrs0p0r1-lrs2p0r1"],
    ],
    ids="+".join,
)
def test_a_small_pod_ends_right_whatever_fails_in_it(write: Callable[[str], Path], links: list[str]):
    faults = ", ".join(f"{{at_us: 0.3, link: {link}}}" for link in links)
    for ready in prepare(*load(write(POD.replace("FAULTS", f"[{faults}]")))):
        seen = observe(ready, seed=1)
        assert seen.first_wrong == ""
        assert seen.correct_nodes == 16
        assert seen.recovery.entries_rewritten > 0
        assert seen.completion_ps > seen.faults[0].at_ps


def test_an_npu_without_a_way_to_other_racks_ends_the_run_loudly(write: Callable[[str], Path]):
    """One plane, and its one link cut: nobody elsewhere has a path, and the run says so."""
    faults = "[{at_us: 0.3, link: npu0-lrs0p0n0}]"
    ready = prepare(*load(write(POD.replace("FAULTS", faults))))[0]
    seen = observe(ready, seed=1)
    assert seen.correct_nodes < 16
    assert "npu0" in seen.first_wrong


def test_pairs_are_drawn_by_the_seed_and_are_different():
    links = [f"link{number}" for number in range(20)]
    drawn = sample_pairs(links, 15, seed=4)
    assert drawn == sample_pairs(links, 15, seed=4) != sample_pairs(links, 15, seed=5)
    assert len(set(drawn)) == 15
    assert all(links.index(first) < links.index(second) for first, second in drawn)
    assert len(sample_pairs(links[:4], 99, seed=1)) == 6


@pytest.mark.long
def test_a_run_is_right_when_the_way_around_fails_too(write: Callable[[str], Path]):
    """npu0 moves onto a link that the plan would not have told it of, and asks by a source route."""
    text = RACK.replace("notification: MODE, weights: oblivious", "strategy: shortest, notification: direct")
    text = text.replace("65536", "262144").replace("[{at_us: 0.5, link: npu0-npu1}]", "FAULTS")
    faults = "[{at_us: 0.5, link: npu0-npu1}, {at_us: 4, link: npu1-npu2}]"
    (ready,) = prepare(*load(write(text.replace("FAULTS", faults))))
    told = Notification(ready.plan, "direct", Delays(US // 2, US // 2)).fail(
        ["npu0-npu1", "npu1-npu2"], apart_ps=7 * US // 2
    )
    assert told.watches > 0
    assert "npu0" in told.informed
    seen = observe(ready, seed=1)
    assert (seen.first_wrong, seen.correct_nodes) == ("", 16)
    assert seen.traffic.dropped_by_switch == 0
    assert seen.completion_ps > 4 * US
    assert seen.recovery.notices == told.messages

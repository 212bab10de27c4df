# SPDX-License-Identifier: Apache-2.0
"""Routes of flows: nothing is lost on the way, hashes collide, circuits are where jobs need them."""

from dataclasses import replace

import numpy as np
import pytest

from harness.errors import ModelError
from papers.flow_level.networks.circuits import at_most, filled, matched, ways
from papers.flow_level.networks.clos import Clos, Fabric, Ideal, between_leaves
from papers.flow_level.networks.optical import Lumos, Wiring
from papers.flow_level.rates import Floats
from papers.flow_level.workload.jobs import SERVER, Job, Phase, experts, gradients
from papers.flow_level.workload.placement import Cluster, Placement

CLUSTER = Cluster(4, 4, 32)
PER_POD = CLUSTER.leaves * CLUSTER.npus


def ring(npus: int, stages: int = 1) -> Job:
    servers = npus // SERVER
    return Job(f"ring{npus}", npus, 0.0, 10, 1.0, (Phase("gradients", 1.0, gradients(servers, stages)),))


def fabrics(cluster: Cluster = CLUSTER) -> list[Fabric]:
    created: list[Fabric] = [Ideal(cluster), Clos(cluster), Clos(cluster, tries=5), Clos(cluster, 3)]
    return [*created, *(Lumos(cluster, wiring, tau) for wiring in Wiring for tau in (1, 2))]


def busiest(fabric: Fabric, keys: list[int]) -> float:
    """Return the load of the busiest link, with all phases of all jobs at once."""
    load: Floats = np.zeros(len(fabric.capacities))
    for key in keys:
        for links, carried in fabric.loads(key):
            np.add.at(load, links, carried)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.nanmax(load / fabric.capacities, initial=0.0))


@pytest.mark.parametrize("fabric", fabrics(), ids=lambda fabric: fabric.name)
@pytest.mark.parametrize("policy", ["packed", "random"])
def test_flows_leave_and_reach_their_leaves_whole(fabric: Fabric, policy: str) -> None:
    job = replace(
        ring(256), phases=(*ring(256).phases, Phase("experts", 1.0, experts(32, 4, 3), steady=False))
    )
    place = Placement(CLUSTER, policy, seed=5).take(256)
    assert place is not None
    fabric.admit(0, job, place)
    for phase, routes, (links, loads) in zip(job.phases, fabric.routes(0), fabric.loads(0), strict=True):
        _, _, number = between_leaves(CLUSTER, phase.pairs, place)
        if isinstance(fabric, Ideal):
            assert not len(links)
            continue
        assert routes.counts.sum() == number.sum()
        leaves, spines = 16, 16 if "tau 2" in fabric.name else 32
        ups = routes.links < leaves * spines
        downs = (routes.links >= leaves * spines) & (routes.links < 2 * leaves * spines)
        for way in (ups, downs):
            whole = np.bincount(routes.rows[way], routes.weights[way], len(routes.counts))
            assert whole == pytest.approx(np.ones(len(routes.counts)))
        # Each link carries the sum of its flows' shares.
        count, shares = len(fabric.capacities), routes.weights * routes.counts[routes.rows]
        assert np.bincount(links, loads, count) == pytest.approx(np.bincount(routes.links, shares, count))


def test_plain_hashing_collides_and_a_look_at_five_paths_does_less() -> None:
    loads = {}
    for tries in (1, 5):
        fabric, placement = Clos(CLUSTER, tries=tries), Placement(CLUSTER, "random", seed=1)
        for key in range(2):
            place = placement.take(256)
            assert place is not None
            fabric.admit(key, ring(256), place)
        loads[tries] = busiest(fabric, [0, 1])
    assert loads[1] >= 3
    assert loads[5] < loads[1]


def test_a_leaf_has_no_link_that_is_too_full_with_leaf_centric_circuits_and_two_links_a_spine() -> None:
    """Any jobs, anywhere: what circuits were made for meets nobody."""
    for seed in range(8):
        fabric, placement = Lumos(CLUSTER), Placement(CLUSTER, "random", seed)
        rng = np.random.default_rng(seed)
        keys = []
        for key in range(6):
            npus = int(rng.choice([32, 64, 128]))
            place = placement.take(npus)
            if place is not None:
                fabric.admit(key, ring(npus, int(rng.choice([1, 2]))), place)
                keys.append(key)
        assert busiest(fabric, keys) <= 1 + 1e-9, seed


def test_circuits_by_pod_overload_links_of_leaves_where_those_by_leaf_do_not() -> None:
    result = {}
    for wiring in (Wiring.leaf, Wiring.pod):
        fabric, placement = Lumos(CLUSTER, wiring), Placement(CLUSTER, "random", 3)
        for key in range(4):
            place = placement.take(128)
            assert place is not None
            fabric.admit(key, ring(128), place)
        result[wiring] = busiest(fabric, [0, 1, 2, 3])
    assert result[Wiring.leaf] <= 1 < result[Wiring.pod]


def test_matchings_hold_less_of_three_pods_that_want_all_of_each_other() -> None:
    """Two thirds of it, so flows share circuits: facts of uniform wiring."""
    cluster = Cluster(3, 2, 16)
    pods = np.arange(3 * 32).reshape(3, 32)
    # From each Pod half of the NPUs to each of the others.
    pairs = np.concatenate(
        [np.stack([pods[i][:16], pods[(i + 1) % 3][:16]], 1) for i in range(3)]
        + [np.stack([pods[(i + 1) % 3][16:], pods[i][16:]], 1) for i in range(3)]
    )
    job = Job("three", 96, 0.0, 1, 0.0, (Phase("all", 1.0, pairs),))
    result = {}
    for wiring in (Wiring.leaf, Wiring.uniform):
        fabric = Lumos(cluster, wiring)
        fabric.admit(0, job, np.arange(96))
        result[wiring] = busiest(fabric, [0])
    assert result[Wiring.leaf] == pytest.approx(1)
    assert result[Wiring.uniform] >= 1.5


@pytest.mark.parametrize("wiring", Wiring)
@pytest.mark.parametrize("tau", [1, 2])
def test_no_spine_has_more_circuits_than_ports_and_what_is_left_joins_pods(wiring: Wiring, tau: int) -> None:
    fabric, placement = Lumos(CLUSTER, wiring, tau), Placement(CLUSTER, "random", 1)
    for key in range(3):
        place = placement.take(128)
        assert place is not None
        fabric.admit(key, ring(128), place)
        counts = fabric.capacities[2 * 16 * (32 // tau) :].reshape(32 // tau, 4, 4)
        assert (counts == counts.transpose(0, 2, 1)).all()
        assert (counts.sum(axis=2) <= 4 * tau).all()
        assert (counts.sum(axis=0)[~np.eye(4, dtype=bool)] > 0).all()
        assert counts.sum() >= 0.9 * counts.shape[0] * 4 * 4 * tau


def test_circuits_that_change_are_dark_until_they_settle() -> None:
    fabric = Lumos(CLUSTER, dark=0.01)
    assert fabric.admit(0, ring(8), np.arange(8)) == 0
    before = fabric.capacities.copy()
    # Servers of Pods 0 and 1 in turn, which the ring goes to and fro between.
    servers = np.stack([np.arange(1, 16), np.arange(17, 32)], axis=1).ravel()
    place = (servers[:, None] * SERVER + np.arange(SERVER)).ravel()
    assert fabric.admit(1, ring(240), place) == 0.01
    during = fabric.capacities.copy()
    fabric.settle()
    assert (during <= before).all()
    assert (during <= fabric.capacities).all()
    assert (before != fabric.capacities).any()
    # The same job again, elsewhere in these Pods: nothing moves that need not.
    assert busiest(fabric, [1]) <= 1


def test_flows_between_pods_without_a_circuit_pass_others() -> None:
    """Two Pods want all of each other; a matching then has nothing for a third that wants a little."""
    cluster = Cluster(4, 1, 16)
    counts = np.array([[[0, 2, 0, 0], [2, 0, 1, 0], [0, 1, 0, 3], [0, 0, 3, 0]], [[0, 1, 0, 0]] * 4])
    result = ways(counts, 0, 3)
    assert result == [(0, [0, 1, 2, 3], 1)]
    assert ways(counts, 0, 1) == [(0, [0, 1], 2), (1, [0, 1], 1)]
    pods = np.arange(64).reshape(4, 16)
    a, b = np.concatenate([pods[0], pods[2]]), np.concatenate([pods[1], pods[3]])
    pairs = np.concatenate([np.stack([a, b], 1), np.stack([b, a], 1)])
    phases = (Phase("all", 1.0, pairs), Phase("little", 1.0, np.array([[0, 40]]), steady=False))
    fabric = Lumos(cluster, Wiring.uniform)
    fabric.admit(0, Job("some", 64, 0.0, 1, 0.0, phases), np.arange(64))
    (links, loads) = fabric.loads(0)[1]
    circuits = links >= 2 * 4 * 8
    assert loads[~circuits].sum() == pytest.approx(2)
    assert loads[circuits].sum() >= 1
    assert busiest(fabric, [0]) < 2.5


def test_matchings_hold_two_thirds_of_a_triangle_and_nearly_all_of_most_demands() -> None:
    triangle = 8 * (1 - np.eye(3, dtype=np.int64))
    assert matched(triangle, 8, 2).sum() == 2 * 16
    rng = np.random.default_rng(1)
    for pods in (4, 7, 8, 12):
        wanted = rng.integers(0, 32 // pods, (pods, pods))
        wanted = np.triu(wanted, 1) + np.triu(wanted, 1).T
        held = matched(wanted, 4, 16)
        assert (held.sum(axis=2) <= 16).all()
        assert (held == held.transpose(0, 2, 1)).all()
        assert np.minimum(held.sum(axis=0), wanted).sum() >= 0.9 * wanted.sum()


def test_ports_left_over_join_the_pods_with_fewest_circuits() -> None:
    counts = filled(np.zeros((3, 4, 4), np.int64), 6)
    assert (counts == 2 * (1 - np.eye(4))).all()
    # A Pod with no port left stays as it is; of an odd number one is left.
    some = np.array([[[0, 3, 0], [3, 0, 0], [0, 0, 0]]])
    assert (filled(some, 3) == some).all()


def test_a_demand_beyond_the_ports_is_lowered_where_it_is_largest() -> None:
    asked = np.array([[0, 5, 1], [5, 0, 2], [1, 2, 0]])
    lowered = at_most(asked, np.array([5, 9, 9]))
    assert lowered.tolist() == [[0, 4, 1], [4, 0, 2], [1, 2, 0]]


def test_shapes_that_cannot_be() -> None:
    with pytest.raises(ModelError, match="Pods of 4 leaves with 32 uplinks each cannot have tau 3"):
        Lumos(CLUSTER, tau=3)
    with pytest.raises(
        ModelError,
        match="the Clos has 4 tiers and 1 tries; expected 2 or 3 tiers and at least 1 try; take 2 or 3",
    ):
        Clos(CLUSTER, 4)
    with pytest.raises(ModelError, match="12 NPUs"):
        Cluster(1, 1, 12)

# SPDX-License-Identifier: Apache-2.0
"""Flows by the installed hash: the same links as the tables', balance, and what connections are worth."""

from itertools import permutations

import numpy as np
import pytest

from controller import make_plan
from controller.path_probing import PathProbe
from controller.plan.entry import Hashing
from harness.errors import ModelError
from papers.hpn.allreduces import KINDS, Kind, Workload, imbalance, lbs, rings, step, steps
from papers.hpn.ecmp import Gpus, Pod
from topologies import hpn
from topologies.families.hpn.shape import planned

NAMES = list(KINDS)


@pytest.mark.parametrize("hashing", ["per-tier", "identical"])
@pytest.mark.parametrize("planes", [1, 2])
def test_links_are_those_of_the_tables(planes: int, hashing: Hashing):
    shape = planned(2, 2, 2, aggs=3, planes=planes)
    fabric = hpn(2, 2, 2, aggs=3, planes=planes)
    pod = Pod(shape, hashing)
    search = PathProbe(make_plan(fabric, strategy="hashed", hashing=hashing))
    nics, cables = 2 * 2 * 2 * 2, 2 * 2 * 2 * 3

    def nic(place: tuple[int, int, int], port: str) -> int:
        return ((place[0] * 2 + place[1]) * 2 + place[2]) * 2 + int(port)

    def cable(place: tuple[int, int, int], port: str, agg: str) -> int:
        return ((place[0] * 2 + place[2]) * 2 + int(port)) * 3 + int(agg)

    places = [(segment, host, rail) for segment in (0, 1) for host in (0, 1) for rail in (0, 1)]
    assert pod.addresses(Gpus.of(*np.transpose(places))).tolist() == [
        fabric.node(shape.gpu(0, *place)).address for place in places
    ]
    for permutation, other in permutations(places, 2):
        if permutation[:2] == other[:2]:  # one host
            continue
        for path, values in search.lbs_by_path(shape.gpu(0, *permutation), shape.gpu(0, *other)).items():
            up, down = path[1][-1], path[-2][-1]
            middle = (-1, -1)
            if len(path) > 3:
                agg = path[2].split(".")[-1]
                middle = nics + cable(permutation, up, agg), nics + cables + cable(other, down, agg)
            expected = [nic(permutation, up), *middle, nics + 2 * cables + nic(other, down)]
            node, neighbour = (Gpus.of(*np.tile(place, (len(values), 1)).T) for place in (permutation, other))
            assert (pod.links(node, neighbour, np.array(values)) == expected).all()


def test_hops_lead_from_segment_to_segment_and_jobs_share_no_gpu():
    work = Workload(2, planned(2, 4, 3, aggs=4))
    source, target = rings(work)
    assert len(source) == work.gpus == 24
    assert (source.segment != target.segment).all()
    assert (source.rail == target.rail).all()
    for gpus in (source, target):
        assert (
            len(set(zip(*(part.tolist() for part in (gpus.segment, gpus.host, gpus.rail)), strict=True)))
            == 24
        )
    assert (source.host % 2 == target.host % 2).all()


def test_searched_values_are_disjoint_and_all_of_them_balance_everything():
    shape = planned(2, 4, 2, aggs=4)
    work, pod = Workload(4, shape), Pod(shape)
    kind = Kind("search", 8, "least-unfinished")
    ends = rings(work)
    values = lbs(pod, *ends, kind, np.random.default_rng(1))
    hop = np.repeat(np.arange(len(ends[0])), 8)
    ups = pod.links(ends[0][hop], ends[1][hop], values.ravel())[:, 1].reshape(-1, 8)
    assert all(len(set(row)) == 8 for row in ups.tolist())
    assert step(work, kind) == pytest.approx(1)


def test_a_step_by_hand():
    """Eight hosts below a ToR send eight ports' worth over its only cable, which carries two."""
    shape = planned(2, 8, 2, aggs=1)
    for kind in [*KINDS.values()][1:]:
        assert step(Workload(4, shape), kind) == pytest.approx(4)


def test_search_and_least_unfinished_are_worth_something():
    result = {name: times.mean() for name, times in steps(Workload(), range(2)).items()}
    searched, least, drawn, item = (result[name] for name in NAMES)
    assert 1 <= searched <= least < drawn < item


def test_planes_balance_what_a_typical_clos_does_not():
    typical, planes = (planned(4, 32, 4, aggs=60, planes=count) for count in (1, 2))
    before, after = imbalance(typical, "identical"), imbalance(planes, "identical")
    assert before.nic >= 2
    assert before.idle == 1
    assert after.nic == 1
    assert imbalance(typical, "per-tier").idle < 0.5


@pytest.mark.parametrize(
    "shape",
    [planned(tors="single"), planned(pods=2, cores=2), planned(mixed=True, planes=1)],
    ids=["one ToR", "two Pods", "DCN+"],
)
def test_other_shapes_are_refused(shape: object):
    with pytest.raises(ModelError, match="take one Pod"):
        Pod(shape)  # type: ignore[arg-type]


def test_what_cannot_be_shared_out_is_refused():
    with pytest.raises(ModelError, match="3 connections do not divide evenly"):
        Kind("random", 3, "random")
    with pytest.raises(ModelError, match="3 jobs cannot share 2 segments of 4 hosts"):
        rings(Workload(3, planned(2, 4, 2)))
    many = Kind("search", 20, "random")
    with pytest.raises(
        ModelError,
        match="20 disjoint paths need 10 on each of two ports, but a port has only 4",
    ):
        step(Workload(4, planned(2, 4, 2, aggs=4)), many)

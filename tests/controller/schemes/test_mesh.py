# SPDX-License-Identifier: Apache-2.0
from collections import Counter
from itertools import pairwise, permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controller import BUCKETS, Path, PlanError
from controller.paths.shares.weights import apportion
from controller.paths.single_paths import pairs_with_one_path
from controller.plan.routes import Routes
from controller.schemes.registry import rule_set, scheme_for
from controller.schemes.scheme import Scheme
from topologies import Fabric, full_mesh

A, B, C = ("s", "a", "d"), ("s", "b", "d"), ("s", "c", "d")


def scheme(rack: Fabric, strategy: str, *failed: str) -> Scheme:
    return scheme_for(rack, failed=set(failed), strategy=strategy)


def counts(paths: tuple[Path | None, ...]) -> list[int]:
    return sorted(Counter(paths).values(), reverse=True)


def test_buckets_follow_the_weights_by_largest_remainder() -> None:
    assert Counter(apportion([A, B], [3, 1])) == {A: 12, B: 4}
    # Quotas 5.33: the odd bucket goes to the earliest.
    assert Counter(apportion([A, B, C], [1, 1, 1])) == {A: 6, B: 5, C: 5}
    # Quotas 15.2, 0.4, 0.4.
    assert Counter(apportion([A, B, C], [38, 1, 1])) == {A: 15, B: 1}
    assert apportion([A], [1e-9]) == (A,) * BUCKETS


def test_noise_in_the_weights_does_not_move_a_bucket() -> None:
    third = 1 / 3
    assert apportion([A, B, C], [third, third + 1e-13, third - 1e-13]) == apportion([A, B, C], [1, 1, 1])


def test_neighbouring_buckets_take_different_paths() -> None:
    assert apportion([A, B], [1, 1]) == (A, B) * 8
    assert apportion([A, B, C], [2, 1, 1])[:4] in ((A, B, C, A), (A, A, B, C))


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=8).filter(lambda weights: sum(weights) > 0))
def test_every_bucket_is_dealt_and_no_share_is_off_by_more_than_one(weights: list[float]) -> None:
    paths = [("s", f"m{number}", "d") for number in range(len(weights))]
    dealt = Counter(apportion(paths, weights))
    assert dealt.total() == BUCKETS
    for path, weight in zip(paths, weights, strict=True):
        assert abs(dealt[path] - BUCKETS * weight / sum(weights)) < 1 + 1e-6


@pytest.mark.parametrize("weights", [[0, 0], [1, -1]])
def test_weights_that_mean_nothing_are_refused(weights: list[float]) -> None:
    with pytest.raises(PlanError, match="weights"):
        apportion([A, B], weights)


def test_candidates_of_a_strategy(rack: Fabric) -> None:
    assert scheme(rack, "shortest").candidates("npu0", "npu9") == [("npu0", "npu1", "npu9")]
    assert scheme(rack, "all-path").candidates("npu0", "npu9") == [
        ("npu0", "npu1", "npu9"),
        ("npu0", "npu8", "npu9"),
    ]
    assert len(scheme(rack, "all-path").candidates("npu0", "npu1")) == 7


def test_longer_paths_are_candidates_only_when_there_is_no_other(rack: Fabric) -> None:
    cut = scheme(rack, "all-path", "npu0-npu1", "npu0-npu8")
    result = cut.candidates("npu0", "npu9")
    assert {len(path) for path in result} == {4}
    assert scheme(rack, "shortest", "npu0-npu1", "npu0-npu8").candidates("npu0", "npu9") == result[:1]


def test_a_single_path_of_two_hops_gets_the_next_longer_ones_beside_it() -> None:
    cube = full_mesh([4, 4, 4])
    routes = scheme(cube, "all-path")
    # Z before X: one path of two hops, and four of three.
    assert Counter(len(path) - 1 for path in routes.candidates("npu0", "npu17")) == {2: 1, 3: 4}
    assert len(scheme(cube, "shortest").candidates("npu0", "npu17")) == 1
    pairs = list(permutations((node.name for node in cube.nodes), 2))
    assert min(len(routes.candidates(*pair)) for pair in pairs) == 2
    assert pairs_with_one_path(routes, pairs) == []


def test_pairs_to_which_the_rules_leave_one_path() -> None:
    cube = full_mesh([2, 2, 2])
    pairs = list(permutations((node.name for node in cube.nodes), 2))
    single = pairs_with_one_path(scheme(cube, "all-path"), pairs)
    # Z is left once: no path comes back to it.
    assert single == [pair for pair in pairs if abs(cube.node(pair[0]).index - cube.node(pair[1]).index) == 4]
    assert pairs_with_one_path(scheme(cube, "shortest"), pairs) == []


def test_a_node_cut_off_has_no_candidate(rack: Fabric) -> None:
    alone = scheme(rack, "all-path", *(link.name for link in rack.links if link.a.node == "npu0"))
    assert alone.candidates("npu0", "npu1") == []
    assert alone.repair((("npu0", "npu1"),) * BUCKETS) == (None,) * BUCKETS


def test_only_dead_buckets_move_and_they_are_dealt_evenly(rack: Fabric) -> None:
    planned = (("npu0", "npu1"),) * 10 + (("npu0", "npu2", "npu1"),) * 6
    moved = scheme(rack, "all-path", "npu0-npu1").repair(planned)
    assert moved[10:] == planned[10:]
    assert counts(moved[:10]) == [2, 2, 2, 2, 1, 1]
    assert all(path and len(path) == 3 for path in moved)
    assert scheme(rack, "all-path", "npu3-npu4").repair(planned) == planned


def test_shortest_moves_all_to_the_first_path_left(rack: Fabric) -> None:
    planned = (("npu0", "npu1", "npu9"),) * BUCKETS
    assert scheme(rack, "shortest", "npu1-npu9").repair(planned) == (("npu0", "npu8", "npu9"),) * BUCKETS
    direct = (("npu0", "npu1"),) * BUCKETS
    assert scheme(rack, "shortest", "npu0-npu1").repair(direct) == (("npu0", "npu2", "npu1"),) * BUCKETS


def test_an_entry_pushes_the_egress_ports_of_its_path(rack: Fabric) -> None:
    path = ("npu0", "npu2", "npu1", "npu9")
    entries = scheme_for(rack).source_routes("npu0", {"npu9": (path,) + (None,) * 15})
    assert len(entries) == 1
    assert [(name, match.value) for name, match in entries[0].match] == [("dcna", 9), ("bucket", 0)]  # pyright: ignore
    # npu0 to npu2 by port 2, npu2 to npu1 by port 2, npu1 to npu9 by port 8.
    assert entries[0].params == (("bitmap", 0b1110_0000_0000), ("instr", 0x02_02_08_00_00_00))


def test_a_path_of_another_pair_is_refused(rack: Fabric) -> None:
    with pytest.raises(PlanError, match="npu0: path npu0 npu1 does not lead to npu9"):
        scheme_for(rack).source_routes("npu0", {"npu9": (("npu0", "npu1"),) * BUCKETS})


def test_a_path_of_another_pair_is_refused_in_columns(rack: Fabric) -> None:
    right, wrong = (("npu0", "npu1"),) * BUCKETS, (("npu0", "npu1"),) * BUCKETS
    routes = Routes.of(rack, {("npu0", "npu1"): right, ("npu0", "npu9"): wrong})
    with pytest.raises(PlanError, match="npu0: path npu0 npu1 does not lead to npu9"):
        scheme_for(rack).entries(routes)


def test_an_unknown_strategy_is_refused(rack: Fabric) -> None:
    unknown: Any = "longest"
    with pytest.raises(
        PlanError,
        match="the strategy 'longest' does not exist; use one of all-path, adaptive, oblivious, bitmap,",
    ):
        scheme(rack, unknown)


@pytest.mark.parametrize("strategy", ["detour", "borrow"])
@pytest.mark.parametrize("pair", [("npu0", "npu9"), ("npu0", "npu1")])
def test_detours_in_a_mesh_leave_and_enter_by_every_port(pair: tuple[str, str], strategy: str) -> None:
    mesh = full_mesh((8, 8))
    paths = scheme(mesh, strategy).candidates(*pair)
    spread = scheme(mesh, "all-path").candidates(*pair)
    assert paths[: len(spread)] == spread
    assert {path[1] for path in paths} == set(mesh.neighbours(pair[0]))
    assert {path[-2] for path in paths} == set(mesh.neighbours(pair[1]))
    hops = Counter(hop for path in paths for hop in pairwise(path))
    assert set(hops.values()) == {1}
    assert {len(path) - 1 for path in paths[len(spread) :]} == {3}
    cut = (paths[-1][0], paths[-1][1])
    left = scheme(mesh, strategy, mesh.link_between(*cut).name).candidates(*pair)
    assert len(left) == len(paths) - 1
    assert all(cut not in set(pairwise(path)) for path in left)


@pytest.mark.parametrize("rules", ["T2-G", "T2-V", "T2-DOR", "T1-UD", "T1-DOR+", "T1-DOR"])
def test_detours_in_a_cube_keep_to_the_rules_and_to_four_hops(rules: str) -> None:
    cube = full_mesh((3, 3, 3))
    turns = rule_set(rules, cube)
    detours = scheme_for(cube, strategy="detour", rules=rules)
    for pair in permutations([node.name for node in cube.nodes], 2):
        paths = detours.candidates(*pair)
        assert len(set(paths)) == len(paths)
        assert all(turns.vls_of(cube, path) is not None for path in paths)
        assert max(map(len, paths)) <= 5

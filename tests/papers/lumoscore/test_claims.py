# SPDX-License-Identifier: Apache-2.0
"""LumosCore's claims about circuits between Pods, with few draws; judging of planning times."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from controller.circuits import allocate, check_demand, crossconnects
from papers.claims import Progress, checks
from papers.claims.findings import Finding
from papers.lumoscore.claims import circuits as circuits
from papers.lumoscore.claims import faults as faults
from papers.lumoscore.claims import rewirings as rewirings
from papers.lumoscore.claims.speed import judged
from papers.lumoscore.load import Trace, full, least, refilled, states
from papers.lumoscore.plot import growth_svg
from papers.lumoscore.ratios import ratios, two_pairs
from papers.lumoscore.speed import AUTHORS, PODS, Change, Cluster, Timed, growth, measure
from tests.papers.claim_checks import as_expected

FEW: dict[str, Callable[[Progress], Sequence[Finding]]] = {
    "decomposition": lambda note: circuits.run_decomposition(note, draws=40),
    "realisable": lambda note: circuits.run_realisable(note, draws=20),
    "ports": lambda note: circuits.run_ports(note, draws=10),
    "rewirings": lambda note: rewirings.run_rewirings(note, 2, 10, shapes=((4, 2, 4), (8, 2, 8), (16, 2, 8))),
    "leaf-centric": lambda note: rewirings.run_leaves(note, draws=8),
    "left": lambda note: faults.run_left(note, draws=5),
}


@pytest.mark.parametrize("name", FEW)
def test_what_comes_out_is_what_the_paper_says(name: str) -> None:
    as_expected(FEW[name])


def test_only_what_measures_time_is_long() -> None:
    short = [claim.name for claim in checks("lumoscore") if not claim.long]
    assert set(FEW) <= set(short)
    assert "planning-time" not in short


def test_whom_a_port_hears_is_found_by_the_fibres() -> None:
    """Pods 0 and 1 joined by switch 0 alone: the even port of Pod 0 talks, and hears nobody."""
    both = crossconnects(np.array([[1, -1]]))
    talks, hears = circuits._peers(both)
    assert talks.tolist() == hears.tolist() == [[3, -1], [-1, 0]]
    both[1] = -1
    talks, hears = circuits._peers(both)
    assert talks.tolist() == [[3, -1], [-1, -1]]
    assert hears.tolist() == [[-1, -1], [-1, 0]]


def test_demands_can_be_served_and_the_full_ones_leave_no_port() -> None:
    rng = np.random.default_rng(3)
    for pods in (2, 5, 9):
        demand = full(rng, pods, 6)
        check_demand(demand, 6)
        assert demand.sum() == 6 * pods
    trace = Trace(8, 16, 1)
    for _ in range(5):
        check_demand(trace.change(), 16)
    demand, plan = refilled(8, 2, 8, 1)
    assert 2 * plan.total >= demand.sum() - 8


def test_no_method_makes_fewer_circuits_than_must_be_or_than_the_exact_program() -> None:
    result = ratios((8, 2, 8), range(2), 2)
    assert all(value >= 1 for values in result.values() for value in values)
    assert sum(result["flow"]) <= sum(result["greedy"])
    assert two_pairs(8, np.random.default_rng(2))[0] == 8
    for demand, plan in states(8, 2, 8, 4, 3):
        assert allocate(demand, 2, 8, plan).moves.added >= least(demand, plan)


def timed(seconds: float) -> Timed:
    return Timed((seconds / 2, seconds, 3 * seconds), created=10, least=8)


def clusters(factor: float, **slower: float) -> list[Cluster]:
    """Whose changes take that share of the authors' times, and some a larger one."""
    return [
        Cluster(
            pods,
            {change: timed(slower.get(change.name, factor) * AUTHORS[pods]) for change in Change},
            exact=100 * factor * AUTHORS[pods] if pods <= 64 else None,
        )
        for pods in PODS
    ]


def test_a_tenth_of_the_authors_times_holds_and_a_fifth_differs() -> None:
    assert {item.verdict for item in judged(clusters(0.1))} == {"holds", "not judged"}
    rows = judged(clusters(0.1, job=0.2))
    assert [row.fails for row in rows[: len(PODS)]] == [True] * len(PODS)
    assert "exact program over ours, 8,192 NPUs" in rows[-2].claim
    assert rows[-2].ours.endswith(", 50 times")


def test_hard_changes_of_small_clusters_are_known_to_take_longer_and_of_large_ones_are_not() -> None:
    rows = [item for item in judged(clusters(0.1, full=0.2)) if item.verdict == "differs"]
    assert [row.known for row in rows] == [True] * 4 + [False]
    assert all(row.reason for row in rows)


def test_one_small_cluster_is_measured_and_drawn() -> None:
    result = measure(16, seeds=1, changes=2, exact=False)
    assert (result.npus, result.exact) == (2048, None)
    assert [len(result.changes[change].seconds) for change in Change] == [2, 1, 1, 1]
    for item in result.changes.values():
        assert min(item.seconds) > 0
        assert item.created >= item.least > 0
    assert growth([1.0, 3.0, 4.0]) == pytest.approx(2.0)
    drawing = growth_svg([result])
    assert drawing.startswith("<svg")
    assert "2,048" in drawing
    assert Change.full.value in drawing

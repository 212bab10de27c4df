# SPDX-License-Identifier: Apache-2.0
"""LumosCore's claims about circuits between Pods, with few draws; judging of planning times."""

from collections.abc import Callable

import numpy as np
import pytest

from controller.circuits import allocate, check_demand, crossconnects
from papers.claims import Check, Measured, Progress, Row, Values, judged
from papers.claims.figures.sources import Figures
from papers.lumoscore.figures import circuits, faults, reconfigurations
from papers.lumoscore.figures.speed import values
from papers.lumoscore.load import Trace, full, least, refilled, states
from papers.lumoscore.plot import growth_svg
from papers.lumoscore.ratios import ratios, two_pairs
from papers.lumoscore.speed import AUTHORS, PODS, Change, Cluster, Timed, growth, measure
from tests.papers.checks import checks

FEW: dict[str, Callable[[Progress], Values]] = {
    "decomposition": lambda note: circuits.run_decomposition(note, draws=40),
    "realisable": lambda note: circuits.run_realisable(note, draws=20),
    "ports": lambda note: circuits.run_ports(note, draws=10),
    "leaf-centric": lambda note: reconfigurations.run_leaves(note, draws=8),
    "left": lambda note: faults.run_left(note, draws=5),
}

CHECKS: dict[str, Check] = checks("lumoscore")


def judged_values(name: str, figures: Values) -> tuple[Row, ...]:
    return judged(CHECKS[name].claims, Figures(figures))


@pytest.mark.parametrize("name", FEW)
def test_few_draws_give_what_many_do(name: str) -> None:
    told: list[float] = []
    rows = judged_values(name, FEW[name](lambda what, share: told.append(share)))
    # Of thirty demands a share may lie outside of the interval for hundreds; counts may not.
    assert [row.claim.name for row in rows if row.verdict == "unexpected" and row.claim.name != "ports"] == []
    assert told
    assert all(0 <= share <= 1 for share in told)


def test_reconfigurations_have_an_interval_over_ten_seeds() -> None:
    shapes = ((4, 2, 4), (8, 2, 8))
    result = reconfigurations.run_reconfigurations(lambda what, share: None, draws=10, shapes=shapes)
    groups, spare = result["two-pairs"], result["spare"]
    assert isinstance(groups, Measured)
    assert isinstance(spare, Measured)
    assert (groups.value, spare.samples) == (100, 10)
    assert spare.low is not None
    assert spare.high is not None
    assert 1 <= spare.low <= spare.value <= spare.high < 1.2


def test_only_many_jobs_and_planning_times_are_long() -> None:
    assert [name for name, check in CHECKS.items() if check.long] == ["jobs", "planning-time"]


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
    """Return clusters whose changes take `factor` of the authors' times, or the share in `slower`."""
    return [
        Cluster(
            pods,
            {change: timed(slower.get(change.name, factor) * AUTHORS[pods]) for change in Change},
            exact=100 * factor * AUTHORS[pods] if pods <= 64 else None,
        )
        for pods in PODS
    ]


def verdicts(result: list[Cluster]) -> dict[str, str]:
    return {row.claim.name: row.verdict for row in judged_values("planning-time", values(result))}


def test_a_tenth_of_the_authors_times_holds_and_a_fifth_does_not() -> None:
    assert "unexpected" not in verdicts(clusters(0.09)).values()
    hard = {
        f"{change.name}-{pods}"
        for change, most in ((Change.first, 16), (Change.replaced, 64), (Change.full, 128))
        for pods in PODS
        if pods <= most
    }
    for factor in (0.009, 1.1):  # a tenth of the target, and more than ten times as much
        rows = verdicts(clusters(factor))
        assert {rows[name] for name in hard} == {"unexpected"}
    slow = verdicts(clusters(0.09, job=0.2))
    assert [slow[f"job-{pods}"] for pods in PODS] == ["unexpected"] * len(PODS)


def test_hard_changes_of_small_clusters_are_known_to_take_longer_and_of_large_ones_are_not() -> None:
    rows = verdicts(clusters(0.09, full=0.2))
    assert [rows[f"full-{pods}"] for pods in PODS] == ["known difference"] * 4 + ["unexpected"]


def test_without_an_exact_program_nothing_is_compared_with_it() -> None:
    result = [Cluster(cluster.pods, cluster.changes, None) for cluster in clusters(0.09)]
    assert verdicts(result)["exact"] == "unexpected"


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

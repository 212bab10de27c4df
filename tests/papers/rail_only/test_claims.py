# SPDX-License-Identifier: Apache-2.0
"""Rail-only's claims, computed, measured and mutated; and a smaller large fabric."""

from pathlib import Path

import pytest

from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from papers.claims import Kind, passed, rows_of
from tests.papers.checks import checks, turns_of

LARGE = Path(__file__).parents[3] / "experiments" / "14_rails_2048" / "scenario.yaml"
CHECKS = checks("rail-only")
COMPUTED = ("counts", "fabrics", "savings", "collectives", "iteration")


def test_one_check_takes_minutes():
    assert [name for name, check in CHECKS.items() if check.long] == ["all-to-all-16"]


@pytest.mark.parametrize("name", COMPUTED)
def test_every_mutation_of_a_computed_claim_turns_it(name: str):
    assert passed(rows_of(CHECKS[name]))
    turns = turns_of(CHECKS[name])
    assert [turn.row.claim.name for turn in turns if not turn.turned] == []


def test_what_agrees_only_with_a_chosen_parameter_is_fitted():
    kinds = {claim.name: claim.kind for name in COMPUTED for claim in CHECKS[name].claims}
    assert kinds["large-a100"] is kinds["least-mw-1024"] is Kind.fitted
    assert kinds["batch-8-256"] is Kind.stated
    assert kinds["dgx-a100"] is Kind.identity


@pytest.mark.long
@pytest.mark.parametrize("name", ["pxn", "faults", "placements", "gathers", "slices", "all-to-all"])
def test_what_is_measured_is_accepted(name: str):
    assert passed(rows_of(CHECKS[name]))


@pytest.mark.long
def test_rails_of_two_tiers_carry_an_all_to_all_between_domains_below_different_leaves() -> None:
    """As the experiment with 2,048 GPUs, on 32 domains below leaves of four."""
    scenario, document = load(LARGE)
    topology = scenario.topology.resized("rail-only", domains=32, radix=8)
    (variant,) = scenario.variants
    members = ("gpu0..gpu7", "gpu72..gpu79", "gpu144..gpu151")
    collective = variant.collective.model_copy(update={"members": members, "elements": 24576})
    variant = variant.model_copy(update={"collective": collective})
    (ready,) = prepare(scenario.model_copy(update={"topology": topology, "variants": (variant,)}), document)
    fabric = ready.fabric
    first = [f"gpu{number}" for number in (0, 72, 144)]
    leaves = {
        neighbour
        for name in first
        for neighbour in fabric.neighbours(name)
        if fabric.node(neighbour).is_switch
    }
    assert len(leaves) == 3
    seen = observe(ready, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (24, "")
    assert seen.cross_rail_frames == 0
    assert seen.traffic.dropped_by_switch == 0
    above = [
        link
        for link in fabric.links
        if fabric.node(link.a.node).is_switch and fabric.node(link.b.node).is_switch
    ]
    assert sum(sum(seen.link_bytes[link.name]) for link in above)

# SPDX-License-Identifier: Apache-2.0
"""Rail-only's claims about collectives and traffic, measured; and a smaller large fabric."""

from pathlib import Path

import pytest

from lab.run.prepare import prepare
from lab.run.runner import observe
from lab.scenario.loader import load
from papers.claims.findings import FindingsCheck
from papers.rail_only.claims import runs as runs
from papers.rail_only.claims import traffic as traffic
from tests.papers.claim_checks import short

LARGE = Path(__file__).parents[3] / "experiments" / "14_rails_2048" / "scenario.yaml"


@pytest.mark.long("pxn")
@pytest.mark.parametrize("claim", short((*runs.CHECKS, *traffic.CHECKS)), ids=lambda claim: claim.name)
def test_what_is_measured_is_what_the_paper_says(claim: FindingsCheck) -> None:
    told: list[float] = []
    findings = claim.run(lambda _, share: told.append(share))
    assert findings
    assert [finding for finding in findings if finding.verdict == "differs"] == []
    assert all(0 <= share <= 1 for share in told)
    for finding in findings:
        assert finding.reason or finding.verdict == "holds"


def test_only_the_runs_of_16_domains_are_long() -> None:
    assert [claim.name for claim in (*runs.CHECKS, *traffic.CHECKS) if claim.long] == ["all-to-all-16"]


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
        neighbour for name in first for neighbour in fabric.neighbours(name) if fabric.node(neighbour).tier
    }
    assert len(leaves) == 3
    seen = observe(ready, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (24, "")
    assert seen.cross_rail_frames == 0
    assert seen.traffic.dropped_by_switch == 0
    above = [link for link in fabric.links if fabric.node(link.a.node).tier and fabric.node(link.b.node).tier]
    assert sum(sum(seen.link_bytes[link.name]) for link in above)

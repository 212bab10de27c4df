# SPDX-License-Identifier: Apache-2.0
"""Fabrics compared on a small cluster: their order, what is written, what is drawn."""

import xml.etree.ElementTree as ET

import pytest

from papers.flow_level.plot import plot_svg
from papers.flow_level.simulate import Outcome
from papers.flow_level.study import FABRICS, SIX, Comparison, Study, run
from papers.flow_level.workload.placement import Cluster
from papers.flow_level.workload.traces import Workload

SMALL = Study(Cluster(4, 4, 64), Workload(jobs=150, npus=1024, sizes="eights"), seeds=(1, 2))


@pytest.fixture(scope="module")
def result() -> Comparison:
    return run(SMALL)


@pytest.mark.long
def test_circuits_by_leaf_are_next_to_ideal_and_hashes_are_not(result: Comparison) -> None:
    assert result.against_ideal("ideal") == 1
    assert result.mean("ideal", "slowdown") == pytest.approx(1)
    assert 1 <= result.against_ideal("leaf-centric, tau 2") < 1.01
    assert result.mean("leaf-centric, tau 2", "slowdown") <= result.mean("leaf-centric, tau 1", "slowdown")
    assert result.against_ideal("leaf-centric, tau 2") <= result.against_ideal("leaf-centric, tau 1")
    assert result.mean("leaf-centric, tau 1", "slowdown") < result.mean("clos", "slowdown")
    assert result.against_ideal("leaf-centric, tau 1") <= result.against_ideal("clos")
    assert result.mean("leaf-centric, tau 2", "slowdown") < result.mean("pod-centric, tau 2", "slowdown")


def test_every_fabric_that_is_named_runs() -> None:
    others = tuple(name for name in FABRICS if name not in SIX)
    some = run(
        Study(Cluster(2, 4, 64), Workload(jobs=40, npus=512, sizes="small"), ("ideal", *others), seeds=(3,))
    )
    assert all(some.mean(name, "completion") >= some.mean("ideal", "completion") for name in others)


def test_every_job_ends_and_does_so_again(result: Comparison) -> None:
    assert len(result.outcomes["ideal"][2].jobs) == 150
    first = result.outcomes["clos"][1].jobs[0]
    assert first.job.name == "job0"
    assert first.job.npus >= 8
    assert first.job.arrival <= first.start < first.end
    again = run(Study(SMALL.cluster, SMALL.workload, ("ideal", "clos"), seeds=(2,)))
    assert times(again.outcomes["clos"][2]) == times(result.outcomes["clos"][2])


def times(outcome: Outcome) -> list[tuple[str, float, float]]:
    return [(record.job.name, record.start, record.end) for record in outcome.jobs]


def test_the_drawing_names_fabrics_and_is_the_same_again(result: Comparison) -> None:
    drawn = plot_svg(result)
    text = "".join(ET.fromstring(drawn).itertext())
    assert all(name in text for name in ("leaf-centric, tau 2", "clos", "released by the authors"))
    assert plot_svg(result) == drawn

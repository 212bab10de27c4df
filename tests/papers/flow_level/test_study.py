# SPDX-License-Identifier: Apache-2.0
"""Fabrics compared on a small cluster: their order, what is written, what is drawn."""

import json
import xml.etree.ElementTree as ET

import pytest

from papers.flow_level.plot import plot_svg
from papers.flow_level.study import FABRICS, SIX, Comparison, Study, run, to_document
from papers.flow_level.workload.placement import Cluster
from papers.flow_level.workload.traces import Workload

SMALL = Study(Cluster(4, 4, 64), Workload(jobs=150, npus=1024, sizes="eights"), seeds=(1, 2))


@pytest.fixture(scope="module")
def result() -> Comparison:
    return run(SMALL)


@pytest.mark.long
def test_circuits_by_leaf_are_next_to_ideal_and_hashes_are_not(result: Comparison) -> None:
    assert result.against_ideal("ideal") == 1
    assert result.slowdown("ideal") == pytest.approx(1)
    assert 1 <= result.against_ideal("leaf-centric, tau 2") < 1.01
    assert result.slowdown("leaf-centric, tau 2") <= result.slowdown("leaf-centric, tau 1")
    assert result.against_ideal("leaf-centric, tau 2") <= result.against_ideal("leaf-centric, tau 1")
    assert result.slowdown("leaf-centric, tau 1") < result.slowdown("clos")
    assert result.against_ideal("leaf-centric, tau 1") <= result.against_ideal("clos")
    assert result.slowdown("leaf-centric, tau 2") < result.slowdown("pod-centric, tau 2")


def test_every_fabric_that_is_named_runs() -> None:
    others = tuple(name for name in FABRICS if name not in SIX)
    some = run(
        Study(Cluster(2, 4, 64), Workload(jobs=40, npus=512, sizes="small"), ("ideal", *others), seeds=(3,))
    )
    assert all(some.completion(name) >= some.completion("ideal") for name in others)


def test_the_document_has_every_job_and_is_the_same_again(result: Comparison) -> None:
    document = json.loads(json.dumps(to_document(result)))
    assert document["fabrics"]["clos"]["released"]["completion"] == 36458.5
    assert len(document["jobs"]["ideal"]["2"]) == 150
    name, npus, arrival, start, end = document["jobs"]["clos"]["1"][0]
    assert name == "job0"
    assert npus >= 8
    assert arrival <= start < end
    again = run(Study(SMALL.cluster, SMALL.workload, ("ideal", "clos"), seeds=(2,)))
    assert to_document(again)["jobs"]["clos"]["2"] == to_document(result)["jobs"]["clos"]["2"]


def test_the_drawing_names_fabrics_and_is_the_same_again(result: Comparison) -> None:
    drawn = plot_svg(result)
    text = "".join(ET.fromstring(drawn).itertext())
    assert all(name in text for name in ("leaf-centric, tau 2", "clos", "released by the authors"))
    assert plot_svg(result) == drawn

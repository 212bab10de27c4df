# SPDX-License-Identifier: Apache-2.0
"""Assertions that compare variants, in a study: sweep.json, page, output and exit code."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

Write = Callable[[str], Path]
Railyard = Callable[..., tuple[int, str, str]]

SCENARIO = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 256, payload_bytes: 256}
variants:
  - {name: healthy, faults: []}
  - {name: cut, faults: [{at_us: 0.02, link: npu0-npu1}]}
assertions:
  - {metric: cut.completion_us, min: {metric: healthy.completion_us}, name: a cut costs time}
  - {metric: cut.completion_us, max: {metric: healthy.completion_us, times: TIMES}, name: but little}
  - {metric: healthy.lost_frames, equals: 0}
study: {set: {link.detect_us: [0.1, 5]}, seeds: 1..2}
"""


@pytest.fixture
def study(railyard: Railyard, write: Write) -> Callable[..., tuple[int, str, dict]]:
    def call(times: float, *options: str) -> tuple[int, str, dict]:
        path = write(SCENARIO.replace("TIMES", str(times)))
        code, out, err = railyard("sweep", path, "--jobs", "1", "--out", "out", *options)
        return code, out + err, json.loads(Path("out", "sweep.json").read_text())

    return call


def test_an_assertion_about_two_variants_is_judged_at_each_point_and_seed(study):
    _, _, document = study(100)
    at = {(run["variant"], run["link.detect_us"], run["seed"]): run for run in document["runs"]}
    compared = [item for item in document["assertions"] if item["name"] == "a cut costs time"]
    assert [(item["point"], item["seed"]) for item in compared] == [
        ({"link.detect_us": detect}, seed) for detect in (0.1, 5) for seed in (1, 2)
    ]
    for item in compared:
        detect, seed = item["point"]["link.detect_us"], item["seed"]
        assert item["value"] == at["cut", detect, seed]["completion_us"]
        assert item["limit"] == at["healthy", detect, seed]["completion_us"]
        assert item["passed"] == (item["value"] >= item["limit"])
    # The assertion about the healthy variant alone belongs to its runs.
    assert {item["name"] for item in document["assertions"]} == {"a cut costs time", "but little"}


def test_one_that_fails_fails_the_study_and_is_named_with_its_places(study):
    code, said, document = study(0.5)
    assert code == 1
    assert not document["passed"]
    assert {run["status"] for run in document["runs"]} == {"right"}
    assert "fails but little, at 0 of 4 points and seeds" in said
    assert "holds a cut costs time, at 4 of 4 points and seeds" in said
    page = Path("out", "report.html").read_text()
    assert "detect_us 0.1, seed 1: " in page


def test_variants_that_are_left_out_are_not_compared(study):
    code, _, document = study(0.5, "--variant", "cut")
    assert code == 0
    assert document["assertions"] == []

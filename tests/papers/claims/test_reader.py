# SPDX-License-Identifier: Apache-2.0
"""Files of claims: what a claim becomes, and what is said of one that is at fault."""

from pathlib import Path

import pytest

from harness.errors import ScenarioError
from papers.claims import Interval, Kind, read_claims
from papers.claims.figures.sources import ModelSource, ScenarioSource
from papers.claims.form.schema import json_schema
from tests.papers.claims.studies import CLAIMS, write_study

HEAD = """\
name: figures
title: figures
checks:
  some:
    title: some
    model: math:floor
    common: {kind: stated, place: §1, mutation: {scale: 3}}
    claims:
"""


@pytest.fixture
def study(tmp_path: Path) -> Path:
    return write_study(tmp_path)


def claim_of(folder: Path, text: str):
    path = folder / "one.yaml"
    path.write_text(f"{HEAD}      one: {text}\n", encoding="utf-8")
    return read_claims(path).checks[0].claims[0]


@pytest.mark.parametrize(
    ("text", "paper", "holds"),
    [
        ("{text: lanes, paper: 72}", Interval(72, 72), Interval(72, 72)),
        ("{text: lanes, paper: 72, within: 2}", Interval(72, 72), Interval(70, 74)),
        ("{text: lanes, paper: [95, null], holds: [95, 100]}", Interval(low=95), Interval(95, 100)),
        ("{text: lanes, paper: fewer, holds: [null, 4]}", "fewer", Interval(high=4)),
        ("{text: lanes, holds: 1.5, within: 0.5}", None, Interval(1, 2)),
        ("{text: lanes, paper: 70, holds: 72, within: 2}", Interval(70, 70), Interval(70, 74)),
    ],
)
def test_figures_become_intervals(tmp_path: Path, text: str, paper: object, holds: Interval):
    claim = claim_of(tmp_path, text)
    assert (claim.kind, claim.place, claim.paper, claim.holds) == (Kind.stated, "§1", paper, holds)


CASES = """{text: "{nodes:,} nodes, {kind_of}", unit: "{kind_of}", cases: [
  {nodes: 1024, kind_of: links, paper: 6}, {nodes: 2048, kind_of: ports, paper: 7, holds: [7, 8]}]}"""


def test_a_claim_with_cases_becomes_a_claim_for_each(tmp_path: Path):
    path = tmp_path / "one.yaml"
    path.write_text(f"{HEAD}      '{{kind_of}}-{{nodes}}': {CASES}\n      one: {{text: one, paper: 1}}\n")
    links, ports, last = read_claims(path).checks[0].claims
    assert (links.name, links.text, links.unit) == ("links-1024", "1,024 nodes, links", "links")
    assert (ports.name, ports.text, ports.unit) == ("ports-2048", "2,048 nodes, ports", "ports")
    assert (links.holds, ports.paper, ports.holds) == (Interval(6, 6), Interval(7, 7), Interval(7, 8))
    assert (last.name, links.kind, links.place) == ("one", Kind.stated, "§1")


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ('"{n}": {text: "{m}", paper: 1, cases: [{n: a}]}', "has no value for the placeholder 'm'"),
        ("a: {text: a, paper: 1, cases: [{pper: 1}]}", "has 'pper', which is neither a key of a claim"),
        ('a: {text: "{n}", paper: 1, cases: [{n: 1}, {n: 2}]}', "two claims have the name 'a'"),
        ('"a{n}": {text: a, papr: 1, cases: [{n: 1}]}', "unknown key 'papr' in checks.some.claims.a1"),
        ('"a{n}": {text: a, cases: [{n: 1}, {n: 2, paper: no}]}', "give `paper:` a number"),
        ("a: {text: a, paper: 1, cases: 3}", "checks.some.claims.a.cases: 3 is not a list"),
    ],
)
def test_faults_of_cases_have_file_line_and_remedy(tmp_path: Path, claim: str, told: str):
    path = tmp_path / "one.yaml"
    path.write_text(f"{HEAD}      {claim}\n")
    with pytest.raises(ScenarioError) as caught:
        read_claims(path)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{path}:9: ")


def test_a_study_becomes_checks(study: Path):
    file = read_claims(study)
    mesh, ring = file.checks
    assert isinstance(mesh.source, ModelSource)
    assert mesh.source.function == f"{study.parent}/model.py:links"
    assert [claim.kind for claim in mesh.claims] == ["stated", "stated", "derived", "stated"]
    assert isinstance(ring.source, ScenarioSource)
    assert ring.source.files == (study.parent / "scenario.yaml",)
    assert [claim.name for claim in ring.claims] == ["assertions", "slower"]
    file.examine(file.checks)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("    title: links of the mesh\n", "", "checks.mesh.title is missing; add `title:`"),
        ("paper: 3}", "paper: 3, unti: x}", "unknown key 'unti' in checks.mesh.claims.degree; did you mean"),
        ("paper: 3}", "paper: true}", "True is not a number or [low, high]"),
        ("paper: 3}", "paper: few}", "give `paper:` a number, or `holds:`"),
        ("paper: 3}", "paper: [4, 3]}", "interval from 4 to 3 is empty"),
        ("paper: 3}", "paper: 3, kind: said}", "'said' is not known; "),
        ("paper: 3}", "paper: 3, name: degree}", "a claim has no key `name:`"),
        ("      kind: stated\n", "", "`kind:` is missing: stated, derived"),
        ("      place: our paper, §2\n", "", "`place:` is missing"),
        ("paper: 3}", "paper: 3, mutation: null}", "`mutation:` is missing; only an identity may lack one"),
        ("paper: 3}", "paper: 3, mutation: {scale: 2, shift: 1}}", "exactly one of set, value, scale, shift"),
        ("paper: 3}", "paper: 3, mutation: {set: {nodes: 2}}}", "`what:` is missing"),
        ("paper: 3}", "paper: 3, expected: 5}", "expects a difference; give its reason"),
        ("paper: 3}", "paper: 3, expected: 3, reason: so}", "expects a difference where it holds"),
        ("value: links / degree", "value: links /", "'links /' is not an expression"),
        ("    model: model.py:links\n", "", "a check has exactly one of model and scenario"),
        ("    arguments: {nodes: 4}\n", "    repeats: 2\n", "`repeats:` belongs to a scenario"),
    ],
)
def test_faults_of_the_form_have_file_line_and_remedy(study: Path, old: str, new: str, told: str):
    assert old in CLAIMS
    study.write_text(CLAIMS.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ScenarioError) as caught:
        read_claims(study)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{study}:")
    assert f"{study}:1:" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "line", "told"),
    [
        ("model.py:links", "model.py:lnks", 6, "has no 'lnks'; use one of its names: links"),
        ("model.py:links", "nowhere.at.all:links", 6, "write module:function or FILE.py:function"),
        ("nodes: 4", "nodez: 4", 6, "has no argument 'nodez'; did you mean 'nodes'"),
        ("set: {nodes: 3}", "set: {node: 3}", 12, "has no argument 'node'"),
        ("scenario: scenario.yaml", "scenario: ring.yaml", 25, "ring.yaml: the file does not exist"),
        ("ring.completion_us / direct", "ring.completion / direct", 34, "no figure 'ring.completion'"),
        ("variants.ring.collective", "variants.rign.collective", 35, "names the element 'rign' of a list"),
    ],
)
def test_faults_of_what_a_file_names_have_its_line(study: Path, old: str, new: str, line: int, told: str):
    study.write_text(CLAIMS.replace(old, new, 1), encoding="utf-8")
    file = read_claims(study)
    with pytest.raises(ScenarioError) as caught:
        file.examine(file.checks)
    assert told in str(caught.value)
    assert f"{study}:{line}: " in str(caught.value)


def test_the_published_schema_is_that_of_the_models():
    path = Path(__file__).parents[3] / "papers" / "claims" / "form" / "claims.schema.json"
    assert path.read_text(encoding="utf-8") == json_schema()

"""The guides are true: their examples run, their links lead somewhere, their reference misses nothing."""

import doctest
import re
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from controller.deadlock.turn_rules import rule_names
from lab.report.metrics import METRICS
from lab.run.prepare import prepare
from lab.scenario.loader import load
from lab.scenario.schema import Collective, Control, Fault, LinkSettings, Routing, Transport
from papers.training.study import load as load_study

ROOT = Path(__file__).resolve().parents[1]
GUIDES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("experiments/*/*.md")])
STUDIES = sorted(ROOT.glob("experiments/*/model.yaml"))
SCENARIOS = sorted({*ROOT.glob("experiments/*/*.yaml")} - {*STUDIES})
REFERENCE = (ROOT / "docs" / "scenarios.md").read_text()


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.long("docs/ub-mesh.md", "docs/models.md")
@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_examples_run(path: Path):
    failed, _ = doctest.testfile(str(path), module_relative=False, encoding="utf-8")
    assert failed == 0


@pytest.mark.parametrize("path", GUIDES, ids=name_of)
def test_links_lead_somewhere(path: Path):
    prose = re.sub(r"```.*?```", "", path.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)]+)\)", prose):
        if not target.startswith(("http://", "https://")):
            file, _, heading = target.partition("#")
            result = path.parent / file if file else path
            assert result.exists(), target
            if heading:
                headings = re.findall(r"^#+ (.*)$", result.read_text(), flags=re.MULTILINE)
                assert heading in [
                    re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-") for heading in headings
                ]


@pytest.mark.parametrize("block", re.findall(r"```yaml\n(.*?)```", REFERENCE, flags=re.DOTALL))
def test_scenarios_of_the_reference_are_good(block: str, tmp_path: Path):
    path = tmp_path / "scenario.yaml"
    path.write_text(block)
    assert prepare(*load(path))


@pytest.mark.long(
    "experiments/07_moe_iteration/scenario.yaml",
    "experiments/15_circuits/scenario.yaml",
    "experiments/14_rails_2048/scenario.yaml",
    "experiments/12_placements/scenario.yaml",
    "experiments/07_moe_iteration/dispatch.yaml",
)
@pytest.mark.parametrize("path", SCENARIOS, ids=name_of)
def test_scenarios_of_the_experiments_are_good(path: Path):
    loaded = load(path)
    # To plan for a Pod of 1,024 takes a quarter of a minute, and its experiment does.
    assert "10_pod" in path.parts or prepare(*loaded)


@pytest.mark.parametrize("path", STUDIES, ids=name_of)
def test_studies_of_the_experiments_are_good(path: Path):
    assert load_study(path)


@pytest.mark.parametrize(
    ("place", "model"),
    [
        ("collective.", Collective),
        ("routing.", Routing),
        ("link.", LinkSettings),
        ("control.", Control),
        ("transport.", Transport),
        ("faults[].", Fault),
    ],
)
def test_the_reference_has_every_key(place: str, model: type[BaseModel]):
    keys = [field.alias or name for name, field in model.model_fields.items()]
    assert [key for key in keys if f"`{place}{key}`" not in REFERENCE] == []


def test_the_reference_has_every_metric_and_rule_set():
    assert [name for name in (*METRICS, *rule_names()) if name not in REFERENCE] == []


def test_the_file_knows_every_rule_set_of_the_controller():
    assert get_args(Routing.model_fields["rules"].annotation) == rule_names()

"""The guides are true: their examples run, their links lead somewhere, their reference misses nothing."""

import doctest
import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from typer.core import TyperGroup
from typer.main import get_command

from controller.deadlock.turn_rules import RULE_NAMES
from harness.run.prepare import prepare
from harness.scenario.loader import load
from harness.scenario.metrics import METRICS
from harness.scenario.schema import Collective, Control, Fault, LinkSettings, Routing, Transport
from papers.training.study import load as load_study
from railyard.cli import app

ROOT = Path(__file__).resolve().parents[1]
GUIDES = sorted(
    [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("experiments/*/*.md"),
        *ROOT.glob("labs/**/*.md"),
    ]
)
STUDIES = sorted(ROOT.glob("experiments/*/model.yaml"))
CLAIMS = sorted(ROOT.glob("experiments/*/claims.yaml"))
SCENARIOS = sorted({*ROOT.glob("experiments/*/*.yaml")} - {*STUDIES, *CLAIMS})
# Fabrics whose planning takes a quarter of a minute or more; their experiments plan them.
LARGE = {
    "10_pod",
    "27_superpod",
    "28_superpod_8192",
    "29_rails_16384",
    "37_hpn_3840",
    "40_hpn_15360",
    "41_lumoscore_8192",
}
REFERENCE = (ROOT / "docs" / "use" / "scenarios.md").read_text()
TEXTS = {path: path.read_text() for path in GUIDES}


def blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", TEXTS[path], flags=re.DOTALL)


# Files that guides tell the reader to write, by the comment in their first line.
WRITTEN = {
    name
    for path in GUIDES
    for block in blocks(path, "yaml")
    for name in re.findall(r"^# (\S+\.yaml)\n", block)
} | {
    f"{folder}/scenario.yaml"
    for path in GUIDES
    for folder in re.findall(r"railyard import .* --out (\S+)", path.read_text())
}
COMMANDS = [
    (path, line)
    for path in GUIDES
    for block in blocks(path, "sh")
    for line in block.replace("\\\n", " ").splitlines()
    if re.match(r"(sudo )?\.venv/bin/railyard ", line)
]
# Its making takes a tenth of a second.
COMMAND = get_command(app)


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.long("docs/fabrics/ub-mesh.md", "docs/fabrics/models.md")
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


@pytest.mark.parametrize(
    ("path", "block"),
    [
        pytest.param(path, block, id=f"{name_of(path)}-{number}")
        for path in GUIDES
        for number, block in enumerate(blocks(path, "yaml"))
        if "\nname:" in f"\n{block}" and "\nchecks:" not in block  # files of claims have tests of their own
    ],
)
def test_scenarios_of_the_guides_are_good(path: Path, block: str, tmp_path: Path):
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(block)
    for module in blocks(path, "python"):
        if title := re.match(r"# (\S+\.py)\n", module):
            (tmp_path / title[1]).write_text(module)
    assert prepare(*load(scenario))


@pytest.mark.parametrize(
    ("path", "line"), COMMANDS, ids=[f"{name_of(path)}: {line}" for path, line in COMMANDS]
)
def test_commands_have_existing_options_and_files(path: Path, line: str):
    words = shlex.split(re.split(r"[|>&]", line)[0], comments=True)
    verb, *arguments = words[words.index(".venv/bin/railyard") + 1 :]
    assert isinstance(COMMAND, TyperGroup)
    assert verb in COMMAND.commands
    COMMAND.commands[verb].make_context(verb, list(arguments))
    files = [word for word in arguments if word.endswith((".yaml", ".ipynb"))]
    assert [name for name in files if name not in WRITTEN and not (ROOT / name).exists()] == []


def test_every_guide_is_in_the_index():
    index = TEXTS[ROOT / "docs" / "index.md"]
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("docs/**/*.ipynb"), *ROOT.glob("experiments/*/README.md")]
    missing = [name_of(page) for page in pages if name_of(page).removeprefix("docs/") not in index]
    assert missing == ["docs/index.md"]


@pytest.mark.parametrize("path", SCENARIOS, ids=name_of)
def test_scenarios_of_the_experiments_are_read(path: Path):
    assert load(path)[0].name


@pytest.mark.long(
    "experiments/07_moe_iteration/scenario.yaml",
    "experiments/15_circuits/scenario.yaml",
    "experiments/14_rails_2048/scenario.yaml",
    "experiments/12_placements/scenario.yaml",
    "experiments/07_moe_iteration/dispatch.yaml",
    "experiments/34_rings/borrowed.yaml",
    "experiments/34_rings/scenario.yaml",
)
@pytest.mark.parametrize("path", SCENARIOS, ids=name_of)
def test_scenarios_of_the_experiments_are_good(path: Path):
    loaded = load(path)
    assert not LARGE.isdisjoint(path.parts) or prepare(*loaded)


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
    assert [name for name in (*METRICS, *RULE_NAMES) if name not in REFERENCE] == []


def test_the_file_knows_every_rule_set_of_the_controller():
    assert get_args(Routing.model_fields["rules"].annotation) == RULE_NAMES

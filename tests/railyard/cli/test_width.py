# SPDX-License-Identifier: Apache-2.0
"""On 80 columns, and on fewer, nothing is cut that a person reads or types again."""

import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from harness.scenario.document import name_of
from harness.scenario.library import scenario_files
from railyard.cli.display.table import print_table
from topologies.families.registry import names

ROOT = Path(__file__).resolve().parents[3]
Railyard = Callable[..., tuple[int, str, str]]

HEADINGS = ("variant", "took, µs", "frames lost", "retransmitted", "file", "what it is")
ROWS = [
    ("healthy", "3,228.596", "0", "12", "experiments/01_first_train/scenario.yaml", "all links are up"),
    ("[bold]one line across[/]",),
    (
        "cut, all paths",
        "123,456,789.25",
        "1,024",
        "17",
        "every_link.yaml",
        "a link [red]fails[/] under the AllReduce",
    ),
]


@pytest.mark.parametrize("width", [30, 45, 60, 72, 80, 100, 120, 200])
def test_a_table_of_any_width_holds_every_number_name_and_word(width: int):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    print_table(
        console, HEADINGS, ROWS, numbers=HEADINGS[1:4], names=["file"], title="Runs", caption="times in µs"
    )
    assert isinstance(console.file, io.StringIO)
    said = console.file.getvalue()
    assert "…" not in said
    whole = [cell for row in ROWS for cell in row[1:5]]
    words = [word for row in ROWS for cell in row for word in re.sub(r"\[.*?\]", "", cell).split()]
    shown = re.split(r"\s+", said)
    for cell in [
        *(cell for cell in whole if len(cell) < width - 10),
        *(word for word in words if len(word) < width - 10),
    ]:
        assert cell in shown, cell
    assert max(map(len, said.splitlines())) <= width
    assert "one line across" in said


def test_a_wide_screen_has_a_line_for_each_row():
    console = Console(file=io.StringIO(), width=200, highlight=False)
    print_table(console, HEADINGS, ROWS, numbers=HEADINGS[1:4])
    assert isinstance(console.file, io.StringIO)
    header, first, across, second = console.file.getvalue().splitlines()
    assert across.strip() == "one line across"
    # Numbers end where their heading ends.
    assert header.index("µs") + 2 == first.index("3,228.596") + 9 == second.index("123,456,789.25") + 14


SCENARIO = """\
name: small
topology: {name: full-mesh, dims: [2, 2]}
collective: {elements: 1024}
variants:
  - name: healthy
  - name: cut
    title: A link cut, all paths, those concerned told directly
    faults: [{at_us: 0.05, link: npu0-npu1}]
  - name: flooded
    routing: {strategy: shortest, notification: flooding}
    faults: [{at_us: 0.05, link: npu0-npu1}]
"""


def test_every_verb_fits_80_columns(railyard: Railyard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    scenario = tmp_path / "small.yaml"
    scenario.write_text(SCENARIO)
    mesh = ("full-mesh", "--dims", "4x4")
    said = {
        verb[0]: railyard(*verb)
        for verb in (
            ("list",),
            ("check", "small.yaml"),
            ("run", "small.yaml"),
            ("sweep", "small.yaml", "--fail-each", "link", "--jobs", "1"),
            ("show", *mesh, "--node", "npu5"),
            ("craft", *mesh, "--from", "npu5", "--to", "npu10", "--bucket", "3"),
            ("experiments", "--list"),
        )
    }
    for verb, (code, out, _) in said.items():
        assert code == 0, verb
        assert "…" not in out
        table = [line for line in out.splitlines() if "  " in line.strip()]
        assert max(map(len, table), default=0) <= 80, verb
    listed = said["list"][1].split()
    scenarios = (name_of(path) for path in scenario_files())
    assert {*names(), *scenarios} - {*listed} == set()
    document = (tmp_path / "results" / "small" / "result.json").read_text()
    completion = dict(re.findall(r'"(\w+)\.completion_us": ([\d.]+)', document))
    for figure in completion.values():
        assert f"{round(float(figure), 3):,}".rstrip("0") in said["run"][1]
    for name in ("npu4-npu5", "npu5-npu6", "npu5-npu13", "device", "host"):
        assert name in said["show"][1]


def test_metrics_keep_their_names(railyard: Railyard, monkeypatch: pytest.MonkeyPatch):
    from harness.scenario.metrics import ALL_METRICS

    monkeypatch.setenv("COLUMNS", "60")
    assert {*ALL_METRICS} <= {*railyard("list", "--metrics")[1].split()}


def test_the_version_is_that_of_the_package(railyard: Railyard):
    code, out, _ = railyard("--version")
    assert code == 0
    assert re.fullmatch(r"railyard( \d+\.\d+\S*|, from a source tree that is not installed)\n", out)


@pytest.mark.parametrize(
    "verb",
    [
        "run",
        "check",
        "list",
        "show",
        "craft",
        "up",
        "sweep",
        "results",
        "bundle",
        "experiments",
        "model",
        "dissector",
        "clean",
    ],
)
def test_the_help_of_a_verb_teaches_by_example(
    railyard: Railyard, monkeypatch: pytest.MonkeyPatch, verb: str
):
    monkeypatch.setenv("COLUMNS", "80")
    out = railyard(verb, "--help")[1]
    assert f"railyard {verb}" in out.partition("Examples:")[2]
    assert "…" not in out

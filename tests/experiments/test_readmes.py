# SPDX-License-Identifier: Apache-2.0
"""Figures in the READMEs of the experiments are those of runs; `readmes.yaml` says of which."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.files import EXPERIMENTS
from harness.scenario.document import Document
from papers.claims import Check, FigureStore, Runner, local
from papers.claims.expression import Expression
from papers.claims.figures.sources import Figures, ScenarioSource
from tests.papers.checks import checks

READMES = Document(Path(__file__).with_name("readmes.yaml")).values

QUICK = {"12_placements", "13_rail_faults", "19_every_path"}
"""Experiments that every run of the tests measures; the others take seconds to minutes."""

OTHERS = {
    "02_real_time": "real time, on Linux interfaces",
    "03_deadlock": "no figures but keys of the scenario",
    "04_intra_rack": "figures of the paper; ours are in docs/fabrics/parallelism.md",
    "05_inter_rack": "the same",
    "06_bandwidth": "the same",
    "07_moe_iteration": "shares of the paper's Table 1, inputs of the scenario",
    "10_pod": "times of the machine",
    "14_rails_2048": "times of the machine",
    "15_circuits": "times and counts in words",
    "28_superpod_8192": "many minutes and gigabytes",
    "29_rails_16384": "many minutes and gigabytes",
    "30_gloo": "another library",
    "31_ns3_ub": "another simulator",
    "32_real_time_jobs": "real time, on Linux interfaces",
    "37_hpn_3840": "many minutes",
    "38_htsim": "another simulator",
    "46_uet_htsim": "another simulator",
    "39_collectives_of_others": "other tools",
    "40_hpn_15360": "many minutes and gigabytes",
    "41_lumoscore_8192": "many minutes and gigabytes",
    "42_simai": "another simulator",
    "47_training": "PyTorch, many minutes",
    "45_congestion": "minutes; the guide runs the small incast",
}
"""Experiments whose figures no test compares, and why."""

NUMBER = re.compile(r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")


def tables(readme: str) -> list[list[list[str]]]:
    """Return the cells of each table, without headings and without the first cell of a row."""
    result: list[list[list[str]]] = []
    inside = False
    for line in readme.splitlines():
        if not line.startswith("|"):
            inside = False
        elif not inside:
            inside = True
            result.append([])
        elif not line.startswith("|--"):
            result[-1].append([cell.strip() for cell in line.split("|")][2:-1])
    return result


def compared(item: Mapping[str, Any], readme: str) -> Iterator[tuple[str, list[str]]]:
    """Yield words of a README with numbers, and the figure of each number as an expression."""
    text = " ".join(readme.split())
    for words, figures in item.get("text", {}).items():
        assert words in text, words
        yield words, list(figures)
    if "table" not in item:
        return
    for row, cells in zip(item["rows"], tables(readme)[item["table"] - 1], strict=False):
        for column, cell in zip(item["columns"], cells, strict=False):
            if row is None or column is None or not NUMBER.search(cell):
                continue
            templates = item.get("cell") or (column if isinstance(column, tuple) else [column])
            names = [name if "." in name or "{" in name else f"{{row}}.{name}" for name in templates]
            yield cell, [name.format(row=row, column=column) for name in names]


def differing(figures: Figures, item: Mapping[str, Any], readme: str) -> Iterator[str]:
    """Yield words of a README whose numbers are not those of the run, to the digits that they have."""
    for words, names in compared(item, readme):
        numbers = NUMBER.findall(words)
        if "only" in item:
            numbers = numbers[: item["only"]]
        assert len(numbers) == len(names), (words, names)
        for shown, name in zip(numbers, names, strict=True):
            value = Expression(name).of(figures.plain, figures.each)
            digits = len(shown.partition(".")[2])
            if abs(value - float(shown.replace(",", ""))) > 0.5 * 10**-digits + 1e-9:
                yield f"{words}: {name} is {value:,.{digits + 2}f}"


def figures_of(experiment: str, source: str) -> Figures:
    """Run a check of an experiment, or all variants of a scenario file."""
    if source.endswith(".yaml"):
        check = Check(source, "", (), ScenarioSource((EXPERIMENTS / experiment / source,)))
    else:
        check = checks(experiment)[source]
    (finished,) = Runner(FigureStore(), local()).finished([check])
    assert finished.figures is not None, finished.trouble
    return finished.figures


CASES = [(experiment, source) for experiment, sources in READMES.items() for source in sources]


@pytest.mark.long(*(f"{name}-{source}" for name, source in CASES if name not in QUICK))
@pytest.mark.parametrize(("experiment", "source"), CASES, ids=[f"{name}-{source}" for name, source in CASES])
def test_a_readme_has_the_figures_of_its_run(experiment: str, source: str):
    readme = (EXPERIMENTS / experiment / "README.md").read_text(encoding="utf-8")
    figures = figures_of(experiment, source)
    assert [line for item in READMES[experiment][source] for line in differing(figures, item, readme)] == []


@pytest.mark.parametrize(("experiment", "source"), CASES, ids=[f"{name}-{source}" for name, source in CASES])
def test_words_and_cells_that_are_compared_are_in_the_readme(experiment: str, source: str):
    readme = (EXPERIMENTS / experiment / "README.md").read_text(encoding="utf-8")
    for item in READMES[experiment][source]:
        figures = [*compared(item, readme)]
        assert figures
        for _, names in figures:
            for name in names:
                Expression(name)
        if "table" in item:
            assert len(item["rows"]) <= len(tables(readme)[item["table"] - 1])


def test_each_experiment_is_compared_or_says_why_not():
    folders = {path.parent.name for path in EXPERIMENTS.glob("*/README.md")}
    assert set(READMES) | set(OTHERS) == folders
    assert not set(READMES) & set(OTHERS)


def test_a_changed_figure_of_a_readme_is_found():
    figures = Figures({"slow.completion_us": 12.345, "slow.lost_frames": 1234})
    item = {"table": 1, "rows": ("slow",), "columns": ("completion_us", "lost_frames")}
    readme = "| | time | lost |\n|---|---|---|\n| slow | {} | {} |\n"
    assert [*differing(figures, item, readme.format("12.35 µs", "1,234"))] == []
    assert [*differing(figures, item, readme.format("12.36 µs", "1,234"))] == [
        "12.36 µs: slow.completion_us is 12.3450"
    ]
    assert [*differing(figures, item, readme.format("12.3 µs", "1,235"))] == [
        "1,235: slow.lost_frames is 1,234.00"
    ]
    assert [
        *differing(figures, {"text": {"took 12.3 µs": ("slow.completion_us",)}}, "it took\n12.3 µs")
    ] == []

# SPDX-License-Identifier: Apache-2.0
"""Import of files of other tools given to `railyard run`: each becomes a scenario beside its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from railyard.cli.display.screen import say

__all__ = ["scenarios_of"]

_SHOWN_LINES = 40


def scenarios_of(files: Sequence[Path], folder: Path | None, *, quiet: bool) -> list[Path]:
    """Return the scenario files to run: given scenario files, and scenarios made from files of other tools.

    A scenario is written to the folder imported/ of its results.

    Args:
        files: Files and folders that the command names.
        folder: Folder that `--out` names.
        quiet: Print nothing.

    Raises:
        FormatError: A file of another tool is invalid.
        OutputError: The folder already contains a different scenario, which may have been edited.
    """
    if all(file.suffix in (".yaml", ".yml") for file in files):
        return [*files]
    from harness.formats.detection import format_of

    scenarios: list[Path] = []
    groups = _groups({file: format_of(file) for file in files})
    for name, together in groups:
        if name is None:
            scenarios += together
        elif name == "htsim-plan":
            scenarios += _of_plan(together[0], folder, quiet=quiet)
        else:
            scenarios.append(_imported(name, together, folder, several=len(groups) > 1, quiet=quiet))
    return scenarios


def _groups(names: Mapping[Path, str | None]) -> list[tuple[str | None, list[Path]]]:
    """Return the format and the files of each scenario; the format is None for scenario files.

    All traces of Chakra make one scenario, and each traffic matrix of htsim takes the topology files with it.
    """
    traces = [file for file, name in names.items() if name == "chakra"]
    topologies = [file for file in names if file.suffix == ".topo"]
    groups: list[tuple[str | None, list[Path]]] = []
    for file, name in names.items():
        if name == "chakra":
            if file is traces[0]:
                groups.append((name, traces))
        elif name == "htsim" and file not in topologies:
            groups.append((name, [file, *topologies]))
        elif file not in topologies or len(topologies) == len(names):
            groups.append((name, [file]))
    return groups


def _of_plan(plan: Path, folder: Path | None, *, quiet: bool) -> list[Path]:
    """Write a scenario for each experiment in a plan of uet-htsim, and return the files."""
    from harness.formats.htsim_plan import read_plan
    from harness.formats.written import scenario_name, write_imported

    base = Path("results") if folder is None else folder
    experiments = read_plan(plan)
    scenarios = [
        write_imported(experiment, base / scenario_name(experiment) / "imported", plan.name, again=True)
        for experiment in experiments
    ]
    if not quiet:
        for scenario in scenarios:
            say(f"written: {scenario}")
    return scenarios


def _imported(name: str, files: Sequence[Path], folder: Path | None, *, several: bool, quiet: bool) -> Path:
    from harness.formats.registry import read_files
    from harness.formats.written import scenario_name, write_imported

    imported = read_files(name, files)
    own = scenario_name(imported)
    target = Path("results", own) if folder is None else folder / own if several else folder
    scenario = write_imported(imported, target / "imported", files[0].name, again=True)
    if not quiet:
        lines = scenario.read_text(encoding="utf-8").splitlines()
        shown = lines[:_SHOWN_LINES]
        if len(lines) > len(shown):
            shown.append(f"... {len(lines) - len(shown)} more lines")
        say(*(f"  {line}" for line in shown))
        say(f"written: {scenario}")
    return scenario

# SPDX-License-Identifier: Apache-2.0
"""Files of claims shipped with Railyard, by name, such as `ub-mesh` or `11_rails`."""

from __future__ import annotations

from pathlib import Path

from harness.errors import ScenarioError
from harness.files import EXPERIMENTS
from harness.scenario.document import name_of
from topologies.errors import suggestion

__all__ = ["claims_of", "experiment_files", "named_claims", "paper_files"]

FILE = "claims.yaml"


def paper_files() -> dict[str, Path]:
    """Return the files of claims of the papers, by name of the paper."""
    return {name_of(path): path for path in sorted(Path(__file__).parents[2].glob(f"*/{FILE}"))}


def experiment_files() -> dict[str, Path]:
    """Return the files of claims of the experiments, by name of the experiment's folder."""
    return {path.parent.name: path for path in sorted(EXPERIMENTS.glob(f"*/{FILE}"))}


def named_claims() -> dict[str, Path]:
    """Return all files of claims shipped with Railyard, by name."""
    return {**paper_files(), **experiment_files()}


def claims_of(given: str) -> Path:
    """Return the file of claims named on a command line, by path, paper, or experiment's folder.

    Raises:
        ScenarioError: There is no such file and no such name.
    """
    path = Path(given)
    if path.is_file() or path.suffix or len(path.parts) != 1:
        return path
    known = named_claims()
    if given in known:
        return known[given]
    remedy = suggestion(given, known, "`railyard experiments --list` shows the names")
    raise ScenarioError(f"{given} is neither a file nor the name of a paper or an experiment", remedy=remedy)

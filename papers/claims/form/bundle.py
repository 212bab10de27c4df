# SPDX-License-Identifier: Apache-2.0
"""Bundle of a file of claims: the file, the files it names and its results, in one file to run again."""

from __future__ import annotations

import json
import platform
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

from harness.errors import ScenarioError
from harness.files import EXPERIMENTS
from harness.report.bundle import extract, name_below, read_file
from harness.scenario.digest import files_of, sha256
from harness.scenario.loader import load
from harness.version import railyard_version
from papers.claims.check import Check, Row
from papers.claims.figures.sources import ModelSource
from papers.claims.form.reader import ClaimFile
from topologies.plugins.python_file import is_reference

__all__ = ["Compared", "Outcome", "compare", "is_claims", "pack", "unpack"]

_FORMAT = "railyard-claims-bundle"
_ABOUT = "bundle.json"
_RESULTS = "results"
_read = partial(read_file, remedy="run `railyard experiments FILE` first, or name the folder with --results")

Outcome: TypeAlias = Literal["equal", "within", "out"]
"""Comparison of a figure: equal to the bundle's, within what the claim accepts, or out of it."""


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """A row computed on this machine compared with `value`, the figure in the bundle."""

    check: str
    row: Row
    value: float | None
    outcome: Outcome


def is_claims(path: Path) -> bool:
    """Return whether a file is a bundle of claims."""
    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as bundle:
        return _ABOUT in bundle.namelist() and json.loads(bundle.read(_ABOUT)).get("format") == _FORMAT


def pack(file: ClaimFile, results: Path) -> dict[str, bytes]:
    """Return the contents of the files of a bundle, by name.

    Args:
        results: folder of the results of the file of claims.

    Raises:
        ScenarioError: The results belong to another file of claims, or a file that it names is outside of its
            folder.
        OutputError: A file cannot be read.
    """
    document = json.loads(_read(results / "experiments.json"))
    if document["paper"] != file.name or not document["finished"]:
        raise ScenarioError(
            f"{results} does not hold all results of {file.path}",
            remedy=f"run `railyard experiments {file.path}`",
        )
    said = [(entry["name"], [row["name"] for row in entry["claims"]]) for entry in document["checks"]]
    for name, claims in said:
        declared = [claim.name for check in file.checks if check.name == name for claim in check.claims]
        if claims != declared:
            raise ScenarioError(
                f"{results}: the claims of the check {name!r} differ from those of {file.path}",
                remedy=f"run `railyard experiments {file.path}` again, without --kind",
            )
    home = file.path.resolve().parent
    content: dict[str, bytes] = {}
    for path in dict.fromkeys([file.path, *_named(file)]):
        if path.is_relative_to(EXPERIMENTS) and not home.is_relative_to(EXPERIMENTS):
            continue  # the receiver's Railyard has this file
        content[name_below(path, file.path)] = _read(path)
    functions = [function for function in _functions(file) if function and not is_reference(function)]
    modules = sorted({function.partition(":")[0] for function in functions})
    kept = [*results.glob("experiments.*"), *results.glob("*.svg"), *results.glob("figures/*.json")]
    for path in sorted(kept):
        content[f"{_RESULTS}/{path.relative_to(results).as_posix()}"] = _read(path)
    about = {
        "format": _FORMAT,
        "schema": 1,
        "name": file.name,
        "file": file.path.name,
        "checks": [name for name, _ in said],
        "versions": {"railyard": railyard_version(), "python": platform.python_version()},
        "modules": modules,
        "sha256": {name: sha256(data) for name, data in sorted(content.items())},
    }
    return {_ABOUT: (json.dumps(about, indent=2) + "\n").encode(), **content}


def unpack(path: Path, folder: Path) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Extract a bundle; return the path of its file of claims, its bundle.json, and its experiments.json.

    Raises:
        ScenarioError: The file is no bundle of claims, or it is damaged.
    """
    about, document = extract(path, folder, "experiments.json")
    for name, hashed in about["sha256"].items():
        if not (folder / name).is_file() or sha256((folder / name).read_bytes()) != hashed:
            raise ScenarioError(
                f"{path}: {name} differs from the file that was packed", remedy="get the bundle again"
            )
    return folder / about["file"], about, document


def compare(check: Check, rows: Sequence[Row], document: Mapping[str, Any]) -> Iterator[Compared]:
    """Yield each row of a check with the value in a bundle; `document` is the bundle's experiments.json."""
    (entry,) = (entry for entry in document["checks"] if entry["name"] == check.name)
    before = {claim["name"]: claim for claim in entry["claims"]}
    for row in rows:
        was = before[row.claim.name]
        value = None if row.measured is None else row.measured.value
        outcome: Outcome = "out" if row.verdict == "unexpected" else "within"
        if row.verdict == was["verdict"] and value == was["value"]:
            outcome = "equal"
        yield Compared(check.name, row, was["value"], outcome)


def _named(file: ClaimFile) -> Iterator[Path]:
    """Yield each file named in a file of claims, or in one of its scenarios."""
    for function in _functions(file):
        if is_reference(function):
            yield Path(function.rpartition(":")[0])
    for check in file.checks:
        if not isinstance(check.source, ModelSource):
            for scenario in check.source.files:
                yield scenario
                yield from files_of(load(scenario)[0])
    yield from file.files


def _functions(file: ClaimFile) -> Iterator[str]:
    for check in file.checks:
        if isinstance(check.source, ModelSource):
            yield check.source.function
        else:
            yield check.source.derive
        yield check.source.picture
        for claim in check.claims:
            if claim.mutation is not None:
                yield claim.mutation.function

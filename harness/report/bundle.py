# SPDX-License-Identifier: Apache-2.0
"""Bundle: a file with scenario, fabric, plan, seed, versions and results of a run, to replay the run."""

from __future__ import annotations

import json
import platform
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.errors import OutputError, ScenarioError
from harness.output import writing
from harness.recording.file import RECORDING
from harness.run.prepare import Prepared
from harness.scenario.digest import digest, files_of
from harness.scenario.metrics import ALL_METRICS
from harness.scenario.schema import Scenario
from harness.version import railyard_version
from topologies.model.codec import to_json as fabric_json

__all__ = [
    "SUFFIX",
    "as_run",
    "differences",
    "extract",
    "is_bundle",
    "name_below",
    "pack",
    "read_file",
    "unpack",
    "write",
]

SUFFIX = ".railyard"

_FORMAT = "railyard-bundle"
_SCENARIO = "scenario.yaml"
_RESULTS = ("result.json", "report.html", "picture.svg", RECORDING)
# All entries of the ZIP file have this date, so that equal runs give equal bundles.
_DATE = (1980, 1, 1, 0, 0, 0)


def as_run(scenario: Scenario, prepared: Sequence[Prepared]) -> Scenario:
    """Return the scenario with its prepared variants, of which a run computes the hash `input`.

    They have the algorithms that `prepare` chose where the file gives none.
    """
    return scenario.model_copy(update={"variants": tuple(ready.variant for ready in prepared)})


def is_bundle(path: Path) -> bool:
    """Return whether a file is a ZIP file, as a bundle is."""
    return zipfile.is_zipfile(path)


def pack(
    folder: Path, file: Path, scenario: Scenario, prepared: Sequence[Prepared], options: Mapping[str, Any]
) -> dict[str, bytes]:
    """Return the files of a bundle by name.

    Args:
        folder: Folder with the results of the run.
        file: The scenario file.
        scenario: The scenario as it ran.
        prepared: The prepared variants of the scenario.
        options: `seed`, `dims` and `variants` of the run.

    Raises:
        ScenarioError: The results are of another scenario, or the scenario names a file outside of its
            folder.
        OutputError: A file cannot be read.
    """
    result = json.loads(read_file(folder / "result.json"))
    if result["input"] != digest(as_run(scenario, prepared), options["seed"]):
        raise ScenarioError(
            f"{folder / 'result.json'} is the result of another scenario than {file}: their hashes differ",
            remedy="run the scenario again, or give the file of this run with --scenario",
        )
    about = {
        "format": _FORMAT,
        "schema": 1,
        "scenario": scenario.name,
        "testbed": result["testbed"],
        "versions": {"railyard": railyard_version(), "python": platform.python_version()},
        **options,
    }
    content = {
        "bundle.json": (json.dumps(about, indent=2, sort_keys=True) + "\n").encode(),
        _SCENARIO: read_file(file),
        "fabric.json": fabric_json(prepared[0].fabric).encode(),
        "plan.json": (json.dumps(_plans(prepared), indent=1) + "\n").encode(),
    }
    for path in files_of(scenario):
        content[name_below(path, file)] = read_file(path)
    captures = sorted(folder.glob("*.pcap"))
    kept = [folder / name for name in _RESULTS if (folder / name).is_file()]
    return content | {f"results/{path.name}": read_file(path) for path in [*kept, *captures]}


def write(target: Path, content: Mapping[str, bytes]) -> None:
    """Write the files of a bundle, given by name, to the ZIP file `target`."""
    zipped = zipfile.ZIP_DEFLATED
    with writing(target, "give another file with --out"), zipfile.ZipFile(target, "w", zipped) as bundle:
        for name, data in content.items():
            bundle.writestr(zipfile.ZipInfo(name, _DATE), data, zipped)


def name_below(path: Path, file: Path) -> str:
    """Return the name of a file in a bundle: its path from the folder of `file`, which names it.

    Raises:
        ScenarioError: The path lies outside of this folder.
    """
    try:
        return path.resolve().relative_to(file.resolve().parent).as_posix()
    except ValueError:
        raise ScenarioError(
            f"{path} lies outside of the folder of {file}", remedy=f"put it beside {file.name}"
        ) from None


def unpack(path: Path, folder: Path) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Extract a bundle into a folder.

    Returns:
        Path of the scenario file, content of bundle.json, content of result.json.

    Raises:
        ScenarioError: The file is no bundle, or it is damaged.
    """
    about, result = extract(path, folder, "result.json")
    if about.get("format") != _FORMAT:
        raise ScenarioError(
            f"{path} is not a bundle of Railyard", remedy="make a bundle with `railyard bundle`"
        )
    return folder / _SCENARIO, about, result


def extract(path: Path, folder: Path, result: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Extract a bundle of any kind; return the contents of bundle.json, and of the file `result` of results.

    Raises:
        ScenarioError: The file is no bundle, or it is damaged.
    """
    try:
        with zipfile.ZipFile(path) as bundle:
            bundle.extractall(folder)
        about, results = (
            json.loads((folder / name).read_text(encoding="utf-8"))
            for name in ("bundle.json", f"results/{result}")
        )
    except (OSError, ValueError, zipfile.BadZipFile) as ex:
        reason = (isinstance(ex, OSError) and ex.strerror) or ex
        raise ScenarioError(
            f"{path} cannot be read as a bundle: {reason}", remedy="make a bundle with `railyard bundle`"
        ) from None
    return about, results


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the differences of two results, each in words.

    Versions of Railyard are not compared. If a run was in real time, only metrics that do not depend on times
    are compared.
    """
    timed = before["testbed"] != after["testbed"] or before["testbed"] == "mininet"
    words = []
    for name in sorted({*before["metrics"], *after["metrics"]}):
        known = ALL_METRICS.get(name.rpartition(".")[2])
        if timed and (known is None or known.timed):
            continue
        old, new = before["metrics"].get(name), after["metrics"].get(name)
        if old != new:
            words.append(f"{name}: {old} in the bundle, {new} now")
    if not timed:
        words += [
            f"{key} differs"
            for key in sorted({*before, *after} - {"metrics", "railyard"})
            if before.get(key) != after.get(key)
        ]
    return words


def _plans(prepared: Sequence[Prepared]) -> dict[str, Any]:
    return {
        ready.variant.name: {
            node: [str(entry) for entry in entries] for node, entries in ready.plan.entries.items()
        }
        for ready in prepared
    }


def read_file(path: Path, remedy: str = "name the folder of a run's results") -> bytes:
    """Return the content of a file of a bundle; OutputError with the remedy if it cannot be read."""
    try:
        return path.read_bytes()
    except OSError as ex:
        raise OutputError(f"{path} cannot be read: {ex.strerror}", remedy=remedy) from None

# SPDX-License-Identifier: Apache-2.0
"""railyard bundle: pack a run into one file, which `railyard run` runs again and compares."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.errors import ScenarioError
from railyard.cli.display.screen import out, say
from railyard.cli.options import resized

if TYPE_CHECKING:
    from harness.scenario.document import Document
    from harness.scenario.schema import Scenario

__all__ = ["EXAMPLES", "bundle", "loaded", "ran", "replay"]

EXAMPLES = """
railyard bundle results/first-train
railyard run first-train.railyard
railyard bundle my-paper.yaml
railyard experiments my-paper.railyard
"""


def bundle(
    folder: Annotated[
        Path, typer.Argument(metavar="RESULT", help="folder of a run's results, or a file of claims")
    ],
    scenario: Annotated[
        Path | None, typer.Option(help="the scenario file, if it has moved since the run")
    ] = None,
    results: Annotated[
        Path | None, typer.Option(help="folder of the results of a file of claims; else results/NAME")
    ] = None,
    target: Annotated[Path | None, typer.Option("--out", help="bundle to write; else NAME.railyard")] = None,
) -> None:
    """Pack scenario, fabric, plan, seed, versions, results and captures of a run into a single file.

    `railyard run FILE.railyard` runs the scenario again, on any machine and without root, and compares the
    results.

    For a file of claims, pack the file, its scenarios and models, and its results. `railyard experiments
    FILE.railyard` computes the results again and compares them.
    """
    from harness.report.bundle import SUFFIX, pack, write
    from harness.run.prepare import prepare

    if folder.is_file():
        _bundle_claims(folder, results, target)
        return
    file, options = ran(folder)
    file = scenario or file
    checked, document = loaded(file, options["dims"], options["seed"], options["variants"])
    prepared = prepare(checked, document)
    path = target or Path(f"{checked.name}{SUFFIX}")
    write(path, pack(folder, file, checked, prepared, options))
    say(f"written: {path}")


def _bundle_claims(file: Path, results: Path | None, target: Path | None) -> None:
    """Pack a file of claims and its results into a bundle."""
    from harness.report.bundle import SUFFIX, write
    from papers.claims import read_claims
    from papers.claims.form.bundle import pack

    claims = read_claims(file)
    content = pack(claims, results or Path("results", claims.name))
    path = target or Path(f"{claims.name}{SUFFIX}")
    write(path, content)
    say(f"written: {path}")


def replay(path: Path, folder: Path | None) -> bool:
    """Run the scenario of a bundle on the embedded testbed, and compare the results with the bundle's.

    Prints the differences, and returns whether there are none.
    """
    from tempfile import TemporaryDirectory

    from harness.output import output_folder
    from harness.report.bundle import differences, unpack
    from harness.report.captures import compare_captures, read_capture
    from harness.report.document import to_document
    from railyard.api.scenarios import execute

    with TemporaryDirectory(prefix="railyard-bundle-") as temporary:
        file, about, before = unpack(path, Path(temporary))
        checked, document = loaded(file, about["dims"], about["seed"], about.get("variants", ()))
        recorded = {capture.stem: capture for capture in sorted(file.parent.glob("results/*.pcap"))}
        with output_folder(folder or Path("results", f"{checked.name}-replay")) as target:
            result = execute(
                checked,
                document,
                about["seed"],
                captures=dict.fromkeys(_links(checked, recorded), target.path),
                command=f"railyard run {path}",
            )
            both = {f"{name}, in the bundle": capture for name, capture in recorded.items()}
            both |= {f"{name}, now": result.captures[name] for name in recorded}
            written = replace(result, captures=both).write(target)
        was = {name: read_capture(capture) for name, capture in recorded.items()}
        now = {name: read_capture(result.captures[name]) for name in recorded}
    differing = differences(before, json.loads(json.dumps(to_document(result.verdict))))
    differing += compare_captures(was, now)
    for words in differing:
        out().print(f"[red]differs[/] {words}", soft_wrap=True)
    if recorded:
        frames = sum(len(capture.data) for capture in was.values())
        say(f"{len(recorded)} captures with {frames} data frames are compared")
    figures = "untimed metrics" if about["testbed"] == "mininet" else "results"
    same = "differ" if differing else "are the same"
    version = about["versions"]["railyard"]
    say(f"{path}: the {figures} {same}; the bundle is from Railyard {version}")
    say(f"report: {written}")
    return not differing


def _links(scenario: Scenario, captures: Iterable[str]) -> list[str]:
    """Return the link names of captures named VARIANT-LINK."""
    variants = sorted((variant.name for variant in scenario.variants), key=len, reverse=True)
    of = {name: next((v for v in variants if name.startswith(f"{v}-")), "") for name in captures}
    return [*dict.fromkeys(name.removeprefix(f"{variant}-") for name, variant in of.items() if variant)]


def ran(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Return the scenario file of the `railyard run` that wrote a folder, and its options.

    The options are `seed`, `dims`, and `variants`, which is empty if all variants ran.

    Raises:
        ScenarioError: The folder contains no results of `railyard run`.
    """
    try:
        command = json.loads((folder / "timing.json").read_text(encoding="utf-8"))["command"]
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError):
        raise ScenarioError(
            f"{folder} contains no results of `railyard run`", remedy="run the scenario, or give its folder"
        ) from None
    words = shlex.split(command)
    dims = words[words.index("--dims") + 1] if "--dims" in words else ""
    variants = [after for word, after in pairwise(words) if word == "--variant"]
    return Path(words[2] if len(words) > 2 else "-"), {
        "seed": result["seed"],
        "dims": dims,
        "variants": variants,
    }


def loaded(
    file: Path, dims: object, seed: int | None, variants: Sequence[str] = ()
) -> tuple[Scenario, Document]:
    """Load a scenario file with a seed, by default its own; on a full mesh of `dims` if they are given.

    `variants` names the variants to keep; empty means all.
    """
    from harness.scenario.loader import load, with_seed
    from railyard.api.scenarios import only

    scenario, document = load(file)
    scenario = only(scenario, variants) if variants else scenario
    scenario = with_seed(scenario, document, scenario.seed if seed is None else seed)
    return (resized(scenario, str(dims)) if dims else scenario), document

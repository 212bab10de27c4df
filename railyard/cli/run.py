# SPDX-License-Identifier: Apache-2.0
"""railyard run: run a scenario, write its result and a report."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.display.screen import progress
from railyard.cli.options import Bed, Switch

if TYPE_CHECKING:
    from lab.run.testbeds import TestbedChoice
    from lab.scenario.schema import Scenario

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
railyard run experiments/01_first_train/scenario.yaml
railyard run experiments/01_first_train/scenario.yaml --dims 2x4 --seed 2 --out results/small
sudo railyard run experiments/02_real_time/scenario.yaml --testbed mininet
"""


def run(
    file: Annotated[Path, typer.Argument(help="scenario file, see `railyard list`")],
    testbed: Annotated[
        Bed, typer.Option(help="embedded: virtual time, no root; mininet: real time, as root")
    ] = Bed.embedded,
    switch: Annotated[
        Switch | None, typer.Option(help="switch on mininet; unless given, bmv2 if installed")
    ] = None,
    dilation: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="real seconds per second of the scenario on mininet; unless given, what this machine can do",
        ),
    ] = None,
    dims: Annotated[
        str,
        typer.Option(
            help="run on a full mesh of these dims, as 2x4, in place of the topology; without assertions"
        ),
    ] = "",
    pcap: Annotated[
        list[str] | None,
        typer.Option(metavar="LINK", help="record this link in OUT/VARIANT-LINK.pcap; may be repeated"),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="seed in place of the scenario's own")] = None,
    folder: Annotated[
        Path | None, typer.Option("--out", help="folder for the results; else results/NAME")
    ] = None,
) -> None:
    """Run a scenario; write result.json, report.html, picture.svg and timing.json.

    Exit code 0: all assertions hold; 1: an assertion fails; 2: the scenario or the machine is at fault.
    """
    from lab.report.output import output_folder
    from lab.scenario.loader import load
    from railyard.api.scenarios import execute
    from railyard.cli.display.summary import print_summary

    choice = _choice(testbed, switch, dilation)
    scenario, document = load(file)
    if dims:
        scenario = _resized(scenario, dims)
    seed = scenario.seed if seed is None else seed
    given = ["--seed", str(seed), *choice.options, *(["--dims", dims] if dims else [])]
    command = shlex.join(["railyard", "run", str(file), *given])
    with output_folder(folder or Path("results", scenario.name)) as target:
        with progress([variant.name for variant in scenario.variants]) as note:
            captures = dict.fromkeys(pcap or (), target.path)
            result = execute(
                scenario, document, seed, progress=note, choice=choice, captures=captures, command=command
            )
        report = result.save(target.path)
    print_summary(scenario, result.verdict, result.runs, report)
    raise typer.Exit(0 if result.passed else 1)


def _choice(testbed: Bed, switch: Switch | None, dilation: int | None) -> TestbedChoice:
    from lab.run.testbeds import Embedded, RealTime

    if testbed is Bed.mininet:
        from emulation.mininet.switches import choose

        return RealTime(choose(switch.value if switch else None), dilation)
    for option, value in (("--switch", switch), ("--dilation", dilation)):
        if value is not None:
            raise typer.BadParameter("is for --testbed mininet", param_hint=option)
    return Embedded()


def _resized(scenario: Scenario, dims: str) -> Scenario:
    """Return the scenario on a full mesh of other dims, whose links keep the lanes and rates of the file.

    Title, description and assertions of the file are about its own topology, and are left out.
    """
    from railyard.cli.options import dims_of

    extents = dims_of(dims)
    topology = scenario.topology.resized("full-mesh", dims=extents)
    title = f"{scenario.name} on a full mesh of {' x '.join(map(str, extents))}"
    changes = {"topology": topology, "title": title, "description": "", "assertions": ()}
    return scenario.model_copy(update=changes)

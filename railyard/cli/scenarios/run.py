# SPDX-License-Identifier: Apache-2.0
"""railyard run: run scenarios, and write their results and reports."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.completion import links as link_names
from railyard.cli.completion import scenarios, variants
from railyard.cli.options import (
    MachinesFile,
    Quiet,
    Recorded,
    Seed,
    Switch,
    SwitchOption,
    TestbedKind,
    check_targets,
    need_testbed,
    refuse,
    resized,
)
from railyard.cli.scenarios.runs import Runs, live_page
from topologies.errors import RailyardError

if TYPE_CHECKING:
    from harness.run.testbeds import TestbedChoice
    from harness.scenario.document import Document
    from harness.scenario.schema import Scenario

__all__ = ["EXAMPLES", "run"]

EXAMPLES = """
railyard run first-train
railyard run experiments/01_first_train/scenario.yaml
railyard run experiments/01_first_train/scenario.yaml --dims 2x4 --seed 2 --out results/small
railyard run experiments/01_first_train/scenario.yaml --variant healthy --variant cut
railyard run experiments/*/scenario.yaml --quiet --no-report --junit results/junit.xml
railyard run experiments/02_real_time/scenario.yaml --json - | jq .passed
railyard run experiments/02_real_time/scenario.yaml --incidents - | jq '.variants.cut[0].blast_radius'
railyard run experiments/02_real_time/scenario.yaml --links links.csv
railyard run first-train.railyard
railyard run allreduce-allpairs-8n-ll.xml
railyard run experiments/10_pod/scenario.yaml --threads 2
railyard run experiments/01_first_train/scenario.yaml --record
railyard run experiments/01_first_train/scenario.yaml --record --frames npu0-npu1
railyard run experiments/01_first_train/scenario.yaml --trace train.json
sudo railyard run experiments/02_real_time/scenario.yaml --testbed mininet
sudo railyard run experiments/02_real_time/scenario.yaml --testbed mininet --live
sudo railyard run experiments/02_real_time/scenario.yaml --testbed mininet --machines machines.yml
"""


# Options that take `-` for the standard output, in the order of the command line.
_TABLES = ("--json", "--incidents", "--links")


def run(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="scenario files or names of `railyard list`, a bundle, or files for `railyard import`",
            autocompletion=scenarios,
        ),
    ],
    testbed: Annotated[
        TestbedKind, typer.Option(help="embedded: virtual time, no root; mininet: real time, needs root")
    ] = TestbedKind.embedded,
    switch: SwitchOption = None,
    dilation: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="real seconds per scenario second on mininet; unless given, estimated for this machine",
        ),
    ] = None,
    machines: MachinesFile = None,
    threads: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="threads of an embedded run, at most one per processor; 1 unless given. No result depends "
            "on them. --pcap, --record, --trace, --live, `pool:` and jobs that follow each other "
            "use one thread",
        ),
    ] = None,
    dims: Annotated[
        str,
        typer.Option(
            help="run on a full mesh of these dims, such as 2x4, in place of the topology; without assertions"
        ),
    ] = "",
    pcap: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK",
            help="record this link in OUT/VARIANT-LINK.pcap; may be repeated",
            autocompletion=link_names,
        ),
    ] = None,
    seed: Seed = None,
    variant: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="run only this variant, with the assertions about it; may be repeated; unless given, all",
            autocompletion=variants,
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--out", help="folder for the results, OUT/NAME for several files; unless given, results/NAME"
        ),
    ] = None,
    json_to: Annotated[
        str, typer.Option("--json", metavar="FILE", help="also write result.json to this file; - prints it")
    ] = "",
    incidents: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="write the consequences of each fault, by node and rank, as JSON to this file; - prints it",
        ),
    ] = "",
    links: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="write the counters of each link, variant and direction as CSV to this file; - prints them",
        ),
    ] = "",
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="write the assertions of all files as JUnit XML")
    ] = None,
    quiet: Quiet = False,
    no_report: Annotated[
        bool, typer.Option("--no-report", help="save time by writing no report.html and picture.svg")
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            "--trace",
            metavar="FILE",
            help="write jobs, faults, notices and loads of links as a trace for ui.perfetto.dev to this file",
        ),
    ] = None,
    record: Recorded = False,
    frames: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LINK",
            help="keep frames of this link, or of `all` links, in the recording; may be repeated; unless "
            "given, of all links of a small fabric, else of the links of faults",
            autocompletion=link_names,
        ),
    ] = None,
    live: Annotated[
        bool,
        typer.Option("--live", help="show the run in a browser, where you start it; see `railyard serve`"),
    ] = False,
    port: Annotated[int, typer.Option(min=0, max=65535, help="port of --live; 0 takes any free port")] = 8642,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume", help="keep the finished variants of an interrupted run, or run them again"
        ),
    ] = True,
) -> None:
    """Run scenarios; write result.json, report.html, picture.svg and timing.json for each.

    All files are read and checked before the first scenario runs. After a scenario that fails, the next one
    still runs; the exit code is then the highest of all. With --junit, an invalid file does not stop the
    other scenarios either: it becomes an error in the JUnit file.

    A finished variant is kept until the result is written: after Ctrl-C or a kill, the same command runs only
    the missing variants.

    Exit code 0: all assertions hold; 1: an assertion fails; 2: an error in a scenario; 3: an error of the
    machine.
    """
    from harness.scenario.library import file_of

    # A wrong name is refused before the imports of a run, which take most of the time until its message.
    files = [file_of(file) for file in files]
    from harness.scenario.loader import load
    from railyard.api.scenarios import only
    from railyard.cli.files.foreign import scenarios_of

    if len(files) == 1 and files[0].suffix == ".railyard":
        from railyard.cli.files.bundle import replay

        raise typer.Exit(0 if replay(files[0], folder) else 1)
    runs = Runs(
        _choice(testbed, switch, dilation, machines, threads),
        pcap or (),
        quiet or "-" in (json_to, incidents, links),
        not no_report,
        resume,
        record or bool(frames),
        trace,
        frames,
    )
    tables = dict(zip(_TABLES, (json_to, incidents, links), strict=True))
    printed = [name for name, to in tables.items() if to == "-"]
    if len(printed) > 1:
        refuse(printed[1], f"{printed[0]} - already writes to the standard output; give {printed[1]} a file")
    if live and len(files) > 1:
        refuse("--live", "the page shows a single scenario; give one file, or leave --live out")
    if trace and len(files) > 1:
        refuse("--trace", "a trace contains a single scenario; give one file, or leave --trace out")
    if trace and not trace.absolute().parent.is_dir():
        refuse("--trace", f"the folder {trace.parent} does not exist; create it first")
    check_targets({**tables, "--junit": junit, "--trace": trace})
    files = scenarios_of(files, folder, quiet=runs.quiet)
    loaded: list[tuple[Path, Scenario, Document]] = []
    for file in files:
        try:
            scenario, document = load(file)
            scenario = resized(scenario, dims) if dims else scenario
            loaded.append((file, only(scenario, variant) if variant else scenario, document))
        except RailyardError as ex:
            if junit is None:
                raise
            runs.fail(str(file), ex)
    _check_names([scenario.name for _, scenario, _ in loaded])
    chosen = [word for name in variant or () for word in ("--variant", name)]
    for file, scenario, document in loaded:
        own = scenario.seed if seed is None else seed
        given = ["--seed", str(own), *runs.choice.options, *(["--dims", dims] if dims else []), *chosen]
        command = shlex.join(["railyard", "run", str(file), *given])
        several = folder / scenario.name if folder and len(files) > 1 else folder
        target = several or Path("results", scenario.name)
        try:
            real = testbed is TestbedKind.mininet
            with live_page(file, scenario, own, port, real=real) if live else nullcontext() as runs.session:
                runs.run(scenario, document, own, target, command)
        except RailyardError as ex:
            if len(files) == 1 and junit is None:
                raise
            runs.fail(scenario.name, ex)
    runs.write(json_to, incidents, links, junit)
    raise typer.Exit(runs.code)


def _check_names(names: Sequence[str]) -> None:
    """Raise a usage error if two scenarios have the same name, and so the same folder of results."""
    if twice := next((name for name in names if names.count(name) > 1), None):
        refuse(
            "FILE",
            f"two scenarios are called {twice!r} and would write to the same folder; run them separately",
        )


def _choice(
    testbed: TestbedKind,
    switch: Switch | None,
    dilation: int | None,
    machines: Path | None,
    threads: int | None,
) -> TestbedChoice:
    from harness.run.testbeds import Embedded

    if testbed is TestbedKind.mininet:
        need_testbed(TestbedKind.embedded, {"--threads": threads})
        from emulation.mininet.switches.processes import choose
        from harness.run.real_time import RealTime

        kind = choose(switch.value if switch else None)
        if machines is None:
            return RealTime(kind, dilation)
        from emulation.mininet.cluster.machines import read_machines

        return RealTime(kind, dilation, read_machines(machines), str(machines))
    only_mininet = {"--switch": switch, "--dilation": dilation, "--machines": machines}
    need_testbed(TestbedKind.mininet, only_mininet)
    return Embedded(threads=threads or 1)

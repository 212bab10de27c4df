# SPDX-License-Identifier: Apache-2.0
"""railyard run: run scenarios, and write their results and reports."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, final

import typer

from railyard.cli.completion import links as link_names
from railyard.cli.completion import scenarios, variants
from railyard.cli.display.screen import complain, exit_code, progress
from railyard.cli.options import (
    MachinesFile,
    Seed,
    Switch,
    TestbedKind,
    check_targets,
    page_server,
    resized,
)
from topologies.errors import RailyardError

if TYPE_CHECKING:
    from harness.recording.history import History
    from harness.recording.recorder import Recorder
    from harness.report.junit import Failed
    from harness.report.results import Result as Verdict
    from harness.run.testbeds import TestbedChoice
    from harness.scenario.document import Document
    from harness.scenario.schema import Scenario
    from railyard.api.results import Result
    from railyard.web.session import Session

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
    switch: Annotated[
        Switch | None, typer.Option(help="software switch on mininet; unless given, bmv2 if it is installed")
    ] = None,
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
    quiet: Annotated[bool, typer.Option("--quiet", help="print errors only")] = False,
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
    record: Annotated[
        bool, typer.Option("--record", help="write OUT/run.recording, which `railyard serve OUT` replays")
    ] = False,
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
    from harness.scenario.loader import load
    from railyard.api.scenarios import only
    from railyard.cli.files.foreign import scenarios_of

    files = [file_of(file) for file in files]
    if len(files) == 1 and files[0].suffix == ".railyard":
        from railyard.cli.files.bundle import replay

        raise typer.Exit(0 if replay(files[0], folder) else 1)
    bench = _Bench(
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
        raise typer.BadParameter(
            f"{printed[0]} - already writes to the standard output; give {printed[1]} a file",
            param_hint=printed[1],
        )
    if live and len(files) > 1:
        raise typer.BadParameter(
            "the page shows a single scenario; give one file, or leave --live out", param_hint="--live"
        )
    if trace and len(files) > 1:
        raise typer.BadParameter(
            "a trace contains a single scenario; give one file, or leave --trace out", param_hint="--trace"
        )
    if trace and not trace.absolute().parent.is_dir():
        raise typer.BadParameter(
            f"the folder {trace.parent} does not exist; create it first", param_hint="--trace"
        )
    check_targets({**tables, "--junit": junit, "--trace": trace})
    files = scenarios_of(files, folder, quiet=bench.quiet)
    loaded: list[tuple[Path, Scenario, Document]] = []
    for file in files:
        try:
            scenario, document = load(file)
            scenario = resized(scenario, dims) if dims else scenario
            loaded.append((file, only(scenario, variant) if variant else scenario, document))
        except RailyardError as ex:
            if junit is None:
                raise
            bench.fail(str(file), ex)
    _check_names([scenario.name for _, scenario, _ in loaded])
    chosen = [word for name in variant or () for word in ("--variant", name)]
    for file, scenario, document in loaded:
        own = scenario.seed if seed is None else seed
        given = ["--seed", str(own), *bench.choice.options, *(["--dims", dims] if dims else []), *chosen]
        command = shlex.join(["railyard", "run", str(file), *given])
        several = folder / scenario.name if folder and len(files) > 1 else folder
        target = several or Path("results", scenario.name)
        try:
            real = testbed is TestbedKind.mininet
            with _page(file, scenario, own, port, real=real) if live else nullcontext() as bench.session:
                bench.run(scenario, document, own, target, command)
        except RailyardError as ex:
            if len(files) == 1 and junit is None:
                raise
            bench.fail(scenario.name, ex)
    bench.write(json_to, incidents, links, junit)
    raise typer.Exit(bench.code)


@final
@dataclass(slots=True)
class _Bench:
    """Runs scenarios one after the other and keeps their results; `code` is the highest exit code so far."""

    choice: TestbedChoice
    pcap: Sequence[str]
    quiet: bool
    report: bool
    resume: bool
    record: bool = False
    trace: Path | None = None
    frames: Sequence[str] | None = None
    session: Session | None = None
    code: int = 0
    done: list[Result] = field(default_factory=list)
    verdicts: list[Verdict | Failed] = field(default_factory=list)

    def run(self, scenario: Scenario, document: Document, seed: int, folder: Path, command: str) -> None:
        from harness.errors import OutputError
        from harness.output import output_folder
        from harness.run.resume_store import ResumeStore, run_key
        from railyard.api.scenarios import execute

        if (folder / "study.json").is_file():
            raise OutputError(
                f"the folder {folder} holds the results of a study, whose report this run would replace",
                remedy="give another folder with --out",
            )
        with output_folder(folder) as target:
            captures = dict.fromkeys(self.pcap, target.path)
            key = run_key(scenario, seed, self.choice, captures)
            store = ResumeStore(target, key, resume=self.resume and self.trace is None)
            names = [variant.name for variant in scenario.variants]
            history = self._history()
            with progress(names, quiet=self.quiet) as note, self._recorder(target.path, history) as recorder:
                result = execute(
                    scenario,
                    document,
                    seed,
                    progress=note,
                    choice=self.choice,
                    captures=captures,
                    command=command,
                    store=store,
                    watcher=recorder,
                )
            written = result.write(target, report=self.report)
            if self.trace and history:
                from harness.recording.perfetto import write_trace

                jobs = {name: run.observation.jobs for name, run in result.runs.items()}
                write_trace(self.trace, history, jobs)
            if self.session is not None:
                self.session.end(f"{result.verdict.held} of {len(result.verdict.assertions)} assertions hold")
            store.clear()
        self.done.append(result)
        self.verdicts.append(result.verdict)
        self.code = max(self.code, 0 if result.passed else 1)
        if not self.quiet:
            from railyard.cli.display.summary import print_summary

            print_summary(scenario, result.verdict, result.runs, written)
        elif not result.passed:
            from rich.console import Console

            from railyard.cli.display.summary import print_failed

            print_failed(result.verdict, Console(stderr=True))

    def _history(self) -> History | None:
        """Return a history that keeps the records of a run for a trace; None without `--trace`."""
        if self.trace is None:
            return None
        from harness.recording.history import History

        return History()

    @contextmanager
    def _recorder(self, folder: Path, history: History | None) -> Iterator[Recorder | None]:
        """Yield a recorder for the recording, the page and the trace; None if none of them is asked for."""
        if not self.record and self.session is None and history is None:
            yield None
            return
        from harness.recording.file import RECORDING, RecordingWriter
        from harness.recording.recorder import Recorder

        with RecordingWriter(folder / RECORDING) if self.record else nullcontext() as writer:
            sinks = [sink for sink in (writer, history) if sink is not None]
            recorder = Recorder(sinks, self.frames if self.record else ())
            if self.session is not None:
                self.session.watch(recorder)
            yield recorder

    def fail(self, name: str, error: RailyardError) -> None:
        """Print and keep the error of a scenario or of an invalid file called `name`."""
        from harness.report.junit import Failed

        complain(str(error) if str(error).startswith(name) else f"{name}: {error}")
        self.verdicts.append(Failed(name, str(error)))
        self.code = max(self.code, exit_code(error))

    def write(self, json_to: str, incidents: str, links: str, junit: Path | None) -> None:
        """Write results, incidents and counters of links of all finished scenarios, and JUnit XML.

        The JSON documents of several scenarios are written one after the other.
        """
        from railyard.cli.scenarios.link_counters import links_csv

        results = "".join(result.to_json() for result in self.done) if json_to else ""
        told = "".join(result.incidents_json() for result in self.done) if incidents else ""
        counters = links_csv(self.done) if links else ""
        for target, text in ((json_to, results), (incidents, told), (links, counters)):
            if target == "-":
                typer.echo(text, nl=False)
            elif target:
                _write(Path(target), text)
        if junit is not None:
            from harness.report.junit import to_junit

            _write(junit, to_junit(self.verdicts))


@contextmanager
def _page(file: Path, scenario: Scenario, seed: int, port: int, *, real: bool) -> Iterator[Session]:
    """Serve the live page of a run, and yield its session."""
    from railyard.cli.display.screen import tell
    from railyard.web.session import Session

    serving = page_server()
    session = Session("live", real=real, source=(file, scenario, seed))
    with serving(session, port=port) as address:
        tell(f"{address}\nstart the run on this page")
        yield session


def _write(path: Path, text: str) -> None:
    from harness.output import output_folder

    with output_folder(path.parent, lock="none") as target:
        target.write(path.name, text)


def _check_names(names: Sequence[str]) -> None:
    """Raise a usage error if two scenarios have the same name, and so the same folder of results."""
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise typer.BadParameter(
            f"two scenarios are called {twice!r} and would write to the same folder; run them separately",
            param_hint="FILE",
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
        if threads is not None:
            raise typer.BadParameter(
                "this option needs --testbed embedded; leave it out", param_hint="--threads"
            )
        from emulation.mininet.switches.processes import choose
        from harness.run.real_time import RealTime

        kind = choose(switch.value if switch else None)
        if machines is None:
            return RealTime(kind, dilation)
        from emulation.mininet.cluster.machines import read_machines

        return RealTime(kind, dilation, read_machines(machines), str(machines))
    for option, value in (("--switch", switch), ("--dilation", dilation), ("--machines", machines)):
        if value is not None:
            raise typer.BadParameter(
                "this option needs --testbed mininet; add it, or leave the option out", param_hint=option
            )
    return Embedded(threads=threads or 1)

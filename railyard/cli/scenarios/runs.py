# SPDX-License-Identifier: Apache-2.0
"""Runs of `railyard run`, one after the other: recordings, live page, results and exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, final

import typer

from railyard.cli.display.screen import complain, exit_code, progress, tell
from railyard.cli.options import page_server

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
    from topologies.errors import RailyardError

__all__ = ["Runs", "live_page"]


@final
@dataclass(slots=True)
class Runs:
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
        from harness.output import write_file
        from railyard.cli.scenarios.link_counters import links_csv

        results = "".join(result.to_json() for result in self.done) if json_to else ""
        told = "".join(result.incidents_json() for result in self.done) if incidents else ""
        counters = links_csv(self.done) if links else ""
        for target, text in ((json_to, results), (incidents, told), (links, counters)):
            if target == "-":
                typer.echo(text, nl=False)
            elif target:
                write_file(Path(target), text)
        if junit is not None:
            from harness.report.junit import to_junit

            write_file(junit, to_junit(self.verdicts))


@contextmanager
def live_page(file: Path, scenario: Scenario, seed: int, port: int, *, real: bool) -> Iterator[Session]:
    """Serve the live page of a run, and yield its session."""
    from railyard.web.session import Session

    serving = page_server()
    session = Session("live", real=real, source=(file, scenario, seed))
    with serving(session, port=port) as address:
        tell(f"{address}\nstart the run on this page")
        yield session

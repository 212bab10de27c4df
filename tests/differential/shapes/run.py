# SPDX-License-Identifier: Apache-2.0
"""Programs on the engine and on BMv2, one after the other on the same pair of switches."""

import json
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Self, final

from controller import InstallError
from controller.p4runtime.client import ProgramFiles
from tests.differential.differential import Differential
from tests.differential.effects.pairs import EffectPairs
from tests.differential.fuzz.both import Both
from tests.differential.fuzz.session import Pace, Session, Summary
from tests.differential.fuzz.subjects import Subject
from tests.differential.stf.compiled import COMPILER
from tests.differential.stf.on_bmv2 import Bmv2Error, run_on_bmv2

__all__ = ["PORTS", "Built", "Pair", "build", "build_ahead"]

PORTS = range(8)
_PACE = Pace(frames=96, chunk=32, updates=24, others=12, late_seconds=4.0, quiet_seconds=0.1)
_PATIENT = replace(_PACE, late_seconds=20.0, quiet_seconds=2.0, again_seconds=3.0)
_ROUNDS = 2
_SECONDS = 900.0


@final
@dataclass(frozen=True, slots=True)
class Built:
    """A program and what p4c made of it; without `files` the compiler's message is in `refused`.

    `whole`: the program reads headers whether they are valid or not, so that only frames with all of them
    have an outcome that P4 defines.
    """

    seed: int
    text: str
    files: ProgramFiles | None
    refused: str = ""
    whole: bool = False

    def too_short(self, frame: bytes) -> bool:
        """Return whether a frame lacks bytes of some header, so that it is not sent."""
        return self.whole and len(frame) < self._header_bytes()

    def _header_bytes(self) -> int:
        assert self.files is not None
        program = json.loads(self.files.json)
        bits = {item["name"]: sum(field[1] for field in item["fields"]) for item in program["header_types"]}
        headers = (header for header in program["headers"] if not header["metadata"])
        return sum(bits[header["header_type"]] for header in headers) // 8


def build(seed: int, text: str, directory: Path, *, whole: bool = False) -> Built:
    """Compile a program in `directory`."""
    source = directory / f"{seed}.p4"
    json_file, info = source.with_suffix(".json"), source.with_suffix(".p4info.txtpb")
    source.write_text(text)
    command = [
        COMPILER,
        "--arch",
        "v1model",
        "--Wdisable",
        "-o",
        json_file,
        "--p4runtime-files",
        info,
        source,
    ]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Built(seed, text, None, f"{COMPILER} took more than {_SECONDS:.0f} s")
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if "error" in line or "BUG" in line]
        return Built(seed, text, None, (lines or [done.stderr.strip()[-300:] or "no message"])[0])
    files = ProgramFiles(_without_cases_behind_all(json_file.read_bytes()), info.read_bytes())
    built = Built(seed, text, files, whole=whole)
    for file in (source, json_file, info):
        file.unlink()
    return built


def _without_cases_behind_all(program: bytes) -> bytes:
    """Return a program without the cases of `select` behind a case that holds all values.

    The first case that matches counts (P4_16 language specification, select expressions); BMv2 takes the last
    case that holds all values.
    """
    document = json.loads(program)
    changed = False
    for parser in document["parsers"]:
        for state in parser["parse_states"]:
            cases = state["transitions"]
            kinds = [case["type"] for case in cases]
            if "default" in kinds[:-1]:
                del cases[kinds.index("default") + 1 :]
                changed = True
    return json.dumps(document).encode() if changed else program


def build_ahead(
    seeds: Iterable[int],
    text_of: Callable[[int], str],
    directory: Path,
    pool: Executor,
    ahead: int,
    *,
    whole: bool = False,
) -> Iterator[Built]:
    """Yield the programs of the seeds in their order; `ahead` of them are built at a time."""
    waiting = iter(seeds)
    jobs: list[Future[Built]] = []

    def add(count: int) -> None:
        jobs.extend(
            pool.submit(lambda seed=seed: build(seed, text_of(seed), directory, whole=whole))
            for seed in islice(waiting, count)
        )

    add(ahead)
    while jobs:
        built = jobs.pop(0).result()
        add(1)
        yield built


@final
class Pair:
    """Both switches, with a new pair of processes after one of them has ended."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.effects = EffectPairs()
        self._stack = ExitStack()
        self._pair: Differential | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def run(self, built: Built) -> Summary:
        """Run rounds of random entries and frames, by the program's seed; what differs is in the summary.

        A program with a difference runs again on a new pair, with more patience: on a busy machine BMv2's
        frames come late, and those of one program may come while another one runs.
        """
        summary = self._run(built, _PACE)
        if summary.counts:
            self._end()
            summary = self._run(built, _PATIENT)
            if summary.counts:
                self._end()
        return summary

    def _run(self, built: Built, pace: Pace) -> Summary:
        assert built.files is not None
        summary = Summary()
        try:
            if self._pair is None:
                self._pair = Differential(
                    built.files,
                    (),
                    ports=PORTS,
                    directory=self._directory,
                    many=True,
                    on_log=self.effects.log,
                )
                self._stack.enter_context(self._pair)
            else:
                self._pair.drain(pace.quiet_seconds)
                self._pair.load(built.files)
            with Both(self._pair) as both:
                subject = Subject(built.files, fatal=built.too_short)
                session = Session(subject, built.seed, self._pair, both, summary, pace)
                for _ in range(_ROUNDS):
                    session.round()
                both.forget_replication()  # BMv2 keeps the groups for the next program, PI forgets their ids
        except Exception as ex:
            self._end()
            if isinstance(ex, InstallError) and self._refused_by_both(built):
                summary.explained["neither switch loads what p4c wrote"] += 1
                return summary
            why = " ".join(f"{type(ex).__name__}: {ex}".split())[:300]
            if isinstance(ex, InstallError) and self._refused_by_engine(built):
                why = f"only the engine refuses the program: {why}"
            summary.counts[why] += 1
            summary.examples[why] = [why]
        self.effects.finish()
        return summary

    def _end(self) -> None:
        self._stack.close()
        self._pair = None

    def _refused_by_both(self, built: Built) -> bool:
        assert built.files is not None
        if not self._refused_by_engine(built):
            return False
        with tempfile.TemporaryDirectory(prefix="shapes-bmv2-") as name:
            try:
                run_on_bmv2(built.files.json, (), Path(name))
            except Bmv2Error:
                return True
        return False

    def _refused_by_engine(self, built: Built) -> bool:
        from emulation._engine import Program

        assert built.files is not None
        try:
            Program(built.files.json)
        except ValueError:
            return True
        return False

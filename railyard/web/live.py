# SPDX-License-Identifier: Apache-2.0
"""Sessions of pages: a scenario that the page runs, and the replay of a recording."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import final

from harness.errors import RecordingError
from harness.recording.file import RECORDING, SUFFIX, is_recording, read_recording
from harness.recording.recorder import Recorder
from harness.recording.records import Kind, Record, json_record
from harness.report.bundle import is_bundle, unpack
from harness.run.prepare import prepare
from harness.scenario.document import Document
from harness.scenario.loader import load, with_seed
from harness.scenario.schema import Scenario
from railyard.api.results import Result
from railyard.api.scenarios import execute, only
from railyard.web.session import Session

__all__ = ["Live", "opened", "replay"]

# Largest number of failing assertions that the page names.
_SHOWN = 3


@final
class Live:
    """A scenario that pages can run any number of times, in one session."""

    def __init__(
        self,
        scenario: Scenario,
        document: Document,
        file: Path,
        variants: Sequence[str],
        seed: int | None,
        *,
        read_only: bool,
    ) -> None:
        self._seed = scenario.seed if seed is None else seed
        seeded = with_seed(scenario, document, self._seed)
        self._scenario = only(seeded, variants) if variants else seeded
        self._document = document
        self._prepared = prepare(self._scenario, document)
        self.session = Session("live", read_only=read_only, source=(file, self._scenario, self._seed))
        self._recorder = Recorder([])
        self.session.watch(self._recorder)

    def run(self) -> Result:
        """Run the scenario once, at the pace set by the page, and return the result."""
        result = execute(
            self._scenario, self._document, self._seed, watcher=self._recorder, prepared=self._prepared
        )
        self.session.end(_outcome(result))
        return result


def _outcome(result: Result) -> str:
    """Return a sentence with the number of passed assertions, and the values of failed assertions."""
    verdict = result.verdict
    words = f"{verdict.held} of {len(verdict.assertions)} assertions hold"
    failing = [item for item in verdict.assertions if item.verdict == "fails"]
    if not failing:
        return words
    shown = [
        f"{item.metric} is {item.shown_value}, required {item.op} {item.shown_limit}"
        for item in failing[:_SHOWN]
    ]
    more = [f"{len(failing) - _SHOWN} more"] if len(failing) > _SHOWN else []
    return f"{words}; {'; '.join([*shown, *more])}"


@contextmanager
def opened(
    path: Path, variants: Sequence[str] = (), seed: int | None = None, *, read_only: bool = False
) -> Iterator[Live | Session]:
    """Yield a live scenario, or the session that replays a recording.

    Args:
        path: A scenario file, a recording, a folder of results with a recording, or a bundle; a bundle
            without a recording is run live.
        variants: Variants to run or to replay; empty means all.
        seed: Seed of a live scenario in place of its own.
        read_only: True if only the presenter's page may control a live scenario.

    Raises:
        RailyardError: The file cannot be read, or is none of these; or `seed` or `read_only` is given for a
            recording.
    """

    def replayed(file: Path) -> Session:
        if read_only:
            raise RecordingError(
                f"{path} is a recording, which no page can change", remedy="leave out --read-only"
            )
        if seed is not None:
            raise RecordingError(
                f"{path} is a recording, whose seed is fixed",
                remedy="leave out --seed, or give the scenario file",
            )
        return replay(file, variants)

    if path.is_dir():
        if not (path / RECORDING).is_file():
            raise RecordingError(
                f"the folder {path} contains no {RECORDING}", remedy="run the scenario again with --record"
            )
        yield replayed(path / RECORDING)
    elif is_recording(path) or path.suffix == SUFFIX:
        yield replayed(path)
    elif is_bundle(path):
        with TemporaryDirectory() as folder:
            file, about, _ = unpack(path, Path(folder))
            recording = Path(folder, "results", RECORDING)
            if recording.is_file():
                yield replayed(recording)
            else:
                yield Live(
                    *load(file), file, variants, about["seed"] if seed is None else seed, read_only=read_only
                )
    else:
        yield Live(*load(path), path, variants, seed, read_only=read_only)


def replay(file: Path, variants: Sequence[str] = ()) -> Session:
    """Return a session to replay the recording in a file, or only some of its variants.

    Raises:
        RecordingError: The file cannot be read, or has no variant of a name in `variants`.
    """
    recording = read_recording(file)
    session = Session("replay")
    for record in _only(recording.records, variants) if variants else recording.records:
        session.history(record)
    session.end("" if recording.whole else f"{file.name} was cut short; its beginning is shown")
    return session


def _only(records: Sequence[Record], names: Sequence[str]) -> Iterator[Record]:
    """Yield the records of the named variants, and the records that belong to no variant."""
    header = records[0].values
    known = [variant["name"] for variant in header["variants"]]
    for name in names:
        if name not in known:
            raise RecordingError(
                f"the recording has no variant named {name!r}", remedy=f"choose among {', '.join(known)}"
            )
    chosen = [variant for variant in header["variants"] if variant["name"] in names]
    yield json_record(Kind.HEADER, {**header, "variants": chosen})
    wanted = True
    for record in records[1:]:
        if record.kind is Kind.VARIANT:
            wanted = record.values["name"] in names
        if wanted or record.kind is Kind.CLOSE:
            yield record

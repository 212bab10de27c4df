# SPDX-License-Identifier: Apache-2.0
"""Rounds of random entries and random frames, and what they bring to light."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import final

from finsy.proto import p4i, p4r

from controller.p4runtime.p4info import P4Info
from tests.differential.bmv2 import NODE
from tests.differential.differential import Differential, Frame, show
from tests.differential.fuzz.both import Both, Difference, describe
from tests.differential.fuzz.explained import explanation
from tests.differential.fuzz.frames import FrameMaker, Pool
from tests.differential.fuzz.replication import ReplicationMaker
from tests.differential.fuzz.subjects import Subject
from tests.differential.fuzz.updates import UpdateMaker

__all__ = ["Pace", "Session", "Summary", "fuzz"]

_PORTS = range(8)
_ROUNDS_A_PIPELINE = 16
_SHORTEST = 14
_EXAMPLES = 3


@final
@dataclass(frozen=True, slots=True)
class Pace:
    """Numbers of a round: frames, `chunk` of them into one port in a row; updates of tables, and others.

    A frame of BMv2 is lost after `late_seconds` of silence; nothing may follow for `quiet_seconds`. When the
    frames of a difference are sent again, `again_seconds` take the place of the first.
    """

    frames: int = 2_048
    chunk: int = 256
    updates: int = 40
    others: int = 12
    late_seconds: float = 1.0
    quiet_seconds: float = 0.03
    again_seconds: float = 0.3


@final
@dataclass
class Summary:
    frames: int = 0
    outputs: int = 0
    updates: int = 0
    refused: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    explained: Counter[str] = field(default_factory=Counter)
    """Number of cases by reason."""
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, difference: Difference) -> None:
        if reason := explanation(difference.kind):
            self.explained[reason] += 1
            return
        self.counts[difference.kind] += 1
        kept = self.examples.setdefault(difference.kind, [])
        if len(kept) < _EXAMPLES:
            kept.append(difference.text)


def fuzz(
    subject: Subject,
    *,
    frames: int,
    seed: int,
    directory: Path,
    progress: Callable[[int], None] = lambda done: None,
    on_log: Callable[[str], None] | None = None,
) -> Summary:
    """At least `frames` frames through the engine and BMv2, with other entries every 2,048.

    `on_log` gets the log messages of the program as the engine executes them.
    """
    summary = Summary()
    with (
        Differential(subject.files, (), ports=_PORTS, directory=directory, many=True, on_log=on_log) as pair,
        Both(pair) as both,
    ):
        session = Session(subject, seed, pair, both, summary)
        while summary.frames < frames:
            session.round()
            progress(summary.frames)
    return summary


@final
class Session:
    """Rounds on a pair of switches that runs the subject's program."""

    def __init__(
        self,
        subject: Subject,
        seed: int,
        pair: Differential,
        both: Both,
        summary: Summary,
        pace: Pace = Pace(),
    ) -> None:
        self._pace = pace
        files = subject.files
        self._subject, self._pair, self._both, self._summary = subject, pair, both, summary
        self._info = P4Info.parse(files.p4info).message
        # PI does not know of entries that a program brings and a controller may change, and counts the
        # weights of a group whatever the program says that the size of its profile means. Of a table that
        # no frame reaches p4c leaves nothing but its place in the p4info.
        odd = {
            action_profile.preamble.id
            for action_profile in self._info.action_profiles
            if action_profile.HasField("sum_of_members")
        }
        known = [
            table
            for table in self._info.tables
            if (table.is_const_table or not table.has_initial_entries)
            and table.implementation_id not in odd
            and f'"{table.preamble.name}"'.encode() in files.json
        ]
        del self._info.tables[:]
        self._info.tables.extend(known)
        self._rng = random.Random(seed)
        pool = Pool(self._rng)
        self._updates = UpdateMaker(self._info, _PORTS, self._rng, pool)
        self._frames = FrameMaker(files.json, _PORTS, self._rng, pool)
        self._replication = ReplicationMaker(_PORTS, self._rng)
        # p4c names mcast_grp twice in every program: in standard_metadata, and its alias.
        self._replicates = b'"clone_' in files.json or files.json.count(b'"mcast_grp"') > 2
        self._rounds = 0

    def round(self) -> None:
        """Write random updates, compare what both switches hold, and send random frames."""
        if self._rounds % _ROUNDS_A_PIPELINE == 0:
            self._clear()
        self._rounds += 1
        alike = self._write_others()
        alike = alike and (not self._subject.writes or self._write())
        unlike = self._both.read_differences(self._info) if alike else []
        if alike:
            unlike += self._both.replication_differences() if self._replicates else []
            unlike += self._both.profile_differences(self._updates.profiles.by_members)
        for item in unlike:
            self._summary.add(item)
        if alike:
            self._exchange()
        if unlike or not (alike and self._agrees):
            # What follows would only be the consequence.
            self._rounds = 0

    def _clear(self) -> None:
        if self._replicates:
            self._both.forget_replication()
        for client in self._pair.clients:
            client.push_pipeline({NODE: self._subject.files})
            client.install({NODE: self._subject.standing})
        self._updates.start(self._both.entries(self._info))
        self._agrees = True

    def _write(self) -> bool:
        """False if one of the two has taken an update that the other never takes."""
        left = self._pace.updates
        while left > 0:
            batch = self._updates.batch(self._rng.choice((1, 1, 1, 5)))
            if not batch:
                break
            left -= len(batch)
            answers = self._both.write([update for update, _ in batch])
            self._summary.updates += len(batch)
            self._summary.refused += sum(engine != "OK" for engine, _ in answers)
            for (update, wrong), (engine, bmv2) in zip(batch, answers, strict=True):
                if engine == bmv2:
                    continue
                what = f"{wrong or 'valid'}: {self._operation(update)}"
                kind = f"write, {what}: engine {engine}, BMv2 {bmv2}"
                self._summary.add(Difference(kind, describe(update)))
                if "OK" in (engine, bmv2):
                    # The rest of the batch may only show the consequence.
                    self._both.repair(self._info)
                    if self._both.read_differences(self._info):
                        return False
                    break
        return True

    def _write_others(self) -> bool:
        """Write entities other than table entries; False if only one switch refused an update."""
        makers: list[Callable[[], tuple[p4r.Update, str]]] = []
        makers += [self._replication.update] if self._replicates else []
        makers += [self._updates.profiles.update] if self._updates.profiles.by_members else []
        for _ in range(self._pace.others if makers else 0):
            update, wrong = self._rng.choice(makers)()
            ((engine, bmv2),) = self._both.write([update])
            self._summary.updates += 1
            self._summary.refused += engine != "OK"
            if engine == bmv2 == "OK":
                self._updates.profiles.took(update)
            elif engine != bmv2:
                entity = update.entity.WhichOneof("entity") or "nothing"
                if entity == "packet_replication_engine_entry":
                    entity = str(update.entity.packet_replication_engine_entry.WhichOneof("type"))
                what = f"{wrong or 'valid'}: {entity} {p4r.Update.Type.Name(update.type)}"
                self._summary.add(
                    Difference(f"write, {what}: engine {engine}, BMv2 {bmv2}", describe(update))
                )
                if "OK" in (engine, bmv2):
                    return False
        return True

    def _operation(self, update: p4r.Update) -> str:
        entry = update.entity.table_entry
        table = next(
            (table for table in self._info.tables if table.preamble.id == entry.table_id), p4i.Table()
        )
        constant = "constant table " if table.is_const_table and not entry.is_default_action else ""
        indirect = "indirect " if table.implementation_id else ""
        default = " default" if entry.is_default_action else ""
        return f"{constant}{indirect}{p4r.Update.Type.Name(update.type)}{default}"

    def _exchange(self) -> None:
        chunks = [
            self._frames.chunk(self._pace.chunk, self._summary.frames + at)
            for at in range(0, self._pace.frames, self._pace.chunk)
        ]
        frames = [frame for chunk in chunks for frame in chunk if not self._subject.fatal(frame[1])]
        pace = self._pace
        expected, got = self._pair.exchange(
            frames, late_seconds=pace.late_seconds, quiet_seconds=pace.quiet_seconds
        )
        numbered = {data[-4:]: (port, data) for port, data in frames}
        for _, data in expected:
            if data[-4:] in numbered:
                self._frames.keep(numbered[data[-4:]])
        self._summary.frames += len(frames)
        self._summary.outputs += expected.total()
        if expected != got:
            self._agrees = False
            self._explain(frames, expected, got)
            return
        for text in self._pair.counter_differences():
            self._agrees = False
            self._summary.add(Difference("counter", text))

    def _explain(self, frames: Sequence[Frame], expected: Counter[Frame], got: Counter[Frame]) -> None:
        """Find a frame that alone makes a difference, and take from it what is not needed."""
        while len(frames) > 1:
            halves = frames[: len(frames) // 2], frames[len(frames) // 2 :]
            worse = next((half for half in halves if self._differ(half)), None)
            if worse is None:
                break
            frames = worse
        if len(frames) == 1:
            kind, _ = self._story(frames[0])
            again = len(self._summary.examples.get(kind, ())) < _EXAMPLES
            self._summary.add(Difference(kind, self._story(self._shrunk(frames[0]))[1] if again else ""))
            return
        lines = [f"only the engine: {show(element)}" for element in (expected - got).elements()][:4]
        lines += [f"only BMv2: {show(element)}" for element in (got - expected).elements()][:4]
        self._summary.add(Difference("frames, none of them alone", "\n".join(lines)))

    def _differ(self, frames: Sequence[Frame]) -> bool:
        expected, got = self._pair.exchange(frames, late_seconds=self._pace.again_seconds)
        return expected != got

    def _shrunk(self, frame: Frame) -> Frame:
        port, data = frame
        while len(data) > _SHORTEST and self._differ([(port, data[: (len(data) + _SHORTEST) // 2])]):
            data = data[: (len(data) + _SHORTEST) // 2]
        for index in range(min(len(data), 64)):
            zeroed = data[:index] + b"\0" + data[index + 1 :]
            if data[index] and self._differ([(port, zeroed)]):
                data = zeroed
        return port, data

    def _story(self, frame: Frame) -> tuple[str, str]:
        """Return the kind and the full text of the difference that a frame makes."""
        expected, got = self._pair.exchange([frame], late_seconds=self._pace.again_seconds)
        engine, bmv2 = (sorted(port for port, _ in outputs.elements()) for outputs in (expected, got))
        kind = f"frame: engine to {engine or 'nobody'}, BMv2 to {bmv2 or 'nobody'}"
        lines = [f"into {show(frame)}"]
        lines += [f"  engine: {show(element)}" for element in expected.elements()]
        lines += [f"  BMv2: {show(element)}" for element in got.elements()]
        return kind, "\n".join(lines)

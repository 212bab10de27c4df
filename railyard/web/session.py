# SPDX-License-Identifier: Apache-2.0
"""A run controlled by pages: pause, pace, step, faults by hand, and a scenario file to repeat them."""

from __future__ import annotations

import queue
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol, final

from emulation.testbed import WatchableTestbed
from harness.errors import ScenarioError
from harness.recording.history import History
from harness.recording.recorder import Recorder
from harness.recording.records import Kind, Record
from harness.run.prepare import Prepared
from harness.scenario.by_hand import yaml_with_faults
from harness.scenario.schema import Fault, Scenario
from railyard.web.answers import answer
from railyard.web.context import Context
from topologies.errors import RailyardError

__all__ = ["Command", "HeldRun", "Session"]

Mode = Literal["live", "replay"]


class HeldRun(Protocol):
    """A run that a session can hold: the run of a scenario, or a fabric kept running."""

    @property
    def name(self) -> str:
        """Name of the variant."""
        ...

    @property
    def busy(self) -> bool:
        """True while the session paces the run."""
        ...

    @property
    def testbed(self) -> WatchableTestbed:
        """Testbed of the run."""
        ...

    @property
    def struck(self) -> tuple[Fault, ...]:
        """Faults by hand so far."""
        ...

    def strike(self, keys: Mapping[str, Any]) -> Fault:
        """Apply a fault with the keys `keys` of a scenario now, and return the fault."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Command:
    """A request of a page, with a function to send the reply to the page."""

    values: Mapping[str, Any]
    reply: Callable[[Mapping[str, Any]], None]
    presents: bool = False
    """True for the page of a presenter, which may control a read-only session."""


@final
@dataclass
class Session:
    """A run or a recording, shown by any number of pages.

    Pages put commands from any thread. The thread of the run carries them out in `hold`, between two ticks.
    """

    mode: Mode
    history: History = field(default_factory=History)
    read_only: bool = False
    """True if only pages with the token `presenter` may control the run."""
    paused: bool = True
    """True if a live run begins paused."""
    context: Context = field(default_factory=Context)
    real: bool = False
    """True for a run in real time, which cannot be paused."""
    source: tuple[Path, Scenario, int] | None = None
    """Scenario file, scenario and seed of a live run."""
    changed: Callable[[], None] = lambda: None
    """Callback that the thread of the run calls when the state has changed."""

    def __post_init__(self) -> None:
        self.presenter = secrets.token_urlsafe(18) if self.read_only else ""
        self._commands: queue.SimpleQueue[Command] = queue.SimpleQueue()
        self._paused = self.mode == "live" and self.paused
        self._pace: float | None = None  # virtual microseconds per second; None runs as fast as possible
        self._until: Literal["", "tick", "event"] = ""
        self._run: HeldRun | None = None
        self._variant = ""
        self._words = ""
        self._ended = self.mode == "replay"
        self._again = False
        self._struck: dict[str, tuple[Fault, ...]] = {}
        self._due = 0.0
        self._seen_ps = 0

    @property
    def state(self) -> Mapping[str, Any]:
        """State of the session as a message for pages."""
        faults = {
            name: [fault.model_dump(by_alias=True, exclude_none=True) for fault in faults]
            for name, faults in self._struck.items()
        }
        return {
            "type": "state",
            "mode": self.mode,
            "paused": self._paused,
            "pace": self._pace,
            "variant": self._variant,
            "ended": self._ended,
            "words": self._words,
            "read_only": self.read_only,
            "saves": self.source is not None,
            "real": self.real,
            "by_hand": faults,
        }

    @property
    def records(self) -> Sequence[Record]:
        """All records of the history."""
        return self.history.after(-1, most=sys.maxsize)[0]

    def put(self, command: Command) -> None:
        """Queue a command of a page; the thread of the run carries it out and replies."""
        self._commands.put(command)

    def sink(self, record: Record) -> None:
        """Add a record of the run to the history.

        If a page has asked for a step to the next event, the record of an event pauses the run.
        """
        self.history(record)
        if record.kind is Kind.EVENT and self._until == "event":
            self._until, self._paused = "", True
            self.changed()

    def watch(self, recorder: Recorder) -> None:
        """Show the records of a recorder, and let pages control its run."""
        recorder.sinks.append(self.sink)
        recorder.pause = self.hold
        recorder.opened = self.begin

    def begin(self, scenario: Scenario, seed: int, prepared: Sequence[Prepared]) -> None:
        """Handle the start of a run of the variants `prepared`."""
        self.context.prepared = prepared
        if self.source is not None:
            self.source = self.source[0], scenario, seed
        self._ended, self._words = False, ""
        self._struck.clear()
        self.changed()

    def hold(self, run: HeldRun) -> None:
        """Carry out commands of pages, and hold the run while it is paused or ahead of the pace.

        The run calls this method after each tick.
        """
        self._run, self.context.testbed, self.context.run = run, run.testbed, run
        self.context.frames.expire(run.testbed)
        name = run.name
        if name != self._variant:
            self._variant, self._seen_ps = name, 0
            self._due = time.monotonic()
            self.changed()
        if self._until == "tick" and run.testbed.now_ps > 0:
            self._until, self._paused = "", True
            self.changed()
        self._pace_for(run)
        while True:
            wait = self._seconds_left()
            try:
                command = self._commands.get(timeout=wait) if wait else self._commands.get_nowait()
            except queue.Empty:
                if not self._paused and self._seconds_left() == 0:
                    break
                continue
            self._carry_out(command)
        self._run = self.context.testbed = self.context.run = None

    def end(self, words: str) -> None:
        """Handle the end of the run; `words` describe its outcome for pages."""
        self._ended, self._words, self._paused = True, words, True
        self.changed()

    def wait(self, seconds: float) -> bool:
        """Carry out one command of a page while no run is in progress, waiting up to `seconds` for it.

        Return True if a page asks to run again.
        """
        with suppress(queue.Empty):
            self._carry_out(self._commands.get(timeout=seconds))
        again, self._again = self._again, False
        return again

    def _pace_for(self, run: HeldRun) -> None:
        """Compute the wall-clock time of the next tick from the pace; a run without busy jobs has no pace."""
        now = time.monotonic()
        passed_us = (run.testbed.now_ps - self._seen_ps) / 10**6
        self._seen_ps = run.testbed.now_ps
        if self._pace is None or self._until or not run.busy:
            self._due = now
        else:
            # After a late tick, later ticks keep the pace instead of catching up.
            self._due = max(self._due + passed_us / self._pace, now - 0.1)

    def _seconds_left(self) -> float:
        """Return the seconds to wait for commands: 0.25 during a pause, else the time until the next tick."""
        if self._paused:
            self._due = time.monotonic()
            return 0.25
        return min(0.25, max(0.0, self._due - time.monotonic()))

    def _carry_out(self, command: Command) -> None:
        try:
            reply = self._reply(command.values, presents=command.presents)
        except RailyardError as ex:
            reply = {"type": "refused", "text": str(ex)}
        except (KeyError, TypeError, ValueError) as ex:
            reply = {"type": "refused", "text": f"the command is invalid: {ex}; reload the page"}
        if reply is not None:
            if "id" in command.values:
                reply = {**reply, "id": command.values["id"]}
            command.reply(reply)

    def _reply(self, values: Mapping[str, Any], *, presents: bool) -> Mapping[str, Any] | None:
        verb = values.get("do")
        if verb == "ask":
            return {"type": "answer", "values": answer(self.context, values)}
        if verb == "save":
            return {"type": "scenario", "text": self._scenario()}
        if self.mode == "replay":
            raise ScenarioError("a recording cannot be changed", remedy="open a live run")
        if self.read_only and not presents:
            raise ScenarioError(
                "this page is read-only and cannot control the run", remedy="use the presenter's page"
            )
        if self._ended:
            if verb != "again":
                raise ScenarioError("the run has ended", remedy="run it again")
            self._again = True
        elif verb in ("pause", "step") and self.real:
            raise ScenarioError(
                f"a run in real time cannot {verb}",
                remedy="drag the time bar, which shows any time of the run so far",
            )
        elif verb == "pause":
            self._paused, self._until = True, ""
        elif verb == "play":
            pace = None if self.real else values.get("pace")
            self._pace = None if pace is None else max(1e-6, _finite(pace))
            self._paused, self._until, self._due = False, "", time.monotonic()
        elif verb == "step":
            self._until = "event" if values.get("to") == "event" else "tick"
            self._paused = False
        elif verb == "fault":
            return self._strike(values["keys"])
        else:
            raise ScenarioError(f"there is no command named {verb!r}", remedy="reload the page")
        self.changed()
        return None

    def _strike(self, keys: Mapping[str, Any]) -> Mapping[str, Any]:
        run = self._run
        if run is None:
            raise ScenarioError(
                "no variant is running, so a fault has no effect", remedy="wait for the next variant"
            )
        fault = run.strike(keys)
        self._struck[run.name] = run.struck
        self.changed()
        return {"type": "struck", "keys": fault.model_dump(by_alias=True, exclude_none=True)}

    def _scenario(self) -> str:
        if self.source is None:
            raise ScenarioError(
                "this session has no scenario file to save", remedy="open a live run of a scenario"
            )
        file, scenario, seed = self.source
        return yaml_with_faults(file, scenario, seed, self._struck)


def _finite(value: Any) -> float:
    """Return a value as a finite number, or raise a ValueError."""
    number = float(value)
    if not isfinite(number):
        raise ValueError(f"{value} is not a finite number")
    return number

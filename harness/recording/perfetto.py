# SPDX-License-Identifier: Apache-2.0
"""Convert a recording to a trace of bounded size, for the Perfetto page and chrome://tracing.

Each variant becomes a process of the trace, with times of the scenario. Its tracks show jobs with their
iterations, faults, changes of table entries, notices, takeovers and reconfigurations; its counters show
totals of the run and the load of the busiest links.
Format: "Trace Event Format", Google, 2016.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, final

from harness.output import writing
from harness.recording.history import History
from harness.recording.records import Kind, Record, Tick
from harness.run.observation.values import JobReport

__all__ = ["MAX_EVENTS", "MAX_LINKS", "MAX_TICKS", "trace_events", "write_trace"]

MAX_LINKS = 16
"""Number of links with a counter in a variant: links with the highest load at any tick, ties by mean load."""

MAX_TICKS = 1000
"""Largest number of values of a counter; of more ticks an evenly spaced selection is used."""

MAX_EVENTS = 2000
"""Largest number of events of each kind in a variant; `left_out` of the trace counts further events."""

_FULL = 255
_JOBS = 1
_TRACKS = ("fault", "rewrite", "notice", "takeover", "reconfiguration", "deadlock", "cut-off")
_FIRST_JOB = 100

_Event = dict[str, Any]


@final
@dataclass(slots=True)
class _Variant:
    """Decoded records of a variant."""

    about: Mapping[str, Any]
    links: list[str]
    ticks: list[Tick] = field(default_factory=list)
    events: list[Mapping[str, Any]] = field(default_factory=list)
    end: Mapping[str, Any] | None = None


def write_trace(path: Path, history: History, jobs: Mapping[str, Sequence[JobReport]]) -> None:
    """Write the trace of a run to a file.

    `jobs` has the job reports by variant, for the iterations of repeating jobs.

    Raises:
        OutputError: The file cannot be written.
    """
    with writing(path, "name a file in an existing folder"):
        path.write_text(
            json.dumps(trace_events(history.records, jobs), separators=(",", ":")) + "\n", encoding="utf-8"
        )


def trace_events(
    records: Iterable[Record], jobs: Mapping[str, Sequence[JobReport]], process: int = 1
) -> dict[str, Any]:
    """Return the trace of records and job reports as a JSON object; times are the scenario's, in us.

    `process` is the number of the first variant's process in the trace; further variants follow.
    """
    header, variants = _variants(records)
    events: list[_Event] = []
    left_out: dict[str, int] = {}
    for number, variant in enumerate(variants, process):
        name = variant.about["name"]
        events += _metadata(number, variant)
        events += _jobs(number, variant, jobs.get(name, ()))
        events += _instants(number, variant, left_out)
        events += _totals(number, variant)
        events += _loads(number, variant)
    about = {key: header[key] for key in ("scenario", "title", "seed", "railyard") if key in header}
    slowed = next((variant.about["dilation"] for variant in variants if "dilation" in variant.about), None)
    clock = "virtual time" if slowed is None else f"real time, slowed down {slowed:,} times"
    return {
        "displayTimeUnit": "ns",
        "otherData": {**about, "clock": clock, "left_out": left_out},
        "traceEvents": events,
    }


def _variants(records: Iterable[Record]) -> tuple[Mapping[str, Any], list[_Variant]]:
    header: Mapping[str, Any] = {}
    variants: list[_Variant] = []
    for record in records:
        if record.kind is Kind.HEADER:
            header = record.values
        elif record.kind is Kind.VARIANT:
            about = record.values
            variants.append(_Variant(about, list(about["links"])))
        elif not variants:
            continue
        elif record.kind is Kind.LINKS:
            variants[-1].links += record.values["links"]
        elif record.kind is Kind.TICK:
            variants[-1].ticks.append(Tick.of(record))
        elif record.kind is Kind.EVENT:
            variants[-1].events.append(record.values)
        elif record.kind is Kind.END:
            variants[-1].end = record.values
    return header, variants


def _us(time_ps: float) -> float:
    return round(time_ps / 10**6, 6)


def _metadata(process: int, variant: _Variant) -> Iterator[_Event]:
    """Yield trace events with the names and the order of a variant's tracks."""
    about = variant.about
    yield _named("process_name", process, 0, name=about.get("label") or about["name"])
    yield _named("process_sort_index", process, 0, sort_index=process)
    tracks = {_JOBS: "run"}
    present = {event["kind"] for event in variant.events}
    tracks |= {number: kind for number, kind in enumerate(_TRACKS, _JOBS + 1) if kind in present}
    tracks |= {number: f"job {job['name']}" for number, job in enumerate(about["jobs"], _FIRST_JOB)}
    for number, name in tracks.items():
        yield _named("thread_name", process, number, name=name)
        yield _named("thread_sort_index", process, number, sort_index=number)


def _named(what: str, process: int, thread: int, **args: Any) -> _Event:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "ts": 0, "args": args}


def _slice(process: int, thread: int, name: str, begin_ps: float, end_ps: float, **args: Any) -> _Event:
    return {
        "ph": "X",
        "name": name,
        "cat": "job",
        "pid": process,
        "tid": thread,
        "ts": _us(begin_ps),
        "dur": _us(max(0, end_ps - begin_ps)),
        "args": args,
    }


def _jobs(process: int, variant: _Variant, reports: Sequence[JobReport]) -> Iterator[_Event]:
    """Yield a slice for the run and for each job, and slices for the iterations of a job and their phases."""
    last = variant.end["t"] if variant.end else max((tick.time_ps for tick in variant.ticks), default=0)
    if variant.end:
        right = f"{variant.end['correct']} of {variant.end['nodes']} nodes have the right data"
        yield _slice(process, _JOBS, variant.about["name"], 0, variant.end["completion_ps"], data=right)
    iterations = {report.name: report for report in reports}
    for number, job in enumerate(variant.about["jobs"], _FIRST_JOB):
        name = job["name"]
        times = {event["kind"]: event["t"] for event in variant.events if event.get("job") == name}
        if "job-begin" not in times:
            continue
        begin, end = times["job-begin"], times.get("job-end", last)
        yield _slice(process, number, name, begin, end, members=len(job["members"]))
        report = iterations.get(name)
        for count, turn in enumerate(report.iterations[:MAX_EVENTS] if report else ()):
            yield _slice(process, number, f"iteration {count}", turn.begun_ps, turn.end_ps)
            yield _slice(process, number, "computes", turn.begun_ps, turn.send_ps)
            yield _slice(process, number, "communicates", turn.send_ps, turn.end_ps)


def _instants(process: int, variant: _Variant, left_out: dict[str, int]) -> Iterator[_Event]:
    """Yield an instant event for each recorded event; `left_out` counts those above MAX_EVENTS of a kind."""
    threads = {kind: number for number, kind in enumerate(_TRACKS, _JOBS + 1)}
    seen: Counter[str] = Counter()
    for event in variant.events:
        kind = event["kind"]
        if kind not in threads:
            continue
        seen[kind] += 1
        if seen[kind] > MAX_EVENTS:
            continue
        yield {
            "ph": "i",
            "s": "p" if kind in ("fault", "deadlock", "cut-off") else "t",
            "name": event["text"],
            "cat": kind,
            "pid": process,
            "tid": threads[kind],
            "ts": _us(event["t"]),
            "args": {key: value for key, value in event.items() if key not in ("t", "kind", "text")},
        }
    for kind, count in seen.items():
        if count > MAX_EVENTS:
            left_out[f"{variant.about['name']}: {kind}"] = count - MAX_EVENTS


def _counter(process: int, name: str, time_ps: float, **values: float) -> _Event:
    return {"ph": "C", "name": name, "pid": process, "tid": 0, "ts": _us(time_ps), "args": values}


def _joined(ticks: Sequence[Tick]) -> list[Tick]:
    """Return at most MAX_TICKS of the ticks, evenly spaced, including the last tick."""
    step = -(-len(ticks) // MAX_TICKS) or 1
    return [*reversed(ticks[::-1][::step])]


def _totals(process: int, variant: _Variant) -> Iterator[_Event]:
    """Yield counters between ticks: rate of arriving data, retransmissions, notices, rewritten entries."""
    names = {name: place for place, name in enumerate(variant.about["totals"])}
    for before, tick in pairwise(_joined(variant.ticks)):
        width = tick.time_ps - before.time_ps
        if width <= 0:
            continue

        def grown(name: str, tick: Tick = tick, before: Tick = before) -> float:
            return tick.totals[names[name]] - before.totals[names[name]]

        rate = round(8 * grown("delivered_bytes") / width, 6)
        yield _counter(process, "arriving, Tbit/s", before.time_ps, rate=rate)
        for name in ("retransmitted", "notices", "entries_rewritten"):
            yield _counter(process, name.replace("_", " "), before.time_ps, count=grown(name))


def _loads(process: int, variant: _Variant) -> Iterator[_Event]:
    """Yield counters of the load of the busiest links, for both directions in percent."""
    ticks = _joined(variant.ticks)
    most: Counter[int] = Counter()
    total: Counter[int] = Counter()
    for tick in ticks:
        load = tick.links.load
        for link in range(len(load) // 2):
            here = max(load[2 * link], load[2 * link + 1])
            most[link] = max(most[link], here)
            total[link] += here
    busiest = sorted(most, key=lambda link: (-most[link], -total[link], link))[:MAX_LINKS]
    for before, tick in pairwise(ticks):
        for link in busiest:
            if 2 * link + 1 < len(tick.links.load):
                there, back = (round(100 * tick.links.load[2 * link + way] / _FULL, 1) for way in (0, 1))
                name = f"load of {variant.links[link]}, %"
                yield _counter(process, name, before.time_ps, there=there, back=back)

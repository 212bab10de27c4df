# SPDX-License-Identifier: Apache-2.0
"""Report of a run of a script: training steps, shares of time by rank, operations, and a trace.

A training step ends with a step of an optimizer. A wait for an operation counts as waiting for other ranks
until the operation begins, and as communication from then on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from harness.ranks.coordinator import RankRecord
from harness.ranks.operations import Failed, Work
from harness.recording.perfetto import trace_events
from harness.recording.records import Record
from railyard.torch.launch import Trained
from railyard.torch.report import report_html

__all__ = ["document", "summary", "trace", "write"]

_US = 10**6


def document(trained: Trained) -> dict[str, Any]:
    """Return the content of training.json; times are in microseconds."""
    earlier = [[*map(_rank, ranks)] for ranks in trained.rounds[:-1]]
    return {
        "end_us": trained.end_ps / _US,
        "ranks": [_rank(rank) for rank in trained.ranks],
        **({"earlier_rounds": earlier} if earlier else {}),
        "operations": [
            {"rank": rank.rank, **_operation(work)} for rank in _every(trained) for work in rank.all_works
        ],
        "links": {
            name: {"busy_us": [there / _US, back / _US]}
            for name, (there, back) in trained.busy.items()
            if there or back
        },
    }


def _every(trained: Trained) -> Iterator[RankRecord]:
    """Yield the records of the ranks of all rounds."""
    return chain.from_iterable(trained.rounds)


def _rank(rank: RankRecord) -> dict[str, Any]:
    communication, waiting = _shares(rank)
    steps: list[dict[str, Any]] = []
    for time_ps, name, value in rank.notes:
        if name == "step":
            begun = steps[-1]["end_us"] if steps else rank.begun_ps / _US
            steps.append({"end_us": time_ps / _US, "took_us": time_ps / _US - begun})
        elif name == "values" and steps:
            steps[-1] |= value
    return {
        "rank": rank.rank,
        "node": rank.node,
        "outcome": rank.outcome,
        "begun_us": rank.begun_ps / _US,
        "end_us": rank.clock_ps / _US,
        "communication_us": communication / _US,
        "waiting_us": waiting / _US,
        "steps": steps,
    }


def _shares(rank: RankRecord) -> tuple[int, int]:
    """Return the times in ps that a rank spent in communication and in waiting for other ranks."""
    communication = waiting = 0
    for wait in rank.waits:
        begun = wait.work.begun_ps if wait.work.begun_ps >= 0 else wait.to_ps
        met = min(max(begun, wait.from_ps), wait.to_ps)
        waiting += met - wait.from_ps
        communication += wait.to_ps - met
    return communication, waiting


def _operation(work: Work) -> dict[str, Any]:
    call = work.call
    failed = work.result.why if isinstance(work.result, Failed) else ""
    return {
        "kind": call.kind,
        "bytes": call.block or sum(call.sent),
        "group": list(work.group.members),
        "called_us": work.called_ps / _US,
        "begun_us": work.begun_ps / _US if work.begun_ps >= 0 else None,
        "ended_us": work.ended_ps / _US if work.ended_ps >= 0 else None,
        **({"failed": failed} if failed else {}),
    }


def trace(trained: Trained, records: Sequence[Record]) -> dict[str, Any]:
    """Return the content of trace.json, for ui.perfetto.dev.

    Each rank is a process with its computation, waits and operations. After the ranks comes a process of the
    fabric: faults, notices and rewritten entries, and the load of the busiest links from `records`.
    """
    fabric = trace_events(records, {}, process=max(rank.rank for rank in _every(trained)) + 1)
    return {**fabric, "traceEvents": [*_events(trained), *fabric["traceEvents"]]}


def _events(trained: Trained) -> Iterator[dict[str, Any]]:
    for rank in _every(trained):
        yield _name("process_name", rank.rank, 0, f"rank {rank.rank} ({rank.node})")
        yield _name("thread_name", rank.rank, 0, "process")
        yield _name("thread_name", rank.rank, 1, "operations")
        at_ps = rank.begun_ps
        for wait in rank.waits:
            if wait.from_ps > at_ps:
                yield _slice(rank.rank, 0, "compute", at_ps, wait.from_ps)
            if wait.to_ps > wait.from_ps:
                yield _slice(rank.rank, 0, f"wait for {wait.work.call.kind}", wait.from_ps, wait.to_ps)
            at_ps = max(at_ps, wait.to_ps)
        if rank.clock_ps > at_ps:
            yield _slice(rank.rank, 0, "compute", at_ps, rank.clock_ps)
        for number, work in enumerate(rank.all_works):
            if work.begun_ps >= 0 and work.ended_ps >= 0:
                common = {"pid": rank.rank, "tid": 1, "cat": "fabric", "id": f"{rank.rank}.{number}"}
                name = f"{work.call.kind} {work.call.block or sum(work.call.sent)} B"
                yield {"ph": "b", "name": name, "ts": work.begun_ps / _US, **common}
                yield {"ph": "e", "name": name, "ts": work.ended_ps / _US, **common}
        for time_ps, name, value in rank.notes:
            if name == "step":
                yield {"ph": "i", "s": "t", "name": "step", "ts": time_ps / _US, "pid": rank.rank, "tid": 0}
            elif isinstance(value, dict):
                for key, number in value.items():
                    at = {"ts": time_ps / _US, "pid": rank.rank}
                    yield {"ph": "C", "name": key, **at, "args": {key: number}}


def _name(what: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": what, "pid": process, "tid": thread, "args": {"name": name}}


def _slice(process: int, thread: int, name: str, from_ps: int, to_ps: int) -> dict[str, Any]:
    times = {"ts": from_ps / _US, "dur": (to_ps - from_ps) / _US}
    return {"ph": "X", "name": name, "pid": process, "tid": thread, **times}


def summary(trained: Trained) -> Iterator[str]:
    """Yield the lines of a table with the steps and the shares of time of each rank."""
    columns = f"{'rank':>4}  {'node':<10} {'steps':>5} {'time us':>12}"
    yield f"{columns} {'compute %':>9} {'communicate %':>13} {'wait %':>6}"
    for rank in trained.ranks:
        values = _rank(rank)
        whole = values["end_us"] - values["begun_us"] or 1.0
        communication = 100 * values["communication_us"] / whole
        waiting = 100 * values["waiting_us"] / whole
        yield (
            f"{rank.rank:>4}  {rank.node:<10} {len(values['steps']):>5} {values['end_us']:>12.2f} "
            f"{100 - communication - waiting:>9.1f} {communication:>13.1f} {waiting:>6.1f}"
        )


def write(
    folder: Path,
    trained: Trained,
    title: str,
    faults: Sequence[tuple[float, str]],
    records: Sequence[Record],
) -> None:
    """Write training.json, trace.json and report.html into a folder; see report_html and trace."""
    folder.mkdir(parents=True, exist_ok=True)
    values = document(trained)
    for name, content in (("training.json", values), ("trace.json", trace(trained, records))):
        (folder / name).write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    (folder / "report.html").write_text(report_html(values, title, faults, records), encoding="utf-8")

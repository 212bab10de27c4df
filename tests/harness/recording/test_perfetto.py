# SPDX-License-Identifier: Apache-2.0
"""Traces for Perfetto: the Trace Event format, bounded, with the times and counts of the run."""

import json
import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulation.testbed import LinkSample
from harness.recording.perfetto import MAX_EVENTS, MAX_LINKS, MAX_TICKS, trace_events
from harness.recording.records import Kind, Record, Tick, event, json_record
from harness.run.observation.values import JobIteration, JobReport

SCENARIO = """
name: small
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 65536}
link: {detect_us: 0.5}
variants:
  - {name: healthy, title: Nothing fails}
  - name: cut
    faults: [{at_us: 2.0, link: npu1-npu3}]
"""


def check_format(trace: dict[str, Any]) -> None:
    """Check the rules of "Trace Event Format" (Google, 2016) for complete, instant, counter and name events.

    For tens of thousands of events jsonschema takes seconds.
    """
    assert trace["displayTimeUnit"] in ("ms", "ns")
    assert isinstance(trace.get("otherData", {}), dict)
    assert isinstance(trace["traceEvents"], list)
    for item in trace["traceEvents"]:
        phase, name, arguments = item["ph"], item["name"], item.get("args", {})
        assert phase in ("X", "i", "C", "M"), item
        assert isinstance(name, str), item
        assert name, item
        assert type(item["pid"]) is type(item["tid"]) is int, item
        assert is_number(item["ts"], least=0), item
        assert is_number(item["dur"] if phase == "X" else item.get("dur", 0), least=0), item
        assert (item["s"] if phase == "i" else item.get("s", "g")) in ("g", "p", "t"), item
        assert isinstance(arguments, dict), item
        if phase == "C":
            assert arguments, item
            assert all(map(is_number, arguments.values())), item


def is_number(value: object, least: float = -math.inf) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= least


def of(trace: dict[str, Any], process: int, phase: str) -> list[dict[str, Any]]:
    return [item for item in trace["traceEvents"] if (item["pid"], item["ph"]) == (process, phase)]


def test_a_run_as_a_trace(railyard: Callable[..., tuple[int, str, str]], tmp_path: Path):
    (tmp_path / "small.yaml").write_text(SCENARIO)
    code, _, err = railyard("run", "small.yaml", "--trace", "trace.json", "--record", "--no-report")
    assert code == 0, err
    trace = json.loads((tmp_path / "trace.json").read_text())
    result = json.loads((tmp_path / "results" / "small" / "result.json").read_text())
    check_format(trace)
    names = {
        item["pid"]: item["args"]["name"] for item in trace["traceEvents"] if item["name"] == "process_name"
    }
    assert names == {1: "Nothing fails", 2: "cut"}
    for process, variant in ((1, "healthy"), (2, "cut")):
        (run,) = (item for item in of(trace, process, "X") if item["tid"] == 1)
        assert run["dur"] == pytest.approx(result["metrics"][f"{variant}.completion_us"])
        # Counters add up to the totals of the result.
        for counter, metric in (("retransmitted", "retransmitted_frames"), ("notices", "notices")):
            counted = sum(
                item["args"]["count"] for item in of(trace, process, "C") if item["name"] == counter
            )
            assert counted == result["metrics"][f"{variant}.{metric}"]
    (fault,) = (item for item in of(trace, 2, "i") if item["cat"] == "fault")
    assert (fault["name"], fault["ts"]) == ("npu1-npu3 goes down", 2.0)
    rewritten = [item["args"]["count"] for item in of(trace, 2, "i") if item["cat"] == "rewrite"]
    assert sum(rewritten) == result["metrics"]["cut.entries_rewritten"] > 0
    loads = Counter(item["name"] for item in of(trace, 2, "C") if item["name"].startswith("load of "))
    assert len(loads) == MAX_LINKS
    # Every track is named.
    named = {(item["pid"], item["tid"]) for item in trace["traceEvents"] if item["name"] == "thread_name"}
    used = {(item["pid"], item["tid"]) for item in trace["traceEvents"] if item["ph"] in "Xi"}
    assert used <= named


def records(ticks: int, events: int, links: int) -> list[Record]:
    names = [f"a-{number}" for number in range(links)]
    about = {"name": "v", "label": "V", "links": names, "totals": ["delivered_bytes", "retransmitted"]}
    about["totals"] += ["notices", "entries_rewritten"]
    jobs = [{"name": "j", "begin_ps": 0, "members": [0, 1]}]
    load = bytes(2 * link % 251 for link in range(links) for _ in (0, 1))
    sample = LinkSample(load, bytes(2 * links), bytes([1]) * links)
    return [
        json_record(Kind.HEADER, {"scenario": "x", "seed": 1}),
        json_record(Kind.VARIANT, {**about, "jobs": jobs}),
        event(5, "job-begin", "job j begins", job="j"),
        *(Tick(10**6 * n, (1000.0 * n, 2.0 * n, 0.0, 0.0), sample).record() for n in range(ticks)),
        *(event(number, "notice", f"notice {number}", node="a") for number in range(events)),
        event(900, "job-end", "job j ends", job="j"),
    ]


def test_a_long_run_has_a_bounded_trace():
    trace = trace_events(records(5 * MAX_TICKS, MAX_EVENTS + 7, 300), {})
    check_format(trace)
    assert trace["otherData"]["left_out"] == {"v: notice": 7}
    counters = Counter(item["name"] for item in of(trace, 1, "C"))
    assert len(counters) == MAX_LINKS + 4
    assert max(counters.values()) <= MAX_TICKS
    resent = [item["args"]["count"] for item in of(trace, 1, "C") if item["name"] == "retransmitted"]
    rates = {item["args"]["rate"] for item in of(trace, 1, "C") if item["name"].startswith("arriving")}
    # Joined ticks lose nothing but what came before the first of them.
    assert 2 * (5 * MAX_TICKS - 5) <= sum(resent) <= 2 * (5 * MAX_TICKS - 1)
    assert rates == {0.008}
    shown = {item["name"] for item in of(trace, 1, "C") if item["name"].startswith("load of ")}
    assert "load of a-125, %" in shown


def test_iterations_of_a_job_lie_in_it():
    turns = (JobIteration(10, 20, 30, 40), JobIteration(40, 60, 80, 100))
    report = JobReport("j", 5, 895, 1, 2, 2, 0, iterations=turns)
    slices = [
        item for item in of(trace_events(records(3, 0, 2), {"v": [report]}), 1, "X") if item["tid"] >= 100
    ]
    assert [(item["name"], item["ts"] * 10**6, item["dur"] * 10**6) for item in slices] == [
        ("j", 5, 895),
        *(("iteration 0", 10, 30), ("computes", 10, 10), ("communicates", 20, 20)),
        *(("iteration 1", 40, 60), ("computes", 40, 20), ("communicates", 60, 40)),
    ]
    for child in slices[1:]:
        assert (
            slices[0]["ts"] <= child["ts"] <= child["ts"] + child["dur"] <= slices[0]["ts"] + slices[0]["dur"]
        )


def test_a_trace_that_cannot_be_is_refused_before_the_run(
    railyard: Callable[..., tuple[int, str, str]], tmp_path: Path
):
    (tmp_path / "small.yaml").write_text(SCENARIO)
    code, _, err = railyard("run", "small.yaml", "small.yaml", "--trace", "trace.json")
    assert code == 2
    assert "a trace contains a single scenario" in err
    code, _, err = railyard("run", "small.yaml", "--trace", "none/trace.json")
    assert code == 2
    assert "the folder none does not exist" in err
    assert not (tmp_path / "results").exists()

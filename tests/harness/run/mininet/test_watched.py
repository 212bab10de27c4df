# SPDX-License-Identifier: Apache-2.0
"""A run in real time that is watched: its recording, a link cut by hand, and what real time refuses."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from emulation.mininet.switches.processes import SwitchKind
from harness.recording.perfetto import trace_events
from harness.recording.recorder import TOTALS, Recorder
from harness.recording.records import Kind, Record, Tick
from harness.run.real_time import RealTime
from harness.scenario.loader import load
from railyard.api.scenarios import execute
from railyard.web.session import Command, Session
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

SCENARIO = """\
name: watched
topology: {name: full-mesh, dims: [2, 4], lane_rate_gbps: 100}
collective: {elements: 65536}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
transport: {window: 32, initial_rto_us: 5, min_rto_us: 5}
"""
DILATION = 300_000
CUT = "npu1-npu3"


# The run cannot end before the page has taken this back, at its first tick with data.
LOSS = {"direction": "npu0->npu1", "event": "loss", "percent": 100}
LOSSY = "npu0-npu1"
PICK = {"do": "ask", "what": "follow", "link": LOSSY}
AT_BEGIN = [{"do": "fault", "keys": LOSS}, {"do": "play", "pace": 2.0}]
AT_WORK = [
    {"do": "ask", "what": "link", "name": "npu4-npu6"},
    {"do": "pause"},
    {"do": "step"},
    {"do": "fault", "keys": {"link": CUT}},
    {"do": "fault", "keys": {"link": CUT}},
    {"do": "ask", "what": "follow", "from": "npu1", "to": "npu3"},
    {"do": "save"},
    {"do": "fault", "keys": {"direction": "npu0->npu1", "event": "clear"}},
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_watched_run_is_recorded_and_struck_by_hand(tmp_path: Path, kind: SwitchKind) -> None:
    file = tmp_path / "scenario.yaml"
    file.write_text(SCENARIO)
    scenario, document = load(file)
    records: list[Record] = []
    replies: list[dict[str, Any]] = []
    session = Session("live", real=True, source=(file, scenario, 1))

    def put(*commands: dict[str, Any]) -> None:
        for values in commands:
            session.put(Command(values, lambda reply: replies.append(dict(reply))))

    frames: list[dict[str, Any]] = []

    def look(reply: Mapping[str, Any]) -> None:
        frames.extend(reply["values"]["frames"])

    def ask(record: Record) -> None:
        """Ask as a page does: for frames of a link until there are any, and then all that there is to do."""
        if record.kind is Kind.TICK and Tick.of(record).totals[0] and len(replies) == 1:
            if frames:
                put(*AT_WORK[:-1], {**PICK, "number": frames[-1]["number"]}, AT_WORK[-1])
            else:
                session.put(Command({"do": "ask", "what": "frames", "name": LOSSY}, look))

    recorder = Recorder([records.append, ask])
    session.watch(recorder)
    put(*AT_BEGIN)
    result = execute(scenario, document, 1, choice=RealTime(kind, DILATION), watcher=recorder)
    (seen,) = [run.observation for run in result.runs.values()]
    assert seen.correct_nodes == seen.nodes == 8

    lossy, counters, paused, stepped, struck, again, journey, saved, picked, cleared = replies
    assert (lossy["keys"]["percent"], cleared["keys"]["event"]) == (100, "clear")
    assert sum(way["frames"] for way in counters["values"]["directions"]) > 0
    assert "a run in real time cannot pause" in paused["text"]
    assert "a run in real time cannot step" in stepped["text"]
    assert struck["keys"]["link"] == CUT
    assert f"{CUT} is already down" in again["text"]
    assert journey["values"]["down"] == [CUT]
    assert frames[-1]["words"].startswith(f"{frames[-1]['from']} to ")
    assert 0 < frames[-1]["t"] < seen.completion_ps
    assert picked["values"]["hops"][0]["node"] == frames[-1]["to"]
    assert f"link: {CUT}" in saved["text"]

    variant = next(record.values for record in records if record.kind is Kind.VARIANT)
    assert (variant["dilation"], variant["links"]) == (DILATION, [*seen.link_usage])
    ticks = [Tick.of(record) for record in records if record.kind is Kind.TICK]
    assert [tick.time_ps for tick in ticks] == sorted(tick.time_ps for tick in ticks)
    totals = dict(zip(TOTALS, ticks[-1].totals, strict=False))
    assert totals["delivered_bytes"] == sum(seen.timeline.delivered)
    assert totals["sent"] == seen.traffic.sent
    assert totals["retransmitted"] == seen.traffic.retransmitted
    assert totals["entries_rewritten"] == seen.recovery.entries_rewritten > 0
    events = [record.values for record in records if record.kind is Kind.EVENT]
    faults = [event for event in events if event["kind"] == "fault"]
    assert [(fault["event"], fault["by"]) for fault in faults] == [
        (event, "hand") for event in ("loss", "down", "clear")
    ]
    at = variant["links"].index(CUT)
    assert {tick.links.state[at] for tick in ticks if tick.time_ps > faults[1]["t"]} == {0}
    assert {tick.links.state[at] for tick in ticks if tick.time_ps < faults[1]["t"]} == {1}
    assert {tick.links.state[0] for tick in ticks} == {1, 1 + 2}
    for number, (name, ways) in enumerate(seen.link_usage.items()):
        for way, usage in enumerate(ways):
            loaded = any(tick.links.load[2 * number + way] for tick in ticks)
            assert loaded == (usage.frames > usage.lost_frames), (name, way)
    clock = trace_events(records, {})["otherData"]["clock"]
    assert clock == "real time, slowed down 300,000 times"

# SPDX-License-Identifier: Apache-2.0
"""The panel that follows a frame: its answers are the walk's, and a run that is asked has the same result."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lab.errors import ScenarioError
from lab.frames.craft import Order, craft
from lab.frames.walk import walk
from lab.recording.recorder import Recorder
from lab.run.prepare import prepare
from lab.run.watch import WatchedRun
from lab.scenario.loader import load
from railyard.api.scenarios import execute
from railyard.web.answers import Context, answer
from railyard.web.live import Live
from railyard.web.server import serving
from tests.browser import needs_packages, until, visit
from topologies import HOST_PORT, End, RailyardError

if TYPE_CHECKING:
    from playwright.sync_api import Browser

SMALL = """
name: small
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 262144}
routing: {notification: direct}
link: {detect_us: 0.5}
control: {processing_us: 0.5}
variants:
  - name: cut
    faults: [{at_us: 2.0, link: npu1-npu3}]
"""
QUESTION = {"what": "follow", "variant": "cut", "from": "npu1", "to": "npu3"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def nodes(journey: Mapping[str, Any]) -> list[str]:
    return [hop["node"] for hop in journey["hops"]]


def test_before_a_run_the_tables_are_the_planned(file: Path):
    (ready,) = prepare(*load(file))
    journey = answer(Context([ready]), {**QUESTION, "bucket": 3, "changes": ["nth.cc=7"]})
    order = Order("npu1", "npu3", bucket=3, payload=bytes(range(16)), changes=("nth.cc=7",))
    frame = bytes(craft(ready.plan.fabric, order))
    walked = walk(ready.plan, frame, End("npu1", HOST_PORT))
    assert (journey["tables"], journey["down"], journey["end"]) == ("planned", [], walked.end)
    assert [bytes.fromhex(crossing["bytes"]) for crossing in journey["crossings"]] == [
        crossing.frame for crossing in walked.crossings
    ]
    assert nodes(journey) == [hop.node for hop in walked.hops]


def test_a_frame_meets_the_cut_link_until_the_tables_avoid_it(file: Path):
    due = [1_000_000, 2_000_001, 6_000_000]
    asked: list[Mapping[str, Any]] = []

    def ask(run: WatchedRun) -> None:
        if due and run.testbed.now_ps >= due[0]:
            del due[0]
            asked.append(answer(Context([], run.testbed, run), QUESTION))

    recorder = Recorder([])
    recorder.pause = ask
    watched = execute(*load(file), None, watcher=recorder)
    assert watched.to_json() == execute(*load(file), None).to_json()
    assert [journey["tables"] for journey in asked] == ["present"] * 3
    before, lost, after = asked
    assert (nodes(before), before["arrived"], before["down"]) == (["npu1", "npu3"], True, [])
    assert lost["end"] == "link npu1-npu3 is down, and no table of npu1 knows it yet"
    assert lost["down"] == after["down"] == ["npu1-npu3"]
    assert after["arrived"]
    assert len(nodes(after)) > 2


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"variant": "none"}, "no variant named 'none'"),
        ({"kind": "light"}, "no frame of kind 'light'"),
        ({"changes": ["srh.ptr=1"]}, "this frame has no srh"),
        ({"to": "npu99"}, "no node named 'npu99'"),
    ],
)
def test_a_frame_that_cannot_be(file: Path, values: Mapping[str, Any], words: str):
    with pytest.raises(RailyardError, match=re.escape(words)):
        answer(Context(prepare(*load(file))), {**QUESTION, **values})


def test_a_recording_has_no_switches():
    with pytest.raises(ScenarioError, match="this is a recording"):
        answer(Context(), QUESTION)
    with pytest.raises(ScenarioError, match="no plan to follow"):
        answer(Context(run=object()), QUESTION)


@needs_packages()
def test_a_frame_over_three_hops_shows_the_bytes_that_craft_makes(browser: Browser, file: Path):
    from playwright.sync_api import expect

    running = Live(*load(file), file, [], None, read_only=False)
    with serving(running.session, port=0) as address, visit(browser, address, height=900) as page:
        threading.Thread(target=running.run, daemon=True).start()
        page.get_by_role("tab", name="Frame").click()
        page.fill("[name=from]", "npu0")
        page.fill("[name=to]", "npu7")
        page.fill("[name=route]", "npu1 npu3 -")
        page.get_by_role("button", name="Follow").click()
        hops = page.locator(".hops button")
        expect(hops).to_have_text(["npu0", "npu1", "npu3", "npu7"])
        fabric = prepare(*load(file))[0].plan.fabric
        order = Order("npu0", "npu7", route=("npu1", "npu3", "-"), payload=bytes(range(16)))
        frame = bytes(craft(fabric, order))
        arriving = page.locator(".bytes").first.locator(".hex > span")
        expect(arriving).to_have_text([f"{byte:02x}" for byte in frame])
        for number, ptr in ((0, "1"), (1, "2"), (2, "3")):
            hops.nth(number).click()
            row = page.locator(".changes tr", has_text="SRH.ptr")
            expect(row.locator("td").nth(2)).to_have_text(ptr)
            expect(page.locator(".line.decides")).to_have_count(1)
            until(page, "page.store.selection?.kind === 'node'")
        # A refused frame shows the line that refuses it; a wrong one says what is wrong.
        page.fill("[name=changes]", "srh.ptr=12")
        page.get_by_role("button", name="Follow").click()
        expect(page.locator(".line.drops")).to_contain_text("REFUSE(HOPS)")
        page.fill("[name=to]", "nobody")
        page.get_by_role("button", name="Follow").click()
        expect(page.locator(".drop", has_text="no node named 'nobody'")).to_be_visible()

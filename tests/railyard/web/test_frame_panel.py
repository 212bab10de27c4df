# SPDX-License-Identifier: Apache-2.0
"""The panel that follows a frame: its answers are the walk's, and a run that is asked has the same result."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from emulation.testbed import RECENT_FRAMES, RecentFrame
from harness.errors import ScenarioError
from harness.frames.craft import Order, craft
from harness.frames.walk import walk
from harness.recording.recorder import Recorder
from harness.run.prepare import prepare
from harness.run.watch import WatchedRun
from harness.scenario.loader import load
from railyard.api.scenarios import execute
from railyard.web.answers import answer
from railyard.web.context import Context
from railyard.web.link_frames import LinkFrames
from railyard.web.live import Live
from railyard.web.server import serving
from tests.browser import needs_packages, until, visit
from topologies import HOST_PORT, End, RailyardError, full_mesh

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
    assert lost["end"] == "link npu1-npu3 is down, and the tables of npu1 still use it"
    assert lost["down"] == after["down"] == ["npu1-npu3"]
    assert after["arrived"]
    assert len(nodes(after)) > 2


def test_a_frame_off_a_link_is_followed_from_the_end_that_it_reaches(file: Path):
    links = ("npu1-npu0", "npu1-npu5", "npu1-npu7", "npu0-npu1")
    journeys: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = []
    context = Context()
    lengths: list[int] = []

    def ask(run: WatchedRun) -> None:
        """Pick frames for npu3 that npu1 sends over other links than the one that is cut."""
        if journeys or run.testbed.now_ps < 3_000_000:
            return
        context.testbed, context.run = run.testbed, run
        names = [name for name in links if name in run.testbed.link_names]
        for name in names:
            frames = answer(context, {"what": "frames", "name": name})["frames"]
            lengths.append(len(frames))
            numbers = [frame["number"] for frame in frames]
            assert numbers == [*range(numbers[0], numbers[0] + len(numbers))] if numbers else True
            detours = [frame for frame in frames if frame["words"].startswith("npu1 to npu3: data")]
            if detours and lengths.count(RECENT_FRAMES) and not journeys:
                values = {"what": "follow", "link": name, "number": detours[-1]["number"]}
                journeys.append((detours[-1], answer(context, values)))

    recorder = Recorder([])
    recorder.pause = ask
    watched = execute(*load(file), None, watcher=recorder)
    assert watched.to_json() == execute(*load(file), None).to_json()
    assert max(lengths) == RECENT_FRAMES
    ((frame, journey),) = journeys
    assert (frame["from"], journey["arrived"], journey["tables"]) == ("npu1", True, "present")
    assert nodes(journey)[0] == frame["to"]
    assert nodes(journey)[-1] == "npu3"
    assert journey["crossings"][0]["sender"] == "npu1"
    assert len(bytes.fromhex(journey["crossings"][0]["bytes"])) == frame["length"]
    with pytest.raises(ScenarioError, match="frame 99999 of npu0-npu1 is no longer kept"):
        answer(context, {"what": "follow", "link": "npu0-npu1", "number": 99999})


def test_frames_are_kept_for_few_links_and_no_longer_than_pages_ask(monkeypatch: pytest.MonkeyPatch):
    class Kept:
        """A testbed as far as it keeps frames of links."""

        fabric = full_mesh((2, 2))

        def __init__(self) -> None:
            self.links: list[str] = []

        def recent(self, name: str) -> list[RecentFrame]:
            if name not in self.links:
                self.links.append(name)
            return [RecentFrame(number, 0, 0, b"") for number in range(RECENT_FRAMES)]

        def forget(self, name: str) -> None:
            self.links.remove(name)

    now = [0.0]
    monkeypatch.setattr("railyard.web.link_frames.time", SimpleNamespace(monotonic=lambda: now[0]))
    testbed: Any = Kept()
    frames = LinkFrames()
    for number in range(40):
        assert len([*frames.recent(testbed, f"link{number}")]) == RECENT_FRAMES
    assert testbed.links == [f"link{number}" for number in range(32, 40)]
    assert frames.shown("link39", 0).number == 0
    with pytest.raises(ScenarioError, match="frame 0 of link0 is no longer kept"):
        frames.shown("link0", 0)
    now[0] = 9.0
    assert len([*frames.recent(testbed, "link35")]) == RECENT_FRAMES
    now[0] = 11.0
    frames.expire(testbed)
    assert testbed.links == ["link35"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"variant": "none"}, "no variant named 'none'"),
        ({"kind": "light"}, "no frame of kind 'light'"),
        ({"changes": ["srh.ptr=1"]}, "names the header srh, which this frame lacks"),
        ({"to": "npu99"}, "no node named 'npu99'"),
    ],
)
def test_a_frame_that_cannot_be(file: Path, values: Mapping[str, Any], words: str):
    with pytest.raises(RailyardError, match=re.escape(words)):
        answer(Context(prepare(*load(file))), {**QUESTION, **values})


def test_a_recording_has_no_switches():
    with pytest.raises(ScenarioError, match="a recording has no plans"):
        answer(Context(), QUESTION)
    with pytest.raises(ScenarioError, match="this fabric has no plan"):
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

        # A frame that crosses the chosen link is picked off the list.
        page.evaluate("page.store.select({kind: 'link', at: page.scene().linkAt.get('npu0-npu1')})")
        expect(page.get_by_text("Those that cross it from now on")).to_be_visible()
        for tick in range(2, 8):
            page.get_by_role("button", name="one tick further").click()
            until(page, f"page.store.track.ticks.length >= {tick} && page.store.session.paused")
        # In columns: time, receiving node, ends, operation with PSN, length.
        frame = page.get_by_role("table", name="frames").get_by_role("row").filter(has_text="data, PSN 0")
        frame = frame.filter(has_text="npu1 to npu0").first
        expect(frame.get_by_role("cell")).to_have_text(
            [re.compile(r"\d\.\d"), "npu0", "npu1 to npu0", "data, PSN 0", "4,158"]
        )
        frame.get_by_role("button").click()
        expect(hops).to_have_text(["npu0"])
        expect(page.get_by_text("npu0 delivers it to its host")).to_be_visible()

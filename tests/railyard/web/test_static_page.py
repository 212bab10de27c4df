# SPDX-License-Identifier: Apache-2.0
"""A replay as one file: it opens without a server, asks nothing, and shows what the served replay shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from harness.recording.file import RecordingWriter
from harness.recording.recorder import Recorder
from harness.scenario.loader import load
from railyard.api.scenarios import execute
from railyard.cli import app
from railyard.web.live import replay
from railyard.web.server import serving
from tests.browser import NO_PLAYWRIGHT, needs_packages, until, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
pytestmark = needs_packages()

SMALL = """
name: small
title: "A cut </script> in a <b>mesh</b>"
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 65536}
link: {detect_us: 0.3}
control: {processing_us: 0.3}
variants:
  - {name: healthy}
  - name: cut
    faults: [{at_us: 1.0, link: npu1-npu3}]
"""
FRAMES = """
[...page.store.tracks.values()].map((track) => [...track.frames].map(([link, kept]) => [link, kept.length]))
"""
BELOW_EACH_OTHER = """
(() => {
    const parts = [...document.querySelectorAll("canvas[data-view], .caption, .time")];
    const [a, b, c] = parts.map((part) => part.getBoundingClientRect());
    return a.bottom <= b.top + 1 && b.bottom <= c.top + 1 && c.bottom <= innerHeight + 1;
})()
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("results")
    (folder / "small.yaml").write_text(SMALL)
    with RecordingWriter(folder / "run.recording") as write:
        execute(*load(folder / "small.yaml"), None, watcher=Recorder([write], None))
    return folder


def test_it_has_all_that_the_served_replay_has(browser: Browser, results: Path, tmp_path: Path):
    page_file = tmp_path / "replay.html"
    done = CliRunner().invoke(app, ["serve", str(results), "--html", str(page_file)])
    assert done.exit_code == 0, done.output
    whole = "page.store.tracks.size === 2 && !!page.store.tracks.get('cut').end"
    with serving(replay(results / "run.recording"), port=0) as address, visit(browser, address) as page:
        until(page, whole)
        ticks = "[...page.store.tracks.values()].map((track) => [track.ticks.length, track.events.length])"
        served = page.evaluate(ticks), page.evaluate(FRAMES)
    asked: list[str] = []
    with visit(browser, page_file.as_uri(), asked=asked) as page:
        until(page, whole)
        assert (page.evaluate(ticks), page.evaluate(FRAMES)) == served
        expect(page.get_by_role("status")).to_have_text("replay")
        expect(page.get_by_role("heading", level=1)).to_have_text("A cut </script> in a <b>mesh</b>")
        page.get_by_role("button", name="compare").click()
        until(page, "page.views.length === 2")
        page.get_by_role("tab", name="Charts").click()
        expect(page.get_by_role("button", name="CSV")).to_be_visible()
    assert [url for url in asked if not url.startswith(("data:", "blob:"))] == [page_file.as_uri()]


def test_frames_of_a_link_lead_to_their_times(browser: Browser, results: Path):
    with serving(replay(results / "run.recording"), port=0) as address, visit(browser, address) as page:
        until(page, "!!page.store.tracks.get('cut')?.end && !!page.scene()")
        page.evaluate("page.store.show('cut'); page.store.seek(1500000)")
        page.evaluate("page.store.select({kind: 'link', at: page.scene().linkAt.get('npu1-npu3')})")
        page.get_by_role("tab", name="Frame").click()
        frames = page.get_by_role("table", name="frames").get_by_role("button")
        expect(frames).to_have_count(16)
        row = frames.first.locator("xpath=ancestor::tr")
        expect(row).to_contain_text(re.compile(r"npu\d to npu\d\s*(data|ack), PSN"))
        # No frame crosses a link that is down.
        times = page.evaluate("page.store.track.frames.get('npu1-npu3').map((frame) => frame.t)")
        assert max(times) <= 1_000_000
        frames.nth(3).click()
        until(page, f"{times}.includes(page.store.time) && page.store.time < {max(times)}")
        expect(page.get_by_role("heading", name="A frame of your own")).to_have_count(0)


def test_full_screen_has_the_fabric_time_and_a_caption_alone(browser: Browser, results: Path):
    with serving(replay(results / "run.recording"), port=0) as address, visit(browser, address) as page:
        until(page, "!!page.store.tracks.get('cut')?.end && !!page.scene()")
        page.evaluate("page.store.show('cut'); page.store.seek(1100000)")
        page.get_by_role("button", name="full screen").click()
        caption = page.locator("[data-caption=variant]")
        expect(caption).to_contain_text("npu1-npu3 goes down at 1.000 µs")
        expect(page.locator(".side")).to_be_hidden()
        page.evaluate("page.store.seek(1000000 * 1.9)")
        expect(caption).to_contain_text(
            re.compile(r"since then \d+ notices sent, \d+ table entries rewritten")
        )
        page.evaluate("page.store.seek(page.store.track.end.completion_ps)")
        expect(caption).to_contain_text("data are right on 8 of 8 nodes")
        for width, height in ((1280, 800), (844, 390), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            until(page, f"innerWidth === {width}")
            until(page, BELOW_EACH_OTHER)
        page.keyboard.press("f")
        expect(caption).to_have_count(0)
        expect(page.locator(".side")).to_be_visible()


def test_a_replay_has_the_chosen_variants_alone(browser: Browser, results: Path, tmp_path: Path):
    page_file = tmp_path / "cut.html"
    chosen = ["serve", str(results), "--variant", "cut"]
    done = CliRunner().invoke(app, [*chosen, "--html", str(page_file)])
    assert done.exit_code == 0, done.output
    with visit(browser, page_file.as_uri()) as page:
        until(page, "!!page.store.tracks.get('cut')?.end")
        assert page.evaluate("[[...page.store.tracks.keys()], page.store.header.variants.length]") == [
            ["cut"],
            1,
        ]
    done = CliRunner().invoke(app, [*chosen[:-1], "cat", "--html", str(page_file)])
    assert "no variant named 'cat'; choose among healthy, cut" in str(done.exception)


@pytest.mark.parametrize(
    ("option", "words"),
    [(["--read-only"], "which no page can change"), (["--seed", "7"], "whose seed is fixed")],
)
@pytest.mark.parametrize("target", [[], ["--html", "x.html"]])
def test_an_option_that_a_recording_cannot_follow_is_refused(
    results: Path, option: list[str], words: str, target: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(results)
    done = CliRunner().invoke(app, ["serve", ".", "--port", "0", *option, *target])
    assert words in str(done.exception)
    assert ".: reading\n" * (not target) == done.output  # nothing is planned
    assert not Path("x.html").exists()


def test_a_scenario_has_nothing_to_write(results: Path, tmp_path: Path):
    done = CliRunner().invoke(app, ["serve", str(results / "small.yaml"), "--html", str(tmp_path / "x.html")])
    assert "no recording" in str(done.exception)
    assert not (tmp_path / "x.html").exists()

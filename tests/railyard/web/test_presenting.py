# SPDX-License-Identifier: Apache-2.0
"""The page before an audience: notices, the end of a run, full screen, paces, and a wrong address."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.scenario.loader import load
from railyard.web.live import Live, replay
from railyard.web.server import serving
from tests.browser import NO_PLAYWRIGHT, needs_packages, until, visit
from tests.railyard.web.mine import CUT_PS, MINE, recorded

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
pytestmark = needs_packages()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("presented"))


@contextmanager
def replayed(browser: Browser, results: Path, *, width: int = 1280, height: int = 800) -> Iterator[Page]:
    """Open a replay that shows the variant `cut`."""
    with (
        serving(replay(results / "run.recording"), port=0) as address,
        visit(browser, address, width=width, height=height) as page,
    ):
        until(page, "!!page.store.tracks.get('cut')?.end && !!page.scene()")
        page.evaluate("page.store.show('cut')")
        yield page


@contextmanager
def live(
    browser: Browser, folder: Path, *, width: int = 1280, height: int = 800, read_only: bool = False
) -> Iterator[Page]:
    """Open the page of a live run, which is paused at its beginning; that of a class if it is read-only."""
    (folder / "mine.yaml").write_text(MINE)
    running = Live(*load(folder / "mine.yaml"), folder / "mine.yaml", [], None, read_only=read_only)

    def run() -> None:
        while True:
            running.run()
            while not running.session.wait(1):
                pass

    with (
        serving(running.session, port=0) as address,
        visit(browser, address, width=width, height=height) as page,
    ):
        threading.Thread(target=run, daemon=True).start()
        until(page, "!!page.store.track && !!page.scene()")
        yield page


def to_the_end(page: Page) -> None:
    page.get_by_label("pace").select_option("0")
    page.get_by_role("button", name="play").click()
    until(page, "page.store.session.ended && !!page.store.tracks.get('cut')?.end")


def test_the_summary_of_a_fault_is_no_fault_at_the_end(browser: Browser, results: Path):
    with replayed(browser, results) as page:
        page.get_by_role("tab", name="Events").click()
        summary = page.get_by_role("button", name="summary of the fault at 1.000 µs: npu0-npu1 goes down; ")
        expect(summary).to_contain_text("noticed it after 0.5 µs")
        assert " us" not in str(summary.text_content())
        expect(summary.locator("i.fault")).to_have_count(0)
        page.get_by_role("button", name="summaries").click()
        expect(summary).to_have_count(0)
        page.get_by_role("button", name="summaries").click()
        summary.click()
        until(page, f"page.store.time === {CUT_PS}")
        # On the time bar the end has no mark of a fault.
        until(
            page,
            """(() => {
                const canvas = document.querySelector(".scrub canvas");
                const end = page.store.track.end.completion_ps;
                const x = 8 + end / page.store.span * (canvas.clientWidth - 16);
                const {data} = canvas.getContext("2d").getImageData((x - 3) * devicePixelRatio, 2, 6, 40);
                const plain = data.every((value, at) => at % 4 || data[at + 2] + 60 > value);
                return page.views[0].times.length > 0 && plain;
            })()""",
        )


def test_the_clock_of_a_live_run_stops_at_its_end(browser: Browser, tmp_path: Path):
    with live(browser, tmp_path) as page:
        to_the_end(page)
        until(
            page,
            "document.querySelector('.clock small').textContent === 'of ' + "
            "document.querySelector('.clock b').textContent",
        )


COVERED = """(() => {
    const notice = document.querySelector(".notice").getBoundingClientRect();
    return [...document.querySelectorAll("canvas, .caption, .legend, .label, .tools, .time")].some((part) => {
        const {left, right, top, bottom} = part.getBoundingClientRect();
        return left < notice.right && right > notice.left && top < notice.bottom && bottom > notice.top;
    });
})()"""


def test_a_notice_lies_over_nothing(browser: Browser, tmp_path: Path):
    with live(browser, tmp_path) as page:
        to_the_end(page)
        notice = page.get_by_role("alert")
        expect(notice).to_have_text("The run has ended: 3 of 3 assertions hold.✕")
        assert not page.evaluate(COVERED)
        page.keyboard.press("f")
        expect(page.locator(".caption")).to_be_visible()
        expect(notice).to_be_visible()
        until(page, f"!{COVERED}")
        page.keyboard.press("f")
        expect(page.locator(".side")).to_be_visible()
        page.set_viewport_size({"width": 400, "height": 800})
        until(page, f"innerWidth === 400 && !{COVERED}")
        # Closed after one run, it is there again after the next with the same words.
        page.get_by_role("button", name="close").click()
        expect(notice).to_have_count(0)
        page.get_by_role("button", name="Run again").click()
        until(page, "!page.store.session.ended")
        to_the_end(page)
        expect(notice).to_contain_text("3 of 3 assertions hold")


def test_an_old_error_does_not_hide_that_the_command_has_ended(browser: Browser, results: Path):
    server = ExitStack()
    address = server.enter_context(serving(replay(results / "run.recording"), port=0))
    with server, visit(browser, address) as page:
        until(page, "!!page.scene()")
        page.get_by_label("find a node or link").fill("zzz")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("There is no node or link named zzz.")
        server.close()
        expect(page.get_by_role("alert")).to_contain_text("The command has ended.")
        page.get_by_label("find a node or link").fill("yyy")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("named yyy.")
        expect(page.get_by_role("alert")).to_contain_text("The command has ended.")


@pytest.mark.parametrize("query", ["", "?token=wrong"])
def test_an_address_without_its_token_says_so_everywhere(browser: Browser, results: Path, query: str):
    with (
        serving(replay(results / "run.recording"), port=0) as address,
        visit(browser, address.partition("?")[0] + query) as page,
    ):
        words = re.compile("the address lacks the token .* open the printed address whole")
        expect(page.get_by_role("alert")).to_contain_text(words)
        expect(page.get_by_role("status")).to_have_text("not connected")
        expect(page.get_by_role("tabpanel")).to_contain_text(words)
        expect(page.get_by_role("button", name="play")).to_be_disabled()
        lightest = (
            "Math.min(...document.querySelector('canvas').getContext('2d').getImageData(9, 9, 1, 1).data)"
        )
        until(page, f"{lightest} > 200")


def test_full_screen_enlarges_drawing_and_labels_and_keeps_the_legend(browser: Browser, results: Path):
    with replayed(browser, results, width=1920, height=1080) as page:
        until(page, "page.camera.view.scale === 144")
        page.keyboard.press("f")
        expect(page.locator(".caption")).to_be_visible()
        until(page, "page.camera.view.scale > 150")
        legend = page.locator(".legend")
        expect(legend).to_be_visible()
        # Nodes are above the legend, which is above the caption.
        tops = """[page.views[0].placeOf({kind: "node", at: page.scene().nodeAt.get("npu7")}).y,
            ...[".legend", ".caption"].map(
                (part) => document.querySelector(part).getBoundingClientRect().top)]"""
        until(page, f"(([node, legend, caption]) => node < legend && legend < caption)({tops})")
        # The dark pixels of a label are higher than eleven pixels, a letter of the usual size.
        until(
            page,
            """(() => {
                const {x, y} = page.views[0].placeOf({kind: "node", at: page.scene().nodeAt.get("npu3")});
                const {data} = page.views[0].canvas.getContext("2d").getImageData(x - 8, y - 20, 16, 40);
                const rows = new Set();
                for (let at = 0; at < data.length; at += 4) if (data[at] < 100) rows.add(Math.floor(at / 64));
                return rows.size > 13;
            })()""",
        )
        page.keyboard.press("f")
        until(page, "page.camera.view.scale === 144")


def test_in_full_screen_a_chosen_link_has_its_name_and_is_taken_down(browser: Browser, tmp_path: Path):
    with live(browser, tmp_path) as page:
        page.get_by_role("button", name="one tick further").click()
        until(page, "page.store.time > 0 && page.store.session.paused")
        page.keyboard.press("f")
        expect(page.locator(".caption")).to_be_visible()
        until(page, "page.camera.view.scale > 120")
        page.evaluate("page.store.select({kind: 'link', at: page.scene().linkAt.get('npu2-npu3')})")
        chosen = page.locator(".chosen")
        expect(chosen).to_contain_text("npu2-npu3")
        expect(chosen).to_contain_text("up")
        chosen.get_by_role("button", name="Take it down").click()
        until(page, "page.store.session.by_hand.healthy?.length === 1")
        # At once, in the pause.
        expect(chosen.get_by_role("button", name="Bring it up")).to_be_visible()
        expect(page.locator(".caption")).to_contain_text("npu2-npu3 goes down by hand at")
        until(page, "alerts.some((words) => /Done by hand at .* µs: npu2-npu3, down/.test(words))")
        # The button does not keep the focus, so the space bar plays.
        page.keyboard.press("Space")
        until(page, "page.store.session.paused === false")
        assert page.evaluate("page.store.session.by_hand.healthy.length") == 1
        page.evaluate("page.store.select({kind: 'node', at: page.scene().nodeAt.get('npu5')})")
        expect(chosen).to_contain_text("npu5")
        page.keyboard.press("f")
        expect(chosen).to_have_count(0)


def test_a_replay_begins_at_the_beginning_of_the_first_variant(browser: Browser, results: Path):
    with serving(replay(results / "run.recording"), port=0) as address, visit(browser, address) as page:
        until(page, "!!page.store.tracks.get('cut')?.end && !!page.scene()")
        assert page.evaluate("[page.store.variant, page.store.time]") == ["healthy", 0]


def test_the_picture_has_the_keys_that_nothing_else_has(browser: Browser, results: Path):
    with replayed(browser, results) as page:
        page.keyboard.press("f")
        expect(page.locator(".caption")).to_be_visible()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("l")
        expect(page.locator(".chosen")).to_contain_text("npu0-npu1")
        page.get_by_role("button", name="compare").click()
        page.keyboard.press("Space")
        until(page, "page.store.playing && !!page.store.beside")
        page.keyboard.press("Escape")
        # In a field and among tabs, keys keep their meaning.
        page.get_by_label("find a node or link").press("l")
        assert page.evaluate("page.store.selection?.kind") != "link"
        page.get_by_role("tab", name="Inspect").click()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Events")).to_have_attribute("aria-selected", "true")
        page.keyboard.press("Space")
        until(page, "!page.store.playing")


def test_an_older_recording_has_the_sign_of_microseconds(browser: Browser, results: Path):
    with replayed(browser, results) as page:
        page.evaluate(
            """(() => {
                const event = {t: 1, kind: "fault", text: "after 2.5 us, of us all"};
                const bytes = new TextEncoder().encode(JSON.stringify(event));
                page.store.take(Uint8Array.of(6, ...bytes).buffer);
            })()"""
        )
        page.get_by_role("tab", name="Events").click()
        expect(page.get_by_text("after 2.5 µs, of us all")).to_be_visible()


def test_a_replay_takes_the_chosen_time(browser: Browser, results: Path):
    with replayed(browser, results) as page:
        page.evaluate("page.store.show('healthy'); page.store.seek(0)")
        expect(page.get_by_label("pace")).to_contain_text("run in 10 s")
        page.get_by_label("pace").select_option("10")
        page.get_by_role("button", name="play").click()
        until(page, "page.store.playing && page.store.time > 0")
        page.evaluate("page.store.show('cut')")  # which takes longer
        seconds = page.evaluate(
            """new Promise((resolve) => {
                const [time, began] = [page.store.time, performance.now()];
                setTimeout(() => {
                    const share = (page.store.time - time) / page.store.span;
                    resolve((performance.now() - began) / 1000 / share);
                }, 1500);
            })"""
        )
        assert 9 < seconds < 14


def test_a_live_run_is_paced_by_what_is_known_and_says_that_it_is_an_estimate(
    browser: Browser, tmp_path: Path
):
    with live(browser, tmp_path) as page:
        pace = page.get_by_label("pace")
        expect(pace).to_contain_text("in about 10 s")
        expect(pace).to_have_attribute("title", re.compile("an estimate"))
        to_the_end(page)
        page.get_by_role("button", name="Run again").click()
        until(page, "!page.store.session.ended && page.store.session.paused && !!page.store.track")
        pace.select_option("10")
        for variant, took in (("healthy", 3.483), ("cut", 4.956)):
            until(page, f"page.store.track?.name === '{variant}'")
            if variant == "healthy":
                page.get_by_role("button", name="play").click()
            until(page, f"Math.abs(10 * page.store.session.pace - {took}) < 0.01")


def test_a_long_title_leaves_the_caption_its_last_line(browser: Browser, results: Path):
    with replayed(browser, results, width=900) as page:
        page.evaluate("page.store.track.label = 'a link is cut while everyone adds up, and more '.repeat(6)")
        page.evaluate("page.store.seek(4e6)")
        page.keyboard.press("f")
        page.get_by_role("button", name="compare").click()
        expect(page.locator(".caption")).to_have_count(2)
        told = page.locator("[data-caption=variant] span").nth(1)
        expect(told).to_contain_text("npu0-npu1 goes down at 1.000 µs; since then")
        until(
            page,
            """[...document.querySelectorAll(".caption span")].every((line) => {
                const [inner, outer] = [line, line.parentElement].map((part) => part.getBoundingClientRect());
                return inner.top >= outer.top && inner.bottom <= outer.bottom && inner.right <= outer.right;
            })""",
        )


def test_the_page_of_a_class_has_no_pace_to_choose(browser: Browser, tmp_path: Path):
    with live(browser, tmp_path, read_only=True) as page:
        expect(page.get_by_role("button", name="play")).to_be_disabled()
        expect(page.get_by_label("pace")).to_be_disabled()

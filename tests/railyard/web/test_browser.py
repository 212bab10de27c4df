# SPDX-License-Identifier: Apache-2.0
"""The page in a browser: it shows the fabric, carries out hands, replays, and asks nothing of the network."""

from __future__ import annotations

import http.server
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest

from harness.recording.file import RecordingWriter
from harness.recording.recorder import Recorder
from harness.scenario.loader import load
from railyard.api.scenarios import execute
from railyard.web.live import Live, replay
from railyard.web.server import serving
from railyard.web.session import Session
from tests.browser import LIMIT_SECONDS, NO_PLAYWRIGHT, needs_packages, until, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
pytestmark = needs_packages()

RACK = """
name: rack
title: A rack under a hand
topology: {name: ub-rack, lane_rate_gbps: 100}
collective: {elements: 65536}
variants:
  - {name: healthy, title: Nothing fails}
"""

SMALL = """
name: small
title: A small mesh
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 65536}
variants:
  - {name: healthy}
  - name: cut
    faults: [{at_us: 2.0, link: npu1-npu3}]
"""


def place_of(page: Page, kind: str, name: str) -> list[float]:
    """Return the place of a node, or of the middle of a link, in the page."""
    return page.evaluate(
        """([kind, name]) => {
            const view = page.views[0];
            const at = (kind === "node" ? view.scene.nodeAt : view.scene.linkAt).get(name);
            const box = view.canvas.getBoundingClientRect();
            const place = view.placeOf({kind, at});
            return [place.x + box.left, place.y + box.top];
        }""",
        [kind, name],
    )


def click_on(page: Page, kind: str, name: str) -> None:
    """Click on a node or a link until it is chosen: the picture moves until its size is settled."""
    until(page, "!!page.scene()")
    limit = time.monotonic() + LIMIT_SECONDS
    while page.evaluate("page.views[0].nameOf(page.store.selection)") != name:
        assert time.monotonic() < limit
        page.mouse.click(*place_of(page, kind, name))


@contextmanager
def command(*arguments: str | Path) -> Iterator[tuple[subprocess.Popen, str]]:
    """Start the command and yield its process and the address that it prints."""
    process = subprocess.Popen(
        [sys.executable, "-m", "railyard", *map(str, arguments), "--port", "0"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if address := re.match(r"http://\S+", line):
                yield process, address[0]
                return
        raise AssertionError("no address")
    finally:
        process.kill()
        process.wait()


def state_of(link: str) -> str:
    return f"(page.store.at(page.store.track)?.state[page.scene().linkAt.get('{link}')] ?? 1)"


def is_red(link: str) -> str:
    """Return an expression that is true if the middle of a link has the colour of failures."""
    return f"""(() => {{
        const {{canvas, scene}} = page.views[0];
        const {{x, y}} = page.views[0].placeOf({{kind: "link", at: scene.linkAt.get("{link}")}});
        const [red, green, blue] = canvas.getContext("2d").getImageData(x, y, 1, 1).data;
        return red > green + 60 && green > blue;
    }})()"""


def told(words: str) -> str:
    """Return an expression that is true once the page has shown these words as a notice."""
    return f"alerts.some((words) => words.includes('{words}'))"


def test_a_link_cut_by_click_and_saved_gives_the_same_result_again(browser: Browser, tmp_path: Path):
    file = tmp_path / "rack.yaml"
    file.write_text(RACK)
    started = command("run", file, "--live", "--no-report", "--out", tmp_path / "live")
    with started as (process, address), visit(browser, address) as page:
        canvas = page.locator("canvas[data-view=variant]")
        expect(canvas).to_have_attribute("aria-label", re.compile("64 nodes and 448 links"))
        expect(page.get_by_role("status")).to_have_text("live, paused")
        for tick in range(1, 21):
            page.get_by_role("button", name="one tick further").click()
            until(page, f"page.store.track?.ticks.length > {tick} && page.store.session.paused")

        click_on(page, "link", "npu0-npu1")
        expect(page.get_by_role("heading", name=re.compile("npu0-npu1"))).to_be_visible()
        page.get_by_role("button", name="Take it down").click()
        until(page, told("Done by hand at"))
        # In the pause, before any further tick.
        until(page, is_red("npu0-npu1"))
        assert page.evaluate("page.store.session.paused")
        page.get_by_role("button", name="one tick further").click()
        until(page, state_of("npu0-npu1") + " === 0")
        until(page, is_red("npu0-npu1"))
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as a scenario").click()
        saved = tmp_path / "saved.yaml"
        download.value.save_as(saved)

        page.get_by_label("pace").select_option("0")
        page.get_by_role("button", name="play").click()
        until(page, "page.store.track.end !== null")
        end = page.evaluate("page.store.track.end")
        assert (end["correct"], end["nodes"]) == (64, 64)
        page.get_by_role("tab", name="Events").click()
        expect(page.get_by_text("npu0-npu1 goes down (by hand)")).to_be_visible()
        expect(page.get_by_text(re.compile("npu0 rewrites .* table entries")).first).to_be_visible()
        expect(
            page.get_by_text(re.compile("told by npu[01], rewrites .* table entries")).first
        ).to_be_visible()
        page.get_by_text("who told which node").click()
        row = page.get_by_role("row").filter(has=page.get_by_role("cell", name="npu2", exact=True))
        expect(row).to_contain_text(re.compile("npu2by a noticenpu[01]"))
        until(page, "page.store.session.by_hand.healthy?.length === 1")
        (fault,) = page.evaluate("page.store.session.by_hand.healthy")
        assert (fault["link"], fault["event"]) == ("npu0-npu1", "down")
        assert process.wait(timeout=LIMIT_SECONDS) == 0
        expect(page.get_by_role("alert")).to_contain_text("The command has ended")
    execute(*load(saved), None).save(tmp_path / "again")
    results = [(tmp_path / name / "result.json").read_text() for name in ("live", "again")]
    assert results[0] == results[1]
    assert '"at_us"' in results[0]


@contextmanager
def live(file: Path, **options: bool) -> Iterator[tuple[Live, str]]:
    """Serve a scenario from a thread of this process."""
    running = Live(*load(file), file, [], None, read_only=options.get("read_only", False))
    with serving(running.session, port=0) as address:
        thread = threading.Thread(target=running.run, daemon=True)
        thread.start()
        yield running, address


def test_the_saved_file_has_the_fault_by_hand(browser: Browser, tmp_path: Path):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    with live(file) as (_, address), visit(browser, address) as page:
        until(page, "!!page.store.track")
        page.get_by_role("button", name="one tick further").click()
        until(page, "page.store.time > 0 && page.store.session.paused")
        page.get_by_label("find a node or link").fill("npu4")
        page.keyboard.press("Enter")
        page.get_by_label("impairment").select_option(label="delay")
        page.get_by_role("button", name="Impair it").click()
        until(page, told("Done by hand at"))
        page.get_by_role("button", name="Impair it").click()
        with page.expect_download() as download:
            page.get_by_role("button", name="Save as a scenario").click()
        saved = tmp_path / "saved.yaml"
        download.value.save_as(saved)
        scenario, _ = load(saved)
        faults = scenario.variant("healthy").faults
        assert {(fault.npu, fault.event, fault.add_ns) for fault in faults} == {("npu4", "delay", 500.0)}
        assert len(scenario.variant("cut").faults) == 1
        page.get_by_label("find a node or link").fill("npu99")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert")).to_contain_text("There is no node or link named npu99.")


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recording")
    (folder / "small.yaml").write_text(SMALL)
    with RecordingWriter(folder / "run.recording") as write:
        execute(*load(folder / "small.yaml"), None, watcher=Recorder([write]))
    return folder / "run.recording"


def test_a_replay_scrubs_by_pointer_and_keyboard_and_compares_variants(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address) as page:
        until(page, "page.store.tracks.size === 2 && !!page.store.tracks.get('cut').end")
        expect(page.get_by_role("status")).to_have_text("replay")
        page.evaluate("page.store.show('cut')")
        slider = page.get_by_role("slider", name="time")
        expect(slider).to_have_attribute("aria-valuemax", str(page.evaluate("Math.round(page.store.span)")))
        slider.focus()
        page.keyboard.press("Home")
        until(page, "page.store.time === 0")
        until(page, state_of("npu1-npu3") + " === 1")
        page.keyboard.press("PageDown")
        expect(slider).to_have_attribute("aria-valuetext", "2.000 µs")
        page.keyboard.press("ArrowRight")
        until(page, state_of("npu1-npu3") + " === 0")
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        until(page, state_of("npu1-npu3") + " === 1")
        box = slider.bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
        until(page, "Math.abs(page.store.time / page.store.span - 0.5) < 0.02")

        page.get_by_role("button", name="compare").click()
        until(page, "page.views.length === 2")
        expect(page.locator("canvas[data-view=beside]")).to_be_visible()
        page.evaluate("page.store.seek(2500000)")
        states = (
            "page.views.map((view) => page.store.at(view.track).state[view.scene.linkAt.get('npu1-npu3')])"
        )
        until(page, f"{states}.sort().join() === '0,1'")
        page.evaluate("page.store.select({kind: 'link', at: 0})")
        expect(page.get_by_text("A recording cannot be changed.")).to_be_visible()


def test_the_slider_ends_with_the_last_event_and_the_clock_shows_no_more(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address) as page:
        until(page, "page.store.tracks.size === 2 && !!page.store.tracks.get('cut').end")
        for variant in ("healthy", "cut"):
            page.evaluate(f"page.store.show('{variant}')")
            until(page, f"page.store.variant === '{variant}'")
            end, last, span = page.evaluate(
                "(({track, span}) => [track.end.completion_ps, track.events.at(-1).t, span])(page.store)"
            )
            assert span == max(end, last)
            page.evaluate("page.store.seek(1e15)")
            until(
                page,
                "document.querySelector('.clock small').textContent === 'of ' + "
                "document.querySelector('.clock b').textContent",
            )
        kinds = page.evaluate(
            "page.store.track.events.filter(({t}) => t > page.store.span).map(({kind}) => kind)"
        )
        assert kinds == []


def test_the_page_is_usable_by_keyboard_and_says_what_is_chosen(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address) as page:
        until(page, "!!page.scene()")
        page.locator("canvas[data-view=variant]").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        expect(page.locator("[aria-live=polite]")).to_have_text("node npu1")
        page.keyboard.press("ArrowDown")
        expect(page.get_by_role("heading", name="npu3")).to_be_visible()
        page.keyboard.press("l")
        expect(page.locator("[aria-live=polite]")).to_contain_text("link npu")
        until(page, "page.camera.fitted")
        before = page.evaluate("page.camera.view.scale")
        page.keyboard.press("+")
        until(page, f"page.camera.view.scale > {before} && !page.camera.fitted")
        page.keyboard.press("0")
        until(page, f"page.camera.view.scale === {before} && page.camera.fitted")
        page.keyboard.press("Escape")
        until(page, "page.store.selection === null")
        until(
            page,
            """[...document.querySelectorAll("button, input, select, [tabindex]")].every(
                (part) => part.getAttribute("aria-label") || part.textContent.trim() || part.labels?.length
            )""",
        )


@pytest.mark.parametrize(("width", "dark"), [(1280, True), (400, False)])
def test_the_page_fits_dark_and_narrow(browser: Browser, recording: Path, width: int, dark: bool):
    with (
        serving(replay(recording), port=0) as address,
        visit(browser, address, width=width, dark=dark) as page,
    ):
        until(page, "!!page.scene() && page.views[0].times.length > 0")
        until(page, f"document.documentElement.scrollWidth <= {width}")
        until(page, f"page.views[0].canvas.clientWidth >= {min(width, 900)}")
        lightness = "Math.max(...getComputedStyle(document.body).backgroundColor.match(/[0-9]+/g))"
        until(page, f"({lightness} < 60) === {str(dark).lower()}")


BEHIND = """page.views.some((view) => {
  const { left, bottom } = view.canvas.parentElement.querySelector(".tools").getBoundingClientRect();
  const canvas = view.canvas.getBoundingClientRect();
  return Array.from(view.scene.x, (_, at) => view.placeOf({ kind: "node", at })).some(
    ({ x, y }) => canvas.left + x > left && canvas.top + y < bottom);
})"""
"""JavaScript: true if a node is behind the buttons of its picture."""


def test_no_node_is_behind_the_buttons_of_a_phone_held_sideways(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address, width=844) as page:
        page.set_viewport_size({"width": 844, "height": 390})
        until(page, "!!page.scene() && page.views[0].times.length > 0")
        page.get_by_role("button", name="compare").click()
        until(page, "page.views.length === 2 && page.views.every((view) => view.scene)")
        until(page, f"!({BEHIND})")


def test_a_page_of_another_site_cannot_connect(browser: Browser, recording: Path):
    class Other(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<!doctype html><title>other</title>")

        def log_message(self, format: str, *args: object) -> None:
            pass

    other = http.server.HTTPServer(("127.0.0.1", 0), Other)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    try:
        elsewhere = f"http://127.0.0.1:{other.server_port}/"
        with serving(replay(recording), port=0) as address, visit(browser, elsewhere) as page:
            place = urlsplit(address)
            code, messages = page.evaluate(
                """(address) => new Promise((resolve) => {
                    let messages = 0;
                    const socket = new WebSocket(address);
                    socket.onmessage = () => messages++;
                    socket.onclose = ({code}) => resolve([code, messages]);
                })""",
                f"ws://{place.netloc}/live?{place.query}",
            )
        assert (code, messages) == (4401, 0)
    finally:
        other.shutdown()
        other.server_close()


def test_a_wrong_token_is_explained_on_the_page(browser: Browser):
    with (
        serving(Session("replay"), port=0) as address,
        visit(browser, address.partition("?")[0] + "?token=wrong") as page,
    ):
        expect(page.get_by_role("alert")).to_contain_text("the address lacks the token")


def test_space_plays_and_arrows_move_between_tabs(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address) as page:
        until(page, "!!page.store.track")
        page.get_by_role("button", name="to the beginning").click()
        page.locator("body").evaluate("document.activeElement.blur()")
        page.keyboard.press("Space")
        until(page, "page.store.playing || page.store.time > 0")
        page.get_by_role("tab", name="Inspect").focus()
        page.keyboard.press("ArrowRight")
        expect(page.get_by_role("tab", name="Events")).to_be_focused()
        expect(page.get_by_role("heading", name="Events")).to_be_visible()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_role("tab", name="Frame")).to_have_attribute("aria-selected", "true")

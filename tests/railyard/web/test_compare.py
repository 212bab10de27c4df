# SPDX-License-Identifier: Apache-2.0
"""Two variants beside each other: panels describe the one in which something is chosen, and say which."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from railyard.web.live import replay
from railyard.web.server import serving
from tests.browser import NO_PLAYWRIGHT, needs_packages, until, visit
from tests.railyard.web.mine import CUT_PS, recorded

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
pytestmark = needs_packages()


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recorded(tmp_path_factory.mktemp("compared")) / "run.recording"


def compared(page: Page) -> None:
    until(page, "page.store.tracks.size === 2 && !!page.store.tracks.get('cut').end && !!page.scene()")
    page.evaluate("page.store.show('healthy')")
    page.get_by_role("button", name="compare").click()
    until(page, "page.views.length === 2 && page.views.every((view) => view.scene)")
    page.evaluate("page.store.seek(1600000)")


def click_on_link(page: Page, pane: str, name: str) -> None:
    """Click on the middle of a link until it is chosen: the picture moves until its size is settled."""
    for _ in range(100):
        x, y = page.evaluate(
            """([pane, name]) => {
                const view = page.views.find(({canvas}) => canvas.dataset.view === pane);
                const {left, top} = view.canvas.getBoundingClientRect();
                const place = view.placeOf({kind: "link", at: view.scene.linkAt.get(name)});
                return [place.x + left, place.y + top];
            }""",
            [pane, name],
        )
        page.mouse.click(x, y)
        if page.evaluate("page.views[0].nameOf(page.store.selection)") == name:
            return
        page.wait_for_timeout(50)
    raise AssertionError(f"{name} cannot be chosen")


def test_a_click_shows_the_link_of_the_variant_that_was_clicked(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address) as page:
        compared(page)
        click_on_link(page, "beside", "npu0-npu1")
        heading = page.get_by_role("heading", name=re.compile("npu0-npu1"))
        expect(heading).to_contain_text("down")
        panes = page.get_by_role("group", name="variant described").get_by_role("button")
        expect(panes).to_have_text(["healthy", "cut"])
        expect(panes.nth(1)).to_have_attribute("aria-pressed", "true")

        click_on_link(page, "variant", "npu0-npu1")
        expect(heading).to_contain_text("up")
        expect(panes.nth(0)).to_have_attribute("aria-pressed", "true")
        panes.nth(1).click()
        expect(heading).to_contain_text("down")
        # The frames of the link are those of that variant too: none after the cut.
        page.get_by_role("tab", name="Frame").click()
        times = page.get_by_role("table", name="frames").get_by_role("button")
        expect(times).to_have_count(16)
        assert max(float(text.split()[0]) for text in times.all_text_contents()) <= CUT_PS / 1e6
        page.get_by_role("button", name="compare").click()
        expect(panes).to_have_count(0)


def test_events_of_both_variants_are_listed_marked_and_walked(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address) as page:
        compared(page)
        page.get_by_role("tab", name="Events").click()
        expect(page.get_by_text("in healthy and cut; choose one")).to_be_visible()
        cut = page.get_by_role("button", name="cut: npu0-npu1 goes down").first
        expect(cut).to_contain_text("1.000 µs")
        expect(page.get_by_role("button", name="healthy: the job ends")).to_be_visible()
        # The mark of the fault, which the variant on the left does not have.
        until(
            page,
            """(() => {
                const canvas = document.querySelector(".scrub canvas");
                const x = 8 + 1e6 / page.store.span * (canvas.clientWidth - 16);
                const {data} = canvas.getContext("2d").getImageData(x * devicePixelRatio, 20, 1, 1);
                return data[0] > data[2] + 60;
            })()""",
        )
        page.get_by_role("button", name="to the beginning").click()
        page.get_by_role("button", name="to the next event").click()
        until(page, f"page.store.time === {CUT_PS}")
        page.get_by_role("tab", name="Inspect").click()
        expect(page.get_by_role("heading", name=re.compile("npu0-npu1"))).to_contain_text("down")
        page.evaluate("page.store.seek(page.store.tracks.get('healthy').end.completion_ps + 200000)")
        before = page.evaluate("page.store.time")
        page.get_by_role("button", name="one tick further").click()
        until(page, f"page.store.time > {before}")


def test_a_variant_that_has_ended_is_idle_beside_one_that_goes_on(browser: Browser, recording: Path):
    with serving(replay(recording), port=0) as address, visit(browser, address) as page:
        compared(page)
        busy = "page.store.at(page.store.tracks.get('healthy')).load.some((load) => load > 0)"
        page.evaluate("page.store.seek(page.store.tracks.get('healthy').end.completion_ps / 2)")
        assert page.evaluate(busy)
        page.evaluate("page.store.seek(page.store.tracks.get('healthy').ticks.at(-1).t + 1)")
        assert not page.evaluate(busy)

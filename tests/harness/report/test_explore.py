# SPDX-License-Identifier: Apache-2.0
"""A report in a browser: switches, slider, table; skipped without Playwright and Chromium."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.report.page import report_html
from harness.report.results import conclude
from harness.run.observation.variant_run import VariantRun
from harness.scenario.schema import Scenario
from tests.browser import NO_PLAYWRIGHT, until, visit
from topologies import Fabric

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect


@pytest.fixture
def page(
    browser: Browser, scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun], tmp_path: Path
) -> Iterator[Page]:
    """Yield the opened report; afterwards nothing has been fetched, and no error was reported."""
    path = tmp_path / "report.html"
    result = conclude(scenario, 1, "embedded", runs)
    path.write_text(report_html(scenario, result, fabric, runs, "railyard run small.yaml"), encoding="utf-8")
    fetched: list[str] = []
    with visit(browser, path.as_uri(), height=900, asked=fetched) as opened:
        yield opened
    assert fetched == [path.as_uri()]


def cells(page: Page, column: int) -> Locator:
    return page.locator(f"#links tbody td:nth-child({column})")


def texts(column: int) -> str:
    """Return an expression for the texts of a column."""
    cells = f"document.querySelectorAll('#links tbody td:nth-child({column})')"
    return f"[...{cells}].map((cell) => cell.textContent)"


def only(column: int, *words: str) -> str:
    """Return an expression that is true if a column has these texts and no other."""
    return f"[...new Set({texts(column)})].sort().join() === '{','.join(sorted(words))}'"


def test_a_report_is_worked_with(page: Page, fabric: Fabric):
    # A column sorts, and turns around; the filter keeps the links that it names.
    expect(cells(page, 2)).to_have_count(2 * len(fabric.links))
    page.click("th >> text=longest queue")
    queues = f"{texts(10)}.map((text) => Number(text.replaceAll(',', '')))"
    until(page, f"{queues}.every((queue, at, all) => !at || all[at - 1] >= queue)")
    page.click("th >> text=link")
    until(page, f"((names) => names.indexOf('npu0-npu2') < names.indexOf('npu0-npu12'))({texts(2)})")
    page.fill("#filter", "npu0-npu1")
    until(page, only(2, "npu0-npu1", "npu0-npu12"))
    # A variant that is switched off leaves the table and the panels, and its curve fades.
    page.locator("[data-switch='1']").uncheck()
    until(page, only(1, "healthy"))
    expect(page.locator("#curve1.off")).to_have_count(1)
    expect(page.locator("figure[data-variant='1']").first).to_be_hidden()
    expect(page.locator("figure[data-variant='0']").first).to_be_visible()
    page.locator("[data-switch='1']").check()
    # The link is cut in the fabric from the time of the fault on, not before.
    crossed = page.locator("figure[data-variant='1'] .cross:not(.hidden)")
    expect(crossed).to_have_count(1)
    page.locator(".slider input").fill("0")
    expect(crossed).to_have_count(0)
    expect(page.locator(".moment li")).to_have_count(0)
    page.click("text=next event")
    expect(crossed).to_have_count(1)
    expect(page.locator(".moment li")).to_contain_text("npu0-npu1 goes down")
    # Explanations are there for the keyboard, too.
    page.locator(".why").first.focus()
    expect(page.locator(".why [role=tooltip]").first).to_be_visible()


def test_a_narrow_screen_and_paper(page: Page):
    page.set_viewport_size({"width": 400, "height": 800})
    page.locator(".why").nth(1).hover()
    until(page, "document.documentElement.scrollWidth === 400")
    page.emulate_media(media="print")
    for hidden in (".switches", ".slider", ".why"):
        expect(page.locator(hidden).first).to_be_hidden()
    expect(page.locator("#links tbody tr:visible")).to_have_count(30)


def test_figures_are_saved_as_they_look(page: Page, tmp_path: Path):
    figure = page.locator("figure").first
    with page.expect_download() as download:
        figure.get_by_role("button", name="SVG").click()
    assert download.value.suggested_filename == "completion-time.svg"
    download.value.save_as(tmp_path / "saved.svg")
    svg = ET.parse(tmp_path / "saved.svg").getroot()
    words = [text.strip() for text in svg.itertext()]
    assert any("bound" in text for text in words)
    # Styles of the page have become those of the drawing.
    assert "fill:" in str(next(svg.iter("{http://www.w3.org/2000/svg}path")).get("style"))
    with page.expect_download() as download:
        figure.get_by_role("button", name="PNG").click()
    download.value.save_as(tmp_path / "saved.png")
    assert (tmp_path / "saved.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

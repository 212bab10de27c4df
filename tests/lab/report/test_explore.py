# SPDX-License-Identifier: Apache-2.0
"""A report in a browser: switches, slider, table; skipped without Playwright and Chromium."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.report.metrics import VariantRun
from lab.report.page import report_html
from lab.report.results import conclude
from lab.scenario.schema import Scenario
from topologies import Fabric

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: `make setup`")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture
def page(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun], tmp_path: Path) -> Iterator[Any]:
    """Yield the opened report; afterwards nothing has been fetched, and no error was reported."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed: `make setup`")
    path = tmp_path / "report.html"
    result = conclude(scenario, 1, "embedded", runs)
    path.write_text(report_html(scenario, result, fabric, runs, "railyard run small.yaml"), encoding="utf-8")
    fetched: list[str] = []
    said: list[str] = []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1280, "height": 900})
        opened.on("request", lambda request: fetched.append(request.url))
        opened.on("console", lambda message: said.append(message.text))
        opened.on("pageerror", lambda error: said.append(str(error)))
        opened.goto(path.as_uri())
        yield opened
        browser.close()
    assert fetched == [path.as_uri()]
    assert said == []


def cells(page: Any, column: int) -> list[str]:
    return page.locator(f"#links tbody td:nth-child({column})").all_inner_texts()


def test_a_report_is_worked_with(page: Any, fabric: Fabric):
    # A column sorts, and turns around; the filter keeps the links that it names.
    assert len(cells(page, 2)) == 2 * len(fabric.links)
    page.click("th >> text=longest queue")
    queues = [float(cell.replace(",", "")) for cell in cells(page, 10)]
    assert queues == sorted(queues, reverse=True)
    page.click("th >> text=link")
    names = cells(page, 2)
    assert names.index("npu0-npu2") < names.index("npu0-npu12")
    page.fill("#filter", "npu0-npu1")
    assert {*cells(page, 2)} == {"npu0-npu1", "npu0-npu12"}
    # A variant that is switched off leaves the table and the panels, and its curve fades.
    page.locator("[data-switch='1']").uncheck()
    assert {*cells(page, 1)} == {"healthy"}
    assert page.locator("#curve1.off").count() == 1
    assert not page.locator("figure[data-variant='1']").first.is_visible()
    assert page.locator("figure[data-variant='0']").first.is_visible()
    page.locator("[data-switch='1']").check()
    # The link is cut in the fabric from the time of the fault on, not before.
    crossed = page.locator("figure[data-variant='1'] .cross:not(.hidden)")
    assert crossed.count() == 1
    page.locator(".slider input").fill("0")
    assert crossed.count() == 0
    assert page.locator(".moment li").count() == 0
    page.click("text=next event")
    assert crossed.count() == 1
    assert "npu0-npu1 goes down" in page.locator(".moment li").inner_text()
    # Explanations are there for the keyboard, too.
    page.locator(".why").first.focus()
    assert page.locator(".why [role=tooltip]").first.is_visible()


def test_a_narrow_screen_and_paper(page: Any):
    page.set_viewport_size({"width": 400, "height": 800})
    page.locator(".why").nth(1).hover()
    assert page.evaluate("document.documentElement.scrollWidth") == 400
    page.emulate_media(media="print")
    for hidden in (".switches", ".slider", ".why"):
        assert not page.locator(hidden).first.is_visible()
    assert page.locator("#links tbody tr:visible").count() == 30

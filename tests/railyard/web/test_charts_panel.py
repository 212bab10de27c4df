# SPDX-License-Identifier: Apache-2.0
"""Charts of the page: their numbers are those of the recording, and they export what they show."""

from __future__ import annotations

import csv
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from harness.recording.history import History
from harness.recording.recorder import TOTALS, Recorder
from harness.recording.records import Kind, Record, Tick
from harness.scenario.loader import load
from railyard.api.scenarios import execute
from railyard.web.server import serving
from railyard.web.session import Session
from tests.browser import NO_PLAYWRIGHT, needs_packages, until, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

expect = pytest.importorskip("playwright.sync_api", reason=NO_PLAYWRIGHT).expect
pytestmark = needs_packages()

SMALL = """
name: small
title: A small mesh
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 65536}
link: {detect_us: 0.5}
variants:
  - {name: healthy}
  - name: cut
    faults: [{at_us: 2.0, link: npu1-npu3}]
"""


def ticks_of(records: list[Record], variant: str) -> list[Tick]:
    begin = next(i for i, r in enumerate(records) if r.kind is Kind.VARIANT and r.values["name"] == variant)
    end = next(i for i, r in enumerate(records) if i > begin and r.kind is Kind.END)
    return [Tick.of(record) for record in records[begin:end] if record.kind is Kind.TICK]


def test_charts_show_and_export_the_run(browser: Browser, tmp_path: Path):
    file = tmp_path / "small.yaml"
    file.write_text(SMALL)
    session = Session("replay", History())
    records: list[Record] = []
    execute(*load(file), None, watcher=Recorder([session.history, records.append]))
    session.end("")
    with serving(session, port=0) as address, visit(browser, address, height=900) as page:
        until(page, "!!page.store.tracks.get('cut')?.end")
        page.get_by_role("tab", name="Charts").click()
        page.locator("#variant-variant").select_option("cut")
        charts = page.locator("[data-chart]")
        expect(charts).to_have_count(7)

        # The file has every value of every tick.
        with page.expect_download() as download:
            page.get_by_role("button", name="CSV").click()
        download.value.save_as(tmp_path / "charts.csv")
        rows = list(csv.DictReader((tmp_path / "charts.csv").open()))
        ticks = ticks_of(records, "cut")
        resent = [float(row["value"]) for row in rows if row["chart"] == "frames sent again"]
        place = TOTALS.index("retransmitted")
        assert len(resent) == len(ticks)
        assert sum(resent) == ticks[-1].totals[place] > 0
        arrived = [row for row in rows if row["chart"] == "data that has arrived"]
        assert (arrived[-1]["value"], arrived[-1]["unit"]) == ("100", "%")
        rates = [float(row["value"]) for row in rows if row["unit"] == "Tbit/s"][1:]
        widths = [after.time_ps - before.time_ps for before, after in pairwise(ticks)]
        rate = sum(value * width / 8 for value, width in zip(rates, widths, strict=True))
        assert rate == pytest.approx(ticks[-1].totals[0] - ticks[0].totals[0])

        # A link that is chosen shows its load; the drawing has a path for each line.
        link = page.evaluate("page.store.track.links.indexOf('npu1-npu3')")
        page.evaluate("page.store.select({kind: 'link', at: page.scene().linkAt.get('npu1-npu3')})")
        expect(page.get_by_role("figure", name="load of npu1-npu3")).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG").click()
        download.value.save_as(tmp_path / "charts.svg")
        drawn = ET.parse(tmp_path / "charts.svg").getroot()
        strokes = [path.get("stroke") for path in drawn.iter("{http://www.w3.org/2000/svg}path")]
        assert len(strokes) == 7 + 1 + 1 + 4 + 1 + 2 + 2 + 2
        assert any(tick.links.load[2 * link] for tick in ticks)
        with page.expect_download() as download:
            page.get_by_role("button", name="PNG").click()
        download.value.save_as(tmp_path / "charts.png")
        assert (tmp_path / "charts.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"

        # A click shows the time, a drag zooms all charts, and the bar above follows.
        box = charts.first.locator(".u-over").bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + 20)
        until(page, "Math.abs(page.store.time / page.store.span - 0.5) < 0.02")
        page.mouse.move(box["x"] + box["width"] * 0.25, box["y"] + 20)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.75, box["y"] + 20, steps=4)
        page.mouse.up()
        expect(page.get_by_role("button", name="whole run")).to_be_visible()
        page.get_by_role("button", name="whole run").click()

        # The variant beside has dashed lines.
        page.get_by_role("button", name="compare").click()
        expect(page.get_by_text(re.compile("dashed: healthy"))).to_be_visible()

        # A single chart is drawn as large as a slide: faults are marked, and labels stay inside.
        page.get_by_label("charts to save").select_option("latency")
        with page.expect_download() as download:
            page.get_by_role("button", name="SVG").click()
        assert download.value.suggested_filename == "small-cut-healthy-latency.svg"
        download.value.save_as(tmp_path / "chart.svg")
        slide = ET.parse(tmp_path / "chart.svg").getroot()
        assert (slide.get("width"), slide.get("height")) == ("960", "540")
        texts = {"".join(text.itertext()): text for text in slide.iter("{http://www.w3.org/2000/svg}text")}
        assert {"npu1-npu3 goes down", "median", "longest, healthy", "time, µs"} <= texts.keys()
        widest = page.evaluate(
            """(text) => {
                document.body.insertAdjacentHTML("beforeend", text);
                const svg = document.body.lastElementChild;
                const boxes = [...svg.querySelectorAll("text")].map((part) => part.getBBox());
                const rights = boxes.map(({x, width}) => x + width);
                svg.remove();
                return Math.max(...rights);
            }""",
            (tmp_path / "chart.svg").read_text(),
        )
        assert widest < 960

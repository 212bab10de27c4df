# SPDX-License-Identifier: Apache-2.0
"""Measure the live page in Chromium: frames a second and memory for a rack, a Pod and a SuperPod.

    python -m bench.page [rack pod superpod]

The page replays ticks in which every direction of every link has a random load, the most that it can have to
paint; the whole fabric is in sight at 1280 by 800 pixels. Processor time is that of all of Chromium, which
paints without a GPU; memory is that of its largest process.
"""

import random
import shutil
import sys
import time

import psutil
from playwright.sync_api import Page, sync_playwright

from emulation.testbed import LinkSample
from harness.recording.history import History
from harness.recording.picture import fabric_picture
from harness.recording.records import FORMAT, VERSION, Kind, Tick, json_record
from railyard.web.server import serving
from railyard.web.session import Session
from topologies import Fabric
from topologies.families.registry import find

FABRICS = {"rack": "ub-rack", "pod": "ub-pod", "superpod": "ub-superpod"}
TICKS = 40
TICK_PS = 1_000_000
SECONDS = 6


def recorded(fabric: Fabric) -> Session:
    """Return a session that replays random loads on all links."""
    session = Session("replay", History(limit_bytes=1 << 30))
    names = [link.name for link in fabric.links]
    header = {"format": FORMAT, "version": VERSION, "title": fabric.name, "scenario": "bench", "variants": []}
    session.history(json_record(Kind.HEADER, header))
    session.history(json_record(Kind.FABRIC, fabric_picture(fabric)))
    jobs = [{"name": "job", "begin_ps": 0, "members": []}]
    variant = {"name": "run", "label": "run", "tick_ps": TICK_PS, "bound_ps": TICKS * TICK_PS}
    variant |= {"links": names, "totals": ["delivered_bytes"], "jobs": jobs, "planned": []}
    session.history(json_record(Kind.VARIANT, variant))
    chance = random.Random(1)
    for number in range(TICKS):
        load, queue = chance.randbytes(2 * len(names)), chance.randbytes(2 * len(names))
        sample = LinkSample(load, queue, b"\1" * len(names))
        session.history(Tick(number * TICK_PS, (float(number),), sample).record())
    session.end("")
    return session


def measured(page: Page, address: str) -> dict[str, float]:
    """Return processor time of a frame, frames a second, memory, and the time to open the page."""
    began = time.perf_counter()
    page.goto(address)
    while page.evaluate("!page.store.track || page.store.track.ticks.length") != TICKS:
        page.wait_for_timeout(50)
    opened = time.perf_counter() - began
    page.wait_for_timeout(1500)
    before = processor_seconds()
    frames, passed = page.evaluate(
        """(seconds) => new Promise((resolve) => {
            const {store} = page;
            store.seek(0);
            const began = performance.now();
            let frames = 0;
            const turn = () => {
                frames++;
                const passed = (performance.now() - began) / 1000;
                if (passed > seconds) return resolve([frames, passed]);
                store.seek((store.span * passed) / seconds);
                requestAnimationFrame(turn);
            };
            requestAnimationFrame(turn);
        })""",
        SECONDS,
    )
    return {
        "processor_ms": 1000 * (processor_seconds() - before) / frames,
        "frames_per_second": frames / passed,
        "process_mb": max((part.memory_info().rss for part in browsers()), default=0) / 1e6,
        "open_s": opened,
    }


def browsers() -> list[psutil.Process]:
    """Return the processes of Chromium that this process has started."""
    return [part for part in psutil.Process().children(recursive=True) if "chrom" in part.name()]


def processor_seconds() -> float:
    """Return the processor time of Chromium up to now."""
    return sum(part.cpu_times().user + part.cpu_times().system for part in browsers())


def main() -> None:
    """Print a table of the fabrics that are asked for."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("bench.page needs Chromium: `make setup` installs it on Debian")
    print(
        "| fabric | nodes | links | processor time a frame (ms) | frames a second | memory (MB) | opens (s) |"
    )
    print("|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or FABRICS:
        fabric = find(FABRICS[name]).build()
        with sync_playwright() as playwright, serving(recorded(fabric), port=0) as address:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox", "--disable-gpu"]
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            seen = measured(page, address)
            browser.close()
        print(
            f"| {name} | {len(fabric.nodes):,} | {len(fabric.links):,} | {seen['processor_ms']:.1f} | "
            f"{seen['frames_per_second']:.0f} | {seen['process_mb']:.0f} | {seen['open_s']:.1f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()

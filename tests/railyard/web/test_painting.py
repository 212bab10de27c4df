# SPDX-License-Identifier: Apache-2.0
"""Painting of a large fabric, whose links are coloured pixel by pixel: where colours are, at any zoom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from emulation.testbed import LinkSample
from harness.recording.picture import fabric_picture
from harness.recording.records import FORMAT, VERSION, Kind, Tick, event, json_record
from railyard.web.server import serving
from railyard.web.session import Session
from tests.browser import needs_packages, until, visit
from topologies import Fabric, full_mesh

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = needs_packages()

LOADED, DOWN, STUCK = "npu3-npu40", "npu10-npu60", "npu20-npu44"


def replayed(fabric: Fabric) -> Session:
    """Return a session that replays an idle fabric, then one direction loaded and another link down."""
    session = Session("replay")
    names = [link.name for link in fabric.links]
    header = {"format": FORMAT, "version": VERSION, "title": "large", "scenario": "large", "variants": []}
    session.history(json_record(Kind.HEADER, header))
    session.history(json_record(Kind.FABRIC, fabric_picture(fabric)))
    variant = {"name": "run", "label": "run", "tick_ps": 1000, "bound_ps": 10_000, "links": names}
    session.history(json_record(Kind.VARIANT, variant | {"totals": [], "jobs": [], "planned": []}))
    load, state = bytearray(2 * len(names)), bytearray(b"\1" * len(names))
    session.history(Tick(0, (), LinkSample(bytes(load), bytes(load), bytes(state))).record())
    load[2 * names.index(LOADED)], state[names.index(DOWN)] = 255, 0
    for time_ps in range(5000, 10_000, 1000):
        session.history(Tick(time_ps, (), LinkSample(bytes(load), bytes(load), bytes(state))).record())
    session.history(event(9000, "deadlock", "deadlock", links=[STUCK]))
    session.end("")
    return session


def near(link: str, share: float, colour: str) -> str:
    """Return an expression: whether a colour of the style sheet is drawn at a place between a link's ends."""
    return f"""(() => {{
        const {{canvas, camera, scene}} = page.views[0];
        const at = scene.linkAt.get("{link}");
        const t = {share}, s = 1 - t;
        const [x, y] = ["x", "y"].map((axis) => {{
            const place = s * s * scene[axis][scene.a[at]] + 2 * s * t * scene["c" + axis][at]
                + t * t * scene[axis][scene.b[at]];
            return Math.round((place - camera.view[axis]) * camera.view.scale);
        }});
        const value = getComputedStyle(document.documentElement).getPropertyValue("{colour}").trim();
        const wanted = [1, 3, 5].map((from) => parseInt(value.slice(from, from + 2), 16));
        const {{data}} = canvas.getContext("2d").getImageData(x - 2, y - 2, 5, 5);
        for (let at = 0; at < data.length; at += 4)
            if (wanted.every((part, channel) => Math.abs(part - data[at + channel]) < 60)) return true;
        return false;
    }})()"""


def test_a_loaded_half_and_a_link_that_is_down_have_their_colours(browser: Browser):
    fabric = full_mesh((64,))
    assert len(fabric.links) > 1500
    with serving(replayed(fabric), port=0) as address, visit(browser, address, dark=True) as page:
        until(page, "page.store.track?.ticks.length === 6 && page.views[0]?.times.length > 0")
        page.evaluate("page.store.seek(10000)")
        until(page, near(LOADED, 0.2, "--load-7"))
        until(page, near(DOWN, 0.5, "--down"))
        until(page, near(STUCK, 0.5, "--down"))
        page.evaluate("page.store.seek(8000)")
        until(page, f"!{near(STUCK, 0.5, '--down')}")
        until(page, f"!{near(LOADED, 0.8, '--load-7')}")
        # Zoomed in, the same place of the link has moved, and its colour with it.
        page.evaluate("page.camera.zoom(3, page.views[0].placeOf({kind: 'node', at: 3}).x, 300)")
        until(page, near(LOADED, 0.05, "--load-7"))
        page.evaluate("page.store.seek(0)")
        until(page, f"!{near(LOADED, 0.05, '--load-7')}")

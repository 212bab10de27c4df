# SPDX-License-Identifier: Apache-2.0
"""Geometry of figures: all of a figure lies inside its view box, and labels do not cover each other."""

import re
import xml.etree.ElementTree as ET
from itertools import combinations

import networkx as nx
import pytest

from harness.report.figures.comparison_charts import Samples, distributions_svg
from harness.report.figures.deadlock_cycle import LABEL_HEIGHT, LABEL_WIDTH, cycle_svg
from harness.report.figures.fabric import fabric_svg
from harness.report.figures.run_charts import STUB, Bar, Curve, bars_svg, timeline_svg
from harness.run.saturation import saturate
from topologies import from_graph, full_mesh
from topologies.families.registry import build

SVG = "{http://www.w3.org/2000/svg}"

Box = tuple[float, float, float, float]


def view_box(root: ET.Element) -> Box:
    left, top, width, height = map(float, root.get("viewBox", "").split())
    return left, top, left + width, top + height


def inside(box: Box, outer: Box) -> bool:
    return outer[0] <= box[0] and outer[1] <= box[1] and box[2] <= outer[2] and box[3] <= outer[3]


def overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def curve_box(path: ET.Element) -> Box:
    """Bounding box of points of a path `M x y Q cx cy x y`."""
    x1, y1, cx, cy, x2, y2 = map(float, re.findall(r"-?[\d.]+", path.get("d", ""))[:6])
    steps = [step / 20 for step in range(21)]
    xs = [(1 - t) ** 2 * x1 + 2 * t * (1 - t) * cx + t * t * x2 for t in steps]
    ys = [(1 - t) ** 2 * y1 + 2 * t * (1 - t) * cy + t * t * y2 for t in steps]
    return min(xs), min(ys), max(xs), max(ys)


def circle_box(circle: ET.Element) -> Box:
    x, y, radius = (float(circle.get(key, 0)) for key in ("cx", "cy", "r"))
    return x - radius, y - radius, x + radius, y + radius


def label_box(text: ET.Element) -> Box:
    x, y = float(text.get("x", 0)), float(text.get("y", 0))
    return x - LABEL_WIDTH / 2, y - LABEL_HEIGHT / 2, x + LABEL_WIDTH / 2, y + LABEL_HEIGHT / 2


@pytest.mark.parametrize("dims", [(2,), (2, 2), (4, 4), (16, 16)])
def test_key_and_links_of_a_fabric_of_any_size_are_inside_the_picture(dims: tuple[int, ...]) -> None:
    mesh = full_mesh(dims)
    root = ET.fromstring(fabric_svg(mesh, {link.name: (0.5, 0.2) for link in mesh.links}))
    outer = view_box(root)
    curves = [path for path in root.iter(f"{SVG}path") if "Q" in path.get("d", "")]
    assert len(curves) == len(mesh.links)
    assert all(inside(curve_box(path), outer) for path in curves)
    assert all(inside(circle_box(circle), outer) for circle in root.iter(f"{SVG}circle"))
    key = [text for text in root.iter(f"{SVG}text") if text.get("class") == "key"]
    assert [text.text for text in key] == ["0 %", "25 %", "50 %", "75 %", "100 %"]
    # The key is drawn in letters of 11 px from the start of the text on.
    boxes = [(x, y - 6, x + 7 * len(text.text or ""), y + 6) for text in key for x, y in [_start(text)]]
    assert all(inside(box, outer) for box in boxes)


def _start(text: ET.Element) -> tuple[float, float]:
    return float(text.get("x", 0)), float(text.get("y", 0))


def test_every_tor_of_a_segment_has_a_label_of_its_own() -> None:
    fabric = build("hpn", segments=2, hosts=2, rails=4, aggs=4)
    root = ET.fromstring(fabric_svg(fabric))
    titles = {circle.findtext(f"{SVG}title"): at for at, circle in enumerate(root.iter(f"{SVG}circle"))}
    labels = [text.text for text in root.iter(f"{SVG}text")]
    tors = [labels[at] for name, at in titles.items() if (name or "").startswith("tor")]
    assert len(set(tors)) == len(tors) == 16


@pytest.mark.parametrize(
    "name", ["fat-tree", "dragonfly", "dragonfly-plus", "hyperx", "slim-fly", "dcn-plus"]
)
def test_no_two_switches_share_a_label(name: str) -> None:
    fabric = build(name)
    root = ET.fromstring(fabric_svg(fabric))
    titles = [circle.findtext(f"{SVG}title") for circle in root.iter(f"{SVG}circle")]
    labels = [text.text for text in root.iter(f"{SVG}text") if text.get("class") != "key"]
    switches = {node.name for node in fabric.nodes if node.tier}
    shown = [label for title, label in zip(titles, labels, strict=True) if title in switches]
    assert len(shown) == len(set(shown)) == len(switches)


def test_links_of_a_graph_at_full_load_are_thinner_the_more_there_are() -> None:
    def width(name: str) -> float:
        fabric = build(name)
        root = ET.fromstring(fabric_svg(fabric, {link.name: (1.0, 1.0) for link in fabric.links}))
        busy = [path for path in root.iter(f"{SVG}path") if path.findtext(f"{SVG}title")]
        assert len(busy) == len(fabric.links)
        return max(float(path.get("stroke-width", 0)) for path in busy)

    assert width("hyperx") > width("slim-fly") > width("ub-rack") > 1


def test_nodes_with_names_of_several_words_have_the_initial_and_the_number_of_each() -> None:
    graph = nx.Graph()
    for server in (0, 1):
        graph.add_node(f"srv{server}-nvsw", kind="switch")
        graph.add_edges_from((f"srv{server}-nvsw", f"srv{server}-gpu{rank}") for rank in (0, 1))
        graph.add_edges_from((f"srv{server}-gpu{rank}", f"tor-p0r{rank}") for rank in (0, 1))
    graph.add_nodes_from([f"tor-p0r{rank}" for rank in (0, 1)], kind="switch")
    graph.add_node("spine0", kind="switch")
    graph.add_edges_from((f"tor-p0r{rank}", "spine0") for rank in (0, 1))
    root = ET.fromstring(fabric_svg(from_graph(graph, "own")))
    titles = [circle.findtext(f"{SVG}title") for circle in root.iter(f"{SVG}circle")]
    labels = dict(zip(titles, (text.text for text in root.iter(f"{SVG}text")), strict=True))
    assert (labels["srv1-gpu0"], labels["srv0-nvsw"], labels["tor-p0r1"]) == ("s1g0", "s0n", "tp0r1")
    assert len(set(labels.values())) == len(labels)


def test_labels_of_a_saturated_deadlock_cover_neither_each_other_nor_a_node() -> None:
    mesh = full_mesh((4, 4))
    cycle = saturate(mesh, "single-vl", 100_000).cycle
    assert len(cycle) > 4
    root = ET.fromstring(cycle_svg(mesh, cycle))
    labels = [label_box(text) for text in root.iter(f"{SVG}text") if text.get("class") == "vl"]
    circles = [circle_box(circle) for circle in root.iter(f"{SVG}circle")]
    assert len(labels) == len(cycle)
    assert not any(overlap(a, b) for a, b in combinations(labels, 2))
    assert not any(overlap(label, circle) for label in labels for circle in circles)
    waits = [path for path in root.iter(f"{SVG}path") if path.get("class") == "wait"]
    assert all(inside(box, view_box(root)) for box in [*labels, *circles, *map(curve_box, waits)])


def bar_widths(svg: str) -> list[float]:
    """Widths of the bars of a chart, stubs included, in the order of its rows."""
    widths = []
    for data in re.findall(r'<path d="(M [^"]*?z)\s*"[^>]*clip-path', svg):
        xs = [float(x) for x in re.findall(r"[ML] (-?[\d.]+) ", data)]
        widths.append(max(xs) - min(xs))
    return widths


def test_a_failed_variant_is_a_stub_and_does_not_set_the_scale() -> None:
    finished = [Bar(0, "healthy", 35.0, 17.0), Bar(1, "slow", 70.0, 17.0)]
    failed = Bar(2, "lost", 24_000.0, 17.0, failed="failed at 24,000.00 µs: 0 of 16 correct")
    text = bars_svg([*finished, failed])
    healthy, slow, stub = bar_widths(text)
    assert [healthy / slow, stub / slow] == pytest.approx([0.5, STUB], rel=1e-3)
    assert "failed at 24,000.00 µs: 0 of 16 correct" in text
    assert "x bound" not in text[text.index("failed at") :]


def test_bars_without_a_finished_variant_are_drawn_to_the_scale_of_their_bound() -> None:
    (stub,) = bar_widths(bars_svg([Bar(0, "lost", 24_000.0, 17.0, failed="deadlock at 3.00 µs")]))
    assert stub > 0


def test_a_failed_variant_does_not_set_the_time_scale_and_words_of_faults_stand_apart() -> None:
    finished = Curve(0, "repaired", 10.0, [1.0] * 8, [(10, "cut"), (12, "back")], recovered_us=14.0)
    failed = Curve(1, "lost", 50.0, [1.0, 0.5] + [0.0] * 478, [(10, "cut")], 14.0, failed=True)
    text = timeline_svg([finished, failed])
    ticks = [int(word) for word in re.findall(r">(\d+)</text>", text)]
    assert max(ticks) == 80
    assert "lost (failed)" in text
    heights = [float(y) for y in re.findall(r'y="([\d.]+)"[^>]*>(?:cut|back), ', text)]
    assert len(set(heights)) == len(heights) == 2


def test_a_sweep_in_which_all_runs_fail_says_so_in_its_picture() -> None:
    panels = {
        title: [Samples(0, "direct", [], failed=3), Samples(1, "flooding", [], failed=4)] for title in "ab"
    }
    text = distributions_svg(panels)
    assert text.count("7 of 7 runs failed") == 2
    some = distributions_svg({"a": [Samples(0, "direct", [1.0, 2.0], failed=3)]})
    assert "direct: 3 of 5 runs failed" in some
    assert "nothing to draw" not in some

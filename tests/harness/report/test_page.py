# SPDX-License-Identifier: Apache-2.0
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import railyard
from emulation.fidelity import Fidelity
from emulation.testbed import LinkUsage
from harness.report.charts import curves
from harness.report.explore.data import MAX_LINKS, links_by_load
from harness.report.figures.fabric import fabric_svg
from harness.report.figures.run_charts import Curve, timeline_svg
from harness.report.markup import shown
from harness.report.page import report_html
from harness.report.picture import picture_svg
from harness.report.results import conclude
from harness.report.sources import citations
from harness.run.observation.variant_run import VariantRun
from harness.scenario.loader import load
from harness.scenario.metrics import METRICS
from harness.scenario.schema import Scenario
from topologies import Fabric
from topologies.families.registry import build, names

SVG = "{http://www.w3.org/2000/svg}"


def made(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun], switch: str = "") -> str:
    result = conclude(scenario, 1, "mininet" if switch else "embedded", runs, switch=switch)
    return report_html(scenario, result, fabric, runs, "railyard run small.yaml --seed 1")


def test_a_report_is_the_same_every_time(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]):
    assert made(scenario, fabric, runs) == made(scenario, fabric, runs)
    assert picture_svg(scenario, fabric, runs) == picture_svg(scenario, fabric, runs)


def test_a_report_needs_no_other_file(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]):
    text = made(scenario, fabric, runs)
    assert not re.search(r"""<(link|img|iframe)\b|url\((?!#)|@import|\bsrc=|\bfetch\b|\bimport\b""", text)
    assert "default-src 'none'" in text
    fetched = re.findall(r"""(?:href)\s*=\s*["']([^"']*)""", text)
    assert all(target.startswith("#") for target in fetched)


def test_a_report_says_all_it_knows(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]):
    text = made(scenario, fabric, runs)
    for name in METRICS:
        assert f"<code>{name}</code>" in text
    for said in (
        "A small one",
        "0.140625 D/B",
        "cut, 0.3 µs",
        "railyard run small.yaml --seed 1",
        "npu0-npu1",
    ):
        assert said in text


def test_every_figure_is_well_formed(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]):
    figures = re.findall(r"<svg.*?</svg>", made(scenario, fabric, runs), flags=re.DOTALL)
    assert len(figures) == 4
    for figure in figures:
        assert "#010203" not in figure
        ET.fromstring(figure.replace("<svg", '<svg xmlns:xlink="http://www.w3.org/1999/xlink"', 1)) if (
            "xlink:href" in figure and "xmlns:xlink" not in figure
        ) else ET.fromstring(figure)
    ET.fromstring(picture_svg(scenario, fabric, runs))


def test_what_the_user_wrote_is_no_markup(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]):
    sly = scenario.model_copy(update={"title": "<b>&", "description": "<script>x</script>"})
    text = made(sly, fabric, runs)
    assert "<script>x" not in text
    assert "&lt;b&gt;&amp;" in text


def values_of(text: str) -> dict[str, Any]:
    """Return the values that a report has for its script."""
    (content,) = re.findall(r'<script type="application/json" id="values">(.*?)</script>', text)
    return json.loads(content)


def test_a_label_cannot_end_the_values_of_the_script(
    scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]
):
    first, *rest = scenario.variants
    label = "</script><b>&"
    sly = scenario.model_copy(update={"variants": (first.model_copy(update={"title": label}), *rest)})
    text = made(sly, fabric, runs)
    assert "</script><b>" not in text
    assert values_of(text)["variants"][0]["label"] == label


def test_the_table_of_links_has_the_counters_of_the_run(
    scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]
):
    written = values_of(made(scenario, fabric, runs))["variants"]
    for variant, values in zip(scenario.variants, written, strict=True):
        usage = runs[variant.name].observation.link_usage
        assert {row[0]: row[3:7] for row in values["links"]} == {
            name: [there.bytes, back.bytes, there.frames, back.frames]
            for name, (there, back) in usage.items()
        }
        shares = [max(row[1], row[2]) for row in values["links"]]
        assert shares == sorted(shares, reverse=True)


def test_a_table_of_many_links_keeps_those_that_lost_frames(runs: dict[str, VariantRun]):
    idle = LinkUsage(0, 0, 0, 0, 0, 0)
    usage = {
        f"a-{number}": (LinkUsage(1, 10**6 - 1000 * number, 0, int(number == 990), 0, 0), idle)
        for number in range(1000)
    }
    run = runs["healthy"]
    seen = replace(run.observation, link_usage=usage)
    rows = links_by_load(replace(run, observation=seen, rates_bps=dict.fromkeys(usage, 10**12)))
    assert [row[0] for row in rows] == [*(f"a-{number}" for number in range(MAX_LINKS)), "a-990"]


def test_events_and_cuts_have_their_times(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]):
    healthy, cut = values_of(made(scenario, fabric, runs))["variants"]
    assert healthy["cuts"] == []
    assert cut["cuts"] == [[0.3, True, "npu0-npu1"]]
    assert [at for at, _ in cut["events"]] == sorted(at for at, _ in cut["events"])
    assert [0.3, "npu0-npu1 goes down"] in cut["events"]


def test_values_say_what_they_mean(scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]):
    text = made(scenario, fabric, runs)
    meaning = METRICS["completion_us"].meaning
    assert f'title="healthy: {meaning}, in us"' in text


def test_a_rack_draws_every_link_and_crosses_the_cut_one(fabric: Fabric):
    root = ET.fromstring(fabric_svg(fabric, {link.name: (0.5, 0.25) for link in fabric.links}, {"npu0-npu1"}))
    titles = [path.findtext(f"{SVG}title") for path in root.iter(f"{SVG}path")]
    named = [title for title in titles if title]
    assert len(named) == len(fabric.links) == 48
    assert "npu0-npu1: busy 50.0 % and 25.0 %, cut" in named
    assert len([path for path in root.iter(f"{SVG}path") if path.get("class") == "cross"]) == 1


@pytest.mark.parametrize(("dims", "circles"), [((8, 8), 64), ((4,), 4), ((2, 3, 2), 12)])
def test_any_full_mesh_can_be_drawn(dims: tuple[int, ...], circles: int):
    fabric = build("full-mesh", dims=dims)
    root = ET.fromstring(fabric_svg(fabric))
    assert len(list(root.iter(f"{SVG}circle"))) == circles


def figures(text: str) -> list[str]:
    return re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL)


def real(runs: dict[str, VariantRun], **fidelity: Fidelity) -> dict[str, VariantRun]:
    return {name: replace(run, fidelity=fidelity[name]) for name, run in runs.items()}


def test_a_run_in_virtual_time_has_no_fidelity_report(
    scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun]
):
    text = made(scenario, fabric, runs) + picture_svg(scenario, fabric, runs)
    assert "trustworthy" not in text.lower()
    assert "fidelity" not in text
    assert "believed" not in text


def test_a_report_of_real_time_has_a_verdict(
    scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity]
):
    calm = real(runs, healthy=fidelities["believed"], cut=fidelities["believed"])
    text = made(scenario, fabric, calm, "bmv2")
    assert "small, seed 1, mininet testbed, BMv2 switches, 16 nodes" in text
    assert "<strong>timing trustworthy</strong>" in text
    assert "NOT TRUSTWORTHY" not in text
    assert "scenario time, µs" in text
    assert "virtual time, µs" not in text
    assert "not judged" not in text
    assert "timing trustworthy" in picture_svg(scenario, fabric, calm)


def test_a_report_that_cannot_be_believed_says_so_and_why(
    scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity]
):
    hurried = real(runs, healthy=fidelities["believed"], cut=fidelities["doubted"])
    text = made(scenario, fabric, hurried)
    for said in (
        "<strong>TIMING NOT TRUSTWORTHY</strong>",
        "4 of 5 assertions hold, 1 not judged",
        "<li>the processors were busy 97 % of the time (at most 90 %)</li>",
        "37 frames were lost where the fabric loses none: 37 at veth",
        "--dilation 40000",
        "a &lt;note&gt;",
        "2.5 ?",
        ">not judged</span>",
    ):
        assert said in text
    assert "1.25 ?" not in text  # of the variant that is believed
    assert "TIMING NOT TRUSTWORTHY" in picture_svg(scenario, fabric, hurried)


def test_figures_of_a_real_time_run_are_well_formed_and_the_same_every_time(
    scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity]
):
    hurried = real(runs, healthy=fidelities["believed"], cut=fidelities["doubted"])
    text = made(scenario, fabric, hurried)
    assert text == made(scenario, fabric, hurried)
    assert len(figures(text)) == 6
    for figure in figures(text):
        assert "#010203" not in figure
        ET.fromstring(figure)
    ET.fromstring(picture_svg(scenario, fabric, hurried))


def test_a_run_that_lost_nothing_has_no_plot_of_losses(
    scenario: Scenario, fabric: Fabric, runs: dict[str, VariantRun], fidelities: dict[str, Fidelity]
):
    calm = fidelities["believed"]
    lossless = replace(calm, measured=replace(calm.measured, drops={"veth": 0}))
    text = made(scenario, fabric, real(runs, healthy=lossless, cut=lossless))
    assert "No frame was lost" in text
    assert len(figures(text)) == 5


def test_collectives_that_are_compared_share_a_time_axis(write: Callable[[str], Path]):
    head = "name: a\ntopology: {name: full-mesh, dims: [4]}\ncollective: {elements: 4096}\nvariants:\n"
    direct = "  - {name: direct, collective: {algorithm: direct}}\n"
    ring = "  - {name: ring, collective: {algorithm: ring}}\n"
    long = "  - {name: long, collective: {algorithm: direct, elements: 8192}}\n"
    cut = "  - {name: cut, collective: {algorithm: ring}, faults: [{at_us: 0.1, link: npu0-npu1}]}\n"

    def drawn(text: str) -> list[str]:
        result = railyard.run(write(head + text))
        return [curve.label for curve in curves(result.scenario, result.runs)]

    assert drawn(direct + ring + long) == ["direct", "ring"]
    assert drawn(direct + ring + cut) == ["ring", "cut"]


def test_a_timeline_names_what_struck_and_reaches_to_the_recovery():
    faults = [(0.2, "loss"), (0.2, "cut"), (0.3, "back")]
    text = timeline_svg([Curve(0, "one", 0.1, [1.0, 2.0, 0.5, 0.1], faults, recovered_us=2.0)])
    assert "cut, loss, 0.2 µs" in text
    assert "back, 0.3 µs" in text
    box = re.search(r'viewBox="0 0 (\S+) ', text)
    assert box is not None
    assert float(box[1]) < 700  # a mark outside the axes would make the figure wider


@pytest.mark.parametrize(
    ("figure", "text"), [(1234567, "1,234,567"), (2.0, "2"), (0.1406250, "0.140625"), (1234.5, "1,234.5")]
)
def test_figures_are_shown_for_the_eye(figure: float, text: str):
    assert shown(figure) == text


@pytest.mark.parametrize(
    ("topology", "collective", "cited", "absent"),
    [
        ("{name: full-mesh, dims: [2, 2]}", "{}", ["UB-Mesh"], ["HPN", "Rail-only"]),
        ("{name: hpn, hosts: 2}", "{kind: all-gather}", ["HPN"], ["UB-Mesh", "Rail-only"]),
        ("{name: rail-only}", "{algorithm: dimension-wise}", ["arXiv 2307.12169"], ["UB-Mesh", "HPN"]),
        ("{name: rail-only}", "{kind: all-to-all}", ["arXiv 2307.12169", "UB-Mesh"], ["HPN"]),
        ("{name: lumos}", "{algorithm: direct}", ["LumosCore"], ["UB-Mesh", "HPN"]),
    ],
)
def test_a_report_cites_the_sources_of_its_own_fabric_and_collective(
    write: Callable[[str], Path], topology: str, collective: str, cited: list[str], absent: list[str]
) -> None:
    scenario, _ = load(write(f"name: x\ntopology: {topology}\ncollective: {collective}\n"))
    text = "\n".join(citations(scenario))
    assert [name for name in cited if name not in text] == []
    assert [name for name in absent if name in text] == []


@pytest.mark.parametrize("name", [name for name in names() if name != "optical-rings"])
def test_every_topology_from_a_paper_has_a_source(scenario: Scenario, name: str) -> None:
    topology = scenario.topology.model_copy(update={"name": name, "parameters": {}})
    assert "declares no source" not in citations(scenario.model_copy(update={"topology": topology}))[0]

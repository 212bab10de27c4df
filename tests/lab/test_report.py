import re
import xml.etree.ElementTree as ET

import pytest

from lab.metrics import METRICS, Subject
from lab.rack import rack_svg
from lab.report import picture_svg, report_html, shown
from lab.results import conclude
from lab.scenario import Scenario
from topologies import Fabric
from topologies.catalog import build

SVG = "{http://www.w3.org/2000/svg}"


def made(scenario: Scenario, fabric: Fabric, subjects: dict[str, Subject]) -> str:
    result = conclude(scenario, 1, "embedded", subjects)
    return report_html(scenario, result, fabric, subjects, "railyard run small.yaml --seed 1")


def test_a_report_is_the_same_every_time(scenario: Scenario, fabric: Fabric, subjects: dict[str, Subject]):
    assert made(scenario, fabric, subjects) == made(scenario, fabric, subjects)
    assert picture_svg(scenario, fabric, subjects) == picture_svg(scenario, fabric, subjects)


def test_a_report_needs_no_other_file(scenario: Scenario, fabric: Fabric, subjects: dict[str, Subject]):
    text = made(scenario, fabric, subjects)
    assert not re.search(r"""<(script|link|img|iframe)\b|url\((?!#)|@import|\bsrc=""", text)
    fetched = re.findall(r"""(?:href)\s*=\s*["']([^"']*)""", text)
    assert all(target.startswith("#") for target in fetched)


def test_a_report_says_all_it_knows(scenario: Scenario, fabric: Fabric, subjects: dict[str, Subject]):
    text = made(scenario, fabric, subjects)
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


def test_every_figure_is_well_formed(scenario: Scenario, fabric: Fabric, subjects: dict[str, Subject]):
    figures = re.findall(r"<svg.*?</svg>", made(scenario, fabric, subjects), flags=re.DOTALL)
    assert len(figures) == 4
    for figure in figures:
        assert "#010203" not in figure
        ET.fromstring(figure.replace("<svg", '<svg xmlns:xlink="http://www.w3.org/1999/xlink"', 1)) if (
            "xlink:href" in figure and "xmlns:xlink" not in figure
        ) else ET.fromstring(figure)
    ET.fromstring(picture_svg(scenario, fabric, subjects))


def test_what_the_user_wrote_is_no_markup(scenario: Scenario, fabric: Fabric, subjects: dict[str, Subject]):
    sly = scenario.model_copy(update={"title": "<b>&", "description": "<script>x</script>"})
    text = made(sly, fabric, subjects)
    assert "<script" not in text
    assert "&lt;b&gt;&amp;" in text


def test_a_rack_draws_every_link_and_crosses_the_cut_one(fabric: Fabric):
    root = ET.fromstring(rack_svg(fabric, {link.name: (0.5, 0.25) for link in fabric.links}, {"npu0-npu1"}))
    titles = [path.findtext(f"{SVG}title") for path in root.iter(f"{SVG}path")]
    named = [title for title in titles if title]
    assert len(named) == len(fabric.links) == 48
    assert "npu0-npu1: busy 50.0 % and 25.0 %, cut" in named
    assert len([path for path in root.iter(f"{SVG}path") if path.get("class") == "cross"]) == 1


@pytest.mark.parametrize(("dims", "circles"), [((8, 8), 64), ((4,), 4), ((2, 3, 2), 12)])
def test_any_full_mesh_can_be_drawn(dims: tuple[int, ...], circles: int):
    fabric = build("full-mesh", dims=dims)
    root = ET.fromstring(rack_svg(fabric))
    assert len(list(root.iter(f"{SVG}circle"))) == circles


@pytest.mark.parametrize(
    ("figure", "text"), [(1234567, "1,234,567"), (2.0, "2"), (0.1406250, "0.140625"), (1234.5, "1,234.5")]
)
def test_figures_are_shown_for_the_eye(figure: float, text: str):
    assert shown(figure) == text

# SPDX-License-Identifier: Apache-2.0
"""Draw the guides' pictures from the project itself: `python scripts/pictures.py [FOLDER]` writes every SVG.

    fabric-*.svg      a small member of each family of fabrics
    frame.svg         headers of a frame, with the fields and widths of the Scapy layers
    pipeline.svg      tables of a switch in the order of its compiled P4 program
    link-states.svg   states of a link as one end sees them, and the reaction to each change
    floors.svg        the floors of the code and the value that each hands on

A test compares the committed pictures with what this script draws.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import final

from emulation.traffic.frames.layers import CLH, LPH, NTH, SRH, TPH
from lab.report.figures.fabric import FABRIC_STYLE, fabric_svg
from topologies.families.registry import build

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs" / "images"

# A small fabric of every family, named as its picture.
FABRICS: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "full-mesh": ("full-mesh", {"dims": [4, 4]}),
    "ub-rack": ("ub-rack-lrs", {"dims": [8, 2], "planes": 2, "uplink_lanes": 8}),
    "rail-only": ("rail-only", {"domains": 4, "hb_size": 4}),
    "rail-optimised": ("rail-optimised", {"domains": 4, "hb_size": 4, "radix": 8}),
    "lumos": ("lumos", {"pods": 3, "leaves": 2, "spines": 2, "accelerators": 4, "hb_size": 4}),
    "hpn": ("hpn", {"segments": 2, "hosts": 2, "rails": 4, "aggs": 2}),
}

STYLE = """
svg { background: #fff; color: #1c2733; }
rect.box { fill: #eaf2fb; stroke: #3f8fe0; stroke-width: 1.2; }
rect.quiet { fill: #f6f7f8; stroke: #9aa5b1; }
rect.lost { fill: #fdeee4; stroke: #e0600a; }
path.arrow { fill: none; stroke: #1c2733; stroke-width: 1.2; marker-end: url(#head); }
text { fill: #1c2733; font: 12px system-ui, sans-serif; text-anchor: middle; }
text.title { font-weight: 600; }
text.small { font-size: 10.5px; fill: #45525f; }
text.left { text-anchor: start; }
"""
HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
    'orient="auto"><path d="M0 0L8 4L0 8z" fill="#1c2733"/></marker></defs>'
)


@final
@dataclass(frozen=True, slots=True)
class Box:
    """A labelled rectangle in pixels: the first line is its title."""

    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]
    style: str = "box"

    def svg(self) -> Iterator[str]:
        """Yield the rectangle and its lines of text."""
        yield (
            f'<rect class="box {self.style}" x="{self.x:g}" y="{self.y:g}" '
            f'width="{self.width:g}" height="{self.height:g}" rx="4"/>'
        )
        first = self.y + self.height / 2 - 7.5 * (len(self.lines) - 1) + 4
        for number, line in enumerate(self.lines):
            kind = "small" if number else "title"
            yield text(self.x + self.width / 2, first + 15 * number, line, kind)


def text(x: float, y: float, words: str, style: str = "small") -> str:
    """Return a line of text whose anchor is at (x, y)."""
    return f'<text class="{style}" x="{x:g}" y="{y:g}">{escape(words)}</text>'


def arrow(path: str) -> str:
    """Return an arrow along an SVG path."""
    return f'<path class="arrow" d="{path}"/>'


def picture(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    """Return a whole SVG document."""
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
    head = f"<title>{escape(title)}</title><style>{STYLE}</style>{HEAD}"
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">', head, *parts, "</svg>\n"]
    )


def fabric(name: str) -> str:
    """Draw the small fabric of a family as a document of its own."""
    family, parameters = FABRICS[name]
    strokes = ".fabric path { stroke-opacity: 0.55; stroke-width: 1.2; }"
    style = f"<style>svg {{ background: #fff; color: #1c2733; }}{FABRIC_STYLE}{strokes}</style>"
    opening, rest = fabric_svg(build(family, **parameters)).split("\n", 1)
    return f"{opening}\n{style}\n{rest}\n"


def frame() -> str:
    """Draw the headers of a data frame, four bytes a row, from the fields of the Scapy layers."""
    origins = (
        (LPH, "link packet header (UnifiedBus)"),
        (SRH, "source-route header (UB-Mesh), only with cfg 0xC"),
        (NTH, "network header, CNA16 (UnifiedBus)"),
        (TPH, "transport header (Railyard)"),
        (CLH, "collective header (Railyard)"),
    )
    bit, row, left = 19.0, 30.0, 44.0
    parts = [text(left + bit * number, 14, str(number)) for number in (0, 8, 16, 24, 32)]
    y = 22.0
    for layer, origin in origins:
        parts.append(text(left, y + 14, f"{layer.__name__}: {origin}", "title left"))
        y += 22
        at, single = 0, []
        for name, bits in fields(layer):
            single += [name] if bits == 1 else []
            while bits:
                part = min(bits, 32 - at % 32)
                label = name if part > 1 else ""
                parts += Box(left + bit * (at % 32), y + row * (at // 32), bit * part, row, (label,)).svg()
                at, bits = at + part, bits - part
        y += row * -(-at // 32)
        if single:
            parts.append(
                text(left, y + 14, f"one bit each, in this order: {', '.join(single)}", "small left")
            )
            y += 16
        y += 12
    parts.append(text(left, y + 6, "then the payload, little-endian", "small left"))
    return picture(left + 32 * bit + 16, y + 20, "Headers of a data frame, 32 bits a row", parts)


def fields(layer: type) -> Iterator[tuple[str, int]]:
    """Yield name and width in bits of every field of a Scapy layer, instruction by instruction."""
    for field in layer.fields_desc:  # type: ignore[attr-defined]
        if field.name == "instr":
            yield from ((f"instr[{number}]", 8) for number in range(6))
        else:
            size = getattr(field, "size", 0)
            yield field.name, int(size or 8 * field.sz)


def pipeline(program: str = "ub_npu") -> str:
    """Draw the ingress tables of a program from the JSON that p4c wrote, with their keys and sizes."""
    compiled = json.loads((ROOT / "p4" / "build" / f"{program}.json").read_text(encoding="utf-8"))
    ingress = next(part for part in compiled["pipelines"] if part["name"] == "ingress")
    tables = [table for table in ingress["tables"] if table["key"]]
    width, height, step = 252.0, 52.0, 74.0
    rows = -(-len(tables) // 2)
    top = 66.0
    bottom = top + step * rows
    parts = [*Box(20, 8, 560, 38, ("parser", "Ethernet, LPH, SRH where cfg says so, NTH")).svg()]
    for number, table in enumerate(tables):
        column, place = divmod(number, rows)
        kinds = ", ".join(dict.fromkeys(key["match_type"] for key in table["key"]))
        keys = ", ".join(key["name"] for key in table["key"])
        lines = (table["name"].split(".")[-1], keys, f"{kinds}; {table['max_size']:,} entries")
        parts += Box(20 + column * 308, top + step * place, width, height, lines).svg()
        x = 20 + column * 308 + width / 2
        above = 46.0 if not place else top + step * (place - 1) + height
        if place or not column:
            parts.append(arrow(f"M{x:g} {above:g}V{top + step * place:g}"))
    last = top + step * (rows - 1) + height
    parts.append(arrow(f"M{20 + width:g} {last - height / 2:g}H300V{top + height / 2:g}H328"))
    parts.append(arrow(f"M{328 + width / 2:g} {last:g}V{bottom + 8:g}"))
    parts += Box(
        20,
        bottom + 8,
        560,
        52,
        (
            "queue, egress, deparser",
            "priority follows the virtual lane; counters tx_by_port_vl;",
            "the sink takes the SRH off",
        ),
        "quiet",
    ).svg()
    return picture(600, bottom + 76, f"Tables of {program} in their order", parts)


def link_states() -> str:
    """Draw the states of a link as one of its ends sees them, and what a node does at each change."""
    boxes = (
        Box(30, 40, 190, 58, ("in use", "carrier up; hellos arrive;", "the neighbour hears ours")),
        Box(410, 40, 190, 58, ("out of use", "no path of this node uses it"), "lost"),
        Box(410, 200, 190, 58, ("returning", "hellos are counted in a row")),
    )
    parts = [line for box in boxes for line in box.svg()]
    parts += [
        arrow("M220 58H410"),
        text(315, 34, "carrier lost, or silence for"),
        text(315, 50, "3.5 hello periods"),
        arrow("M505 98V200"),
        text(512, 152, "carrier back: hellos arrive again", "small left"),
        arrow("M440 200V98"),
        text(404, 136, "a hello"),
        text(404, 150, "is missing"),
        arrow("M410 229H125V98"),
        text(268, 222, "3 hellos in a row, both ways"),
        *Box(
            30,
            290,
            272,
            66,
            ("when it fails", "tables change to other paths first,", "then notices go out"),
            "quiet",
        ).svg(),
        *Box(
            328,
            290,
            272,
            66,
            ("when it returns", "tables change back, then notices go out", "with a higher sequence number"),
            "quiet",
        ).svg(),
    ]
    return picture(700, 372, "States of a link, seen from one end", parts)


def floors() -> str:
    """Draw the floors of the code, and the value that each hands to the next."""
    rooms = (
        ("topologies", "what a network is made of", "Fabric"),
        ("controller", "routes, tables, recovery", "Plan"),
        ("emulation", "switches, links, hosts, processes", "Testbed"),
        ("lab", "scenarios, metrics, reports", "Result"),
        ("papers", "claims beside measurements", "findings"),
        ("railyard", "what a person imports, types or opens", ""),
    )
    parts: list[str] = []
    height, step = 44.0, 70.0
    bottom = step * len(rooms)
    for number, (room, purpose, value) in enumerate(rooms):
        y = bottom - step * (number + 1) + 14
        parts += Box(20, y, 330, height, (f"{room}/", purpose)).svg()
        if value:
            parts.append(arrow(f"M185 {y:g}V{y - step + height:g}"))
            parts.append(text(195, y - 9, value, "small left"))
    parts.append(text(370, bottom - 26, "imports nothing of ours", "small left"))
    parts.append(text(370, 40, "imports any floor below", "small left"))
    return picture(530, bottom + 8, "Floors: a file imports only from its own floor or from below", parts)


def drawings() -> Iterator[tuple[str, str]]:
    """Yield the file name and the text of every picture."""
    for name in FABRICS:
        yield f"fabric-{name}.svg", fabric(name)
    yield "frame.svg", frame()
    yield "pipeline.svg", pipeline()
    yield "link-states.svg", link_states()
    yield "floors.svg", floors()


def main() -> None:
    """Write every picture into the folder of the first argument, or into docs/images."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES
    for name, drawn in drawings():
        (folder / name).write_text(drawn, encoding="utf-8")
        print(folder / name)


if __name__ == "__main__":
    main()

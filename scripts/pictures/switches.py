# SPDX-License-Identifier: Apache-2.0
"""Headers of a frame, and tables of a switch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from emulation.traffic.frames.layers import CLH, LPH, NTH, SRH, TPH
from scripts.pictures.svg import Box, arrow, picture, text

__all__ = ["frame", "pipeline"]

PROGRAMS = Path(__file__).resolve().parents[2] / "p4" / "build"


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
    compiled = json.loads((PROGRAMS / f"{program}.json").read_text(encoding="utf-8"))
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

# SPDX-License-Identifier: Apache-2.0
"""The project itself: floors of the code, and the keys of a scenario."""

from __future__ import annotations

from scripts.pictures.svg import Box, arrow, picture, text

__all__ = ["floors", "scenario"]


def floors() -> str:
    """Draw the floors of the code, and the value that each hands to the next."""
    rooms = (
        ("topologies", "what a network is made of", "Fabric"),
        ("controller", "routes, tables, recovery", "Plan"),
        ("emulation", "switches, links, hosts, processes", "Testbed"),
        ("harness", "scenarios, metrics, reports", "Result"),
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


def scenario() -> str:
    """Draw the keys of a scenario file, and the value that a run makes from each."""
    rows = (
        ("topology", "a fabric and its parameters", "Fabric", "nodes, ports, links, addresses"),
        ("routing, collective, jobs", "paths, data, members", "Plan", "table entries of every switch"),
        (
            "link, control, transport",
            "buffers, timers, windows",
            "Testbed",
            "the fabric in virtual or real time",
        ),
        ("faults, variants", "what differs from run to run", "Runs", "a testbed for each variant"),
        ("assertions", "what has to hold", "Result", "result.json, report.html, picture.svg"),
    )
    height, step, top = 48.0, 68.0, 34.0
    parts = [text(130, 20, "keys of the file", "title"), text(430, 20, "what a run makes of them", "title")]
    for number, (keys, meaning, value, content) in enumerate(rows):
        y = top + step * number
        parts += Box(10, y, 240, height, (keys, meaning), "quiet").svg()
        parts += Box(310, y, 240, height, (value, content)).svg()
        parts.append(arrow(f"M250 {y + height / 2:g}H310"))
        if number:
            parts.append(arrow(f"M430 {y - step + height:g}V{y:g}"))
    return picture(560, top + step * len(rows), "Keys of a scenario, and the values that a run makes", parts)

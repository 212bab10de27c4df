# SPDX-License-Identifier: Apache-2.0
"""railyard show: show a fabric, or one of its nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from railyard.cli.completion import nodes as node_names
from railyard.cli.display.screen import out, tell
from railyard.cli.display.table import print_table
from railyard.cli.options import TOPOLOGY, Dims, Parameters, fabric_of

if TYPE_CHECKING:
    from topologies import Fabric, Node

__all__ = ["EXAMPLES", "show"]

EXAMPLES = """
railyard show ub-rack
railyard show ub-rack --node npu5
railyard show full-mesh --dims 2x4 --svg mesh.svg
railyard show rail-only --param domains=8 --json
"""


def show(
    topology: Annotated[str, TOPOLOGY],
    dims: Dims = "",
    param: Parameters = None,
    node: Annotated[
        str,
        typer.Option(help="show address, device id and ports of this node", autocompletion=node_names),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="print the whole fabric as JSON")] = False,
    svg: Annotated[Path | None, typer.Option(help="draw the fabric as SVG to this file")] = None,
) -> None:
    """Show a fabric as a short table, as JSON, or as a drawing."""
    from topologies.model.codec import to_json

    fabric = fabric_of(topology, dims, param)
    if json:
        print(to_json(fabric))
        return
    if svg is not None:
        _draw(fabric, svg)
    if node:
        _node(fabric, node)
    else:
        _summary(fabric)


def _summary(fabric: Fabric) -> None:
    from topologies.model.distance import longest_way
    from topologies.transform.spares import idle_switches

    rates = Counter((link.lanes, link.rate_bps) for link in fabric.links)
    kinds = Counter(node.kind.value for node in fabric.nodes)
    fields = " | ".join(f"{field.name} {field.bits}" for field in fabric.address_plan.fields)
    rows = [
        ("nodes", ", ".join(f"{count} {kind}" for kind, count in kinds.items())),
        ("dimensions", " x ".join(map(str, fabric.dims))),
    ]
    for (lanes, rate), count in sorted(rates.items()):
        rows.append(("links", f"{count} of x{lanes}, {rate / 1e9:g} Gbit/s each way"))
    rows += _kinds(fabric)
    dark = set(idle_switches(fabric))
    lit = [node.name for node in fabric.nodes if node.name not in dark]
    rows += [("longest shortest path", f"{longest_way(fabric, lit)} links"), ("address bits", fields)]
    print_table(out(), ("", ""), rows, title=fabric.name)


def _kinds(fabric: Fabric) -> Iterator[tuple[str, str]]:
    """Yield a row for each kind and tier of nodes, with the numbers of neighbours and lanes of a node."""
    from topologies.model.checks import lane_audit

    audit = lane_audit(fabric)
    groups: dict[tuple[str, int], list[Node]] = {}
    for node in fabric.nodes:
        groups.setdefault((node.kind.value, node.tier), []).append(node)
    for (kind, tier), nodes in sorted(groups.items(), key=lambda item: item[0][1]):
        links = _extent(len(fabric.neighbours(node.name)) for node in nodes)
        lanes = _extent(audit[node.name].used for node in nodes)
        available = _extent(audit[node.name].available for node in nodes)
        height = f", tier {tier}" if tier else ""
        neighbours = f"{links} neighbour{'s' * (links != '1')} each"
        yield f"{kind}{height}", f"{len(nodes)}: {neighbours}, {lanes} of {available} lanes on links"


def _extent(values: Iterable[int]) -> str:
    distinct = sorted(set(values))
    return str(distinct[0]) if len(distinct) == 1 else f"{distinct[0]} to {distinct[-1]}"


def _node(fabric: Fabric, name: str) -> None:
    from topologies import HOST_PORT

    node = fabric.node(name)
    coordinates = ", ".join(map(str, node.coordinates))
    tier = f", tier {node.tier}" if node.is_switch else ""
    position = f"coordinates ({coordinates}), address {node.address:#06x}, device id {node.device_id}"
    rows = []
    for port in node.ports:
        link = fabric.link_at(name, port.number)
        peer = fabric.peer(name, port.number)
        dark = "its host" if port.number == HOST_PORT else "nothing"
        leads = f"{peer.node} port {peer.port}" if peer else dark
        rows.append((str(port.number), port.name, str(port.lanes), leads, link.name if link else ""))
    print_table(
        out(),
        ("port", "name", "lanes", "leads to", "link"),
        [tuple(map(escape, row)) for row in rows],
        names=("name", "link"),
        numbers=("port", "lanes"),
        title=f"{name}: {node.kind}{tier}, {position}",
    )


def _draw(fabric: Fabric, path: Path) -> None:
    from harness.errors import OutputError
    from harness.output import write_file
    from harness.report.figures.fabric import FABRIC_STYLE, fabric_svg, too_large

    if words := too_large(fabric):
        raise OutputError(
            f"{fabric.name} cannot be drawn: {words}", remedy="give --dims or --param of a smaller fabric"
        )
    drawing = fabric_svg(fabric).replace("</title>", f"</title><style>{FABRIC_STYLE}</style>", 1)
    write_file(path, drawing + "\n")
    tell(f"written: {path}")

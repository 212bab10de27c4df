# SPDX-License-Identifier: Apache-2.0
"""railyard scan: discover a fabric without addresses or routes, and compare its cables with the plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.display.screen import say
from railyard.cli.options import TOPOLOGY, Dims, Parameters, fabric_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.discovery import Discovered, Finding
    from topologies import Fabric

__all__ = ["EXAMPLES", "scan"]

EXAMPLES = """
railyard scan ub-rack
Two cables exchanged, as a person might plug them:
railyard scan full-mesh --dims 4x4 --swap npu0-npu1 npu5-npu6
railyard scan ub-rack-lrs --root cpu0 --unplug npu0-npu1 --json
"""


def scan(
    topology: Annotated[str, typer.Argument(help=f"planned fabric: {TOPOLOGY.help}")],
    dims: Dims = "",
    param: Parameters = None,
    root: Annotated[
        str, typer.Option(metavar="NODE", help="node of the controller; the first node by default")
    ] = "",
    swap: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="LINK LINK", help="exchange the second ends of two links in the emulated fabric"
        ),
    ] = None,
    unplug: Annotated[
        list[str] | None,
        typer.Option(metavar="LINK", help="leave a link out of the emulated fabric; may be repeated"),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="print nodes, links, dark ports and findings as JSON")
    ] = False,
) -> None:
    """Discover an emulated fabric with source-routed requests, and print cables that differ from the plan.

    Every node runs the P4 program ub_scan, which knows only its GUID and its ports. The controller sends
    requests through every port, one hop farther each time, and compares the answers with the planned fabric.

    Exit code 1: the fabric differs from the plan.
    """
    from controller.discovery import compare_cables
    from harness.topology_scan import scan_fabric
    from topologies.transform import cabling

    planned = fabric_of(topology, dims, param)
    cabled = planned if swap is None else cabling.swap_cables(planned, *swap)
    for name in unplug or ():
        cabled = cabling.unplug(cabled, name)
    discovered, time_ps = scan_fabric(cabled, root)
    findings = compare_cables(planned, discovered)
    if json:
        _print_json(planned, discovered, findings, time_ps)
    else:
        _print(planned, discovered, findings, time_ps)
    if findings:
        raise typer.Exit(1)


def _print(planned: Fabric, discovered: Discovered, findings: Sequence[Finding], time_ps: int) -> None:
    say(
        (
            f"{planned.name}: {len(discovered.nodes)} nodes, {len(discovered.links) // 2} links, "
            f"{len(discovered.dark)} dark ports; {discovered.requests} requests, paths of up to "
            f"{discovered.longest_path} hops, {time_ps / 10**6:.3f} µs"
        ),
        *(finding.text for finding in findings),
        f"{len(findings)} difference{'s' * (len(findings) != 1)} from the plan"
        if findings
        else "equal to the plan, port by port",
    )


def _print_json(planned: Fabric, discovered: Discovered, findings: Sequence[Finding], time_ps: int) -> None:
    import json

    from controller.discovery import guid_of

    names = {guid_of(node): node.name for node in planned.nodes}

    def end(switch_port: tuple[int, int]) -> list[str | int]:
        return [names.get(switch_port[0], f"{switch_port[0]:032x}"), switch_port[1]]

    nodes = [
        {
            "name": names.get(device.guid),
            "guid": f"{device.guid:032x}",
            "ports": device.ports,
            "path": device.path,
        }
        for device in discovered.nodes.values()
    ]
    links = [[end(a), end(b)] for a, b in discovered.links.items() if a <= b]
    shown = [
        {"kind": f.kind, "ends": [[at.node, at.port] for at in f.ends], "text": f.text} for f in findings
    ]
    document = {
        "fabric": planned.name,
        "nodes": nodes,
        "links": links,
        "dark": [end(switch_port) for switch_port in discovered.dark],
        "requests": discovered.requests,
        "time_ps": time_ps,
        "findings": shown,
    }
    print(json.dumps(document, indent=1))

# SPDX-License-Identifier: Apache-2.0
"""Drawing of a fabric for the page, as values for JSON."""

from __future__ import annotations

from typing import Any

from topologies import Fabric
from topologies.layout.layout import layout

__all__ = ["fabric_picture"]


def fabric_picture(fabric: Fabric) -> dict[str, Any]:
    """Return the nodes, links, groups and optical fibres of a fabric with coordinates for a drawing.

    `nodes` has the columns `name`, `kind`, `tier`, `x`, `y`, in the unit of `topologies.layout`. Optical
    switches follow the nodes of the fabric, with kind `ocs`. `links` has the columns `name`, `a`, `b`
    (indices in `nodes`), `port_a`, `port_b`, `gbps`, `dimension` (null between tiers), `optical` (index of
    the optical switch of a circuit, or null), `cx`, `cy` (control point of the curve).
    """
    drawn = layout(fabric)
    names = [*(node.name for node in fabric.nodes), *(switch.name for switch in fabric.optical)]
    position = {name: number for number, name in enumerate(names)}
    positions = [drawn.places[name] for name in names]
    optical = {switch.name: position[switch.name] for switch in fabric.optical}
    return {
        "name": fabric.name,
        "dims": [*fabric.dims],
        "nodes": {
            "name": names,
            "kind": [*(str(node.kind) for node in fabric.nodes), *("ocs" for _ in fabric.optical)],
            "tier": [*(node.tier for node in fabric.nodes), *(0 for _ in fabric.optical)],
            "x": [round(x, 4) for x, _ in positions],
            "y": [round(y, 4) for _, y in positions],
        },
        "links": {
            "name": [link.name for link in fabric.links],
            "a": [position[link.a.node] for link in fabric.links],
            "b": [position[link.b.node] for link in fabric.links],
            "port_a": [link.a.port for link in fabric.links],
            "port_b": [link.b.port for link in fabric.links],
            # Control point of each link's curve, in the unit of x and y; empty if the page draws arcs.
            "cx": [drawn.bends[link.name][0] for link in fabric.links] if drawn.bends else [],
            "cy": [drawn.bends[link.name][1] for link in fabric.links] if drawn.bends else [],
            "gbps": [link.rate_bps / 10**9 for link in fabric.links],
            "dimension": [link.dimension for link in fabric.links],
            "optical": [optical.get(link.name.rpartition(":")[0]) for link in fabric.links],
        },
        # For each optical switch, index of the node at each of its ports: possible ends of circuits.
        "fibres": {
            switch.name: {
                "ends": [position[end.node] for end in switch.ends],
                "gbps": switch.rate_bps / 10**9,
            }
            for switch in fabric.optical
        },
        "groups": [
            {
                "kind": group.kind,
                "label": group.label,
                "x": group.place[0],
                "y": group.place[1],
                "width": group.size[0],
                "height": group.size[1],
                "nodes": [position[name] for name in group.nodes],
            }
            for group in drawn.groups
        ],
    }

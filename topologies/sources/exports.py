# SPDX-License-Identifier: Apache-2.0
"""Export of fabrics: GraphML, DOT of Graphviz, YAML of containerlab."""

from collections.abc import Callable, Mapping

from topologies.model.fabric import Fabric, NodeKind

__all__ = ["EXPORTS", "to_containerlab", "to_dot", "to_graphml"]


def to_graphml(fabric: Fabric) -> str:
    """Return GraphML for `read_fabric`: kinds and tiers of nodes, ports, rates, delays of links."""
    import networkx as nx

    graph: nx.MultiGraph[str] = nx.MultiGraph(name=fabric.name)
    for node in fabric.nodes:
        kind = "switch" if node.is_switch else "gpu" if node.kind is NodeKind.GPU else "npu"
        graph.add_node(node.name, kind=kind, **({"tier": node.tier} if node.is_switch else {}))
    for link in fabric.links:
        graph.add_edge(
            link.a.node,
            link.b.node,
            rate_gbps=link.rate_bps / 1e9,
            delay_ns=link.delay_ps / 1000,
            ports=f"{link.a.node}:{link.a.port} {link.b.node}:{link.b.port}",
        )
    return "\n".join(nx.generate_graphml(graph, named_key_ids=True)) + "\n"


def to_dot(fabric: Fabric) -> str:
    """Return the graph in DOT: a rank for each tier, switches as boxes, links labelled by lanes and rate."""
    tiers: dict[int, list[str]] = {}
    for node in fabric.nodes:
        tiers.setdefault(node.tier, []).append(node.name)
    lines = [f'graph "{fabric.name}" {{', "  node [shape=circle];"]
    for tier, names in sorted(tiers.items()):
        shape = "; node [shape=box]" if tier else ""
        lines.append(f"  {{ rank=same{shape}; " + " ".join(f'"{name}"' for name in names) + " }")
    for link in fabric.links:
        label = f"x{link.lanes} {link.rate_bps / 1e9:g}G"
        lines.append(f'  "{link.a.node}" -- "{link.b.node}" [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def to_containerlab(fabric: Fabric) -> str:
    """Return containerlab's YAML: each node is a Linux container, port N of a node is interface ethN.

    Links in containerlab have neither rate nor delay.
    """
    lines = [f"name: {fabric.name}", "topology:", "  kinds: {linux: {image: debian:12}}", "  nodes:"]
    lines += [f"    {node.name}: {{kind: linux}}" for node in fabric.nodes]
    lines.append("  links:")
    lines += [
        f'    - endpoints: ["{link.a.node}:eth{link.a.port}", "{link.b.node}:eth{link.b.port}"]'
        for link in fabric.links
    ]
    return "\n".join(lines) + "\n"


EXPORTS: Mapping[str, Callable[[Fabric], str]] = {
    "graphml": to_graphml,
    "dot": to_dot,
    "containerlab": to_containerlab,
}

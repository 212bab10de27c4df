# SPDX-License-Identifier: Apache-2.0
"""Fabrics: build them by name, load and save them, list their nodes and links as records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.output import write_file
from railyard.api.records import Record, renamed
from topologies import Fabric
from topologies.families.registry import build, families
from topologies.model.codec import to_json
from topologies.sources.files import read_fabric

__all__ = ["fabric", "fabrics", "links", "load_fabric", "nodes", "save_fabric"]


def fabric(name: str, **parameters: Any) -> Fabric:
    """Build a fabric of a family.

    Args:
        name: Name of a topology, as `railyard list` prints it and `fabrics()` returns it.
        parameters: Parameters of the topology; missing parameters have their defaults.

    Raises:
        RailyardError: No topology has that name, or a parameter is unknown, missing or out of range.
    """
    return build(name, **parameters)


def fabrics() -> list[Record]:
    """Return the families of fabrics: name, text (a description) and parameters (their names)."""
    return [
        renamed(
            {
                "name": family.name,
                "text": family.text,
                "parameters": tuple(parameter.name for parameter in family.parameters),
            },
            description="text",
        )
        for family in families()
    ]


def load_fabric(path: str | Path) -> Fabric:
    """Load a fabric from JSON of `save_fabric` or `railyard show --json`, GraphML, or node-link JSON.

    Raises:
        RailyardError: The file cannot be read, or its content is not a valid fabric.
    """
    return read_fabric(Path(path))


def save_fabric(fabric: Fabric, path: str | Path) -> None:
    """Save a fabric as JSON; `load_fabric` returns an equal fabric from it.

    Raises:
        RailyardError: The file cannot be written.
    """
    path = Path(path)
    write_file(path, to_json(fabric))


def nodes(fabric: Fabric) -> list[Record]:
    """Return the nodes of a fabric: name, kind, tier, address, P4Runtime device id, P4 program, ports."""
    return [
        {
            "node": node.name,
            "kind": node.kind.value,
            "tier": node.tier,
            "address": node.address,
            "device_id": node.device_id,
            "program": node.program,
            "ports": len(node.ports),
        }
        for node in fabric.nodes
    ]


def links(fabric: Fabric) -> list[Record]:
    """Return the links of a fabric: name, both ends with their ports, lanes, rate and delay."""
    return [
        {
            "link": link.name,
            "a": link.a.node,
            "a_port": link.a.port,
            "b": link.b.node,
            "b_port": link.b.port,
            "lanes": link.lanes,
            "rate_gbps": link.rate_bps / 10**9,
            "delay_ns": link.delay_ps / 1000,
        }
        for link in fabric.links
    ]

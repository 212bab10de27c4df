# SPDX-License-Identifier: Apache-2.0
"""The question `follow` of a page: the hops of a crafted frame, or of a frame of a link, through switches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.errors import ScenarioError
from harness.frames.craft import Order, craft
from harness.frames.describe import describe
from harness.frames.walk import walk
from harness.recording.frames import receiving_end
from harness.run.watch import WatchedRun
from railyard.web.context import Context
from topologies import HOST_PORT, End, Fabric

__all__ = ["follow_frame"]

_PAYLOAD = bytes(range(16))


def follow_frame(context: Context, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the journey of a frame (`harness.frames.describe`), with `tables` and the links `down`.

    During a run, the frame meets the present tables of the switches, and links that are down lose it. Before
    and after a run, it meets the planned tables. The switches are copies, so the run is not affected.

    Args:
        context: The run, or the prepared variants.
        values: `variant`, and either `link` and `number` of a frame from the question `frames`, or `from`,
            `to` and further keys of an Order: `kind`, `route`, `bucket`, `psn`, `changes`.

    Raises:
        ScenarioError: There is no plan, no such variant or frame, or nodes run programs of the user's own.
    """
    run = context.run
    if run is not None and not isinstance(run, WatchedRun):
        raise ScenarioError(
            "this fabric has no plan, so frames cannot be followed", remedy="open a run of a scenario"
        )
    ready = run.ready if run is not None else context.variant(str(values.get("variant", "")))
    if ready.own.files:
        raise ScenarioError(
            "a node runs a program of your own, and `follow` supports the built-in programs only",
            remedy="choose a variant with built-in programs only",
        )
    plan = ready.plan
    if "number" in values:
        picked = context.frames.shown(str(values["link"]), int(values["number"]))
        frame = picked.frame
        entry = receiving_end(plan.fabric, str(values["link"]), picked.direction)
    else:
        frame, entry = _crafted(plan.fabric, values)
    if run is None:
        journey, down = walk(plan, frame, entry, traced=True), frozenset()
    else:
        down = frozenset(link.name for link in plan.fabric.links if link.name in run.faults.down)
        journey = walk(plan, frame, entry, down, entries=run.control.installed(), traced=True)
    return {
        **describe(plan.fabric, journey),
        "tables": "planned" if run is None else "present",
        "down": sorted(down),
    }


def _crafted(fabric: Fabric, values: Mapping[str, Any]) -> tuple[bytes, End]:
    """Return the frame that `values` describe, and the host port by which it enters the fabric."""
    order = Order(
        source=str(values["from"]),
        destination=str(values["to"]),
        kind=values.get("kind", "data"),
        route=tuple(map(str, values.get("route", ()))),
        bucket=int(values.get("bucket", 0)),
        psn=int(values.get("psn", 0)),
        payload=_PAYLOAD,
        link=str(values.get("link", "")),
        changes=tuple(map(str, values.get("changes", ()))),
    )
    if order.kind not in ("data", "ack", "notice"):
        raise ScenarioError(f"there is no frame of kind {order.kind!r}", remedy="use data, ack or notice")
    return bytes(craft(fabric, order)), End(order.source, HOST_PORT)

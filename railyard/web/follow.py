# SPDX-License-Identifier: Apache-2.0
"""The question `follow`: a frame, crafted or picked off a link, through the switches as they are now."""

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
    """Return the journey of a frame (`harness.frames.describe`), its `tables`, and the links that are `down`.

    While a run is held, the tables are those of its switches, and links that are down lose the frame. Before
    and after a run they are those of the plan. The switches are copies: the run does not notice.

    Args:
        context: The run, or the prepared variants.
        values: `variant`; `link` and `number` of a frame that `frames` has returned, or `from`, `to`, and the
            other keys of an Order: `kind`, `route`, `bucket`, `psn`, `changes`.
    """
    run = context.run
    if run is not None and not isinstance(run, WatchedRun):
        raise ScenarioError("this fabric has no plan to follow", remedy="open a run of a scenario")
    ready = run.ready if run is not None else context.variant(str(values.get("variant", "")))
    if ready.own.files:
        raise ScenarioError(
            "a node runs a program of your own", remedy="follow frames of the built-in programs"
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
    """Return the frame of an order, and the host's port by which it enters."""
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
        raise ScenarioError(f"no frame of kind {order.kind!r}", remedy="there are data, ack and notice")
    return bytes(craft(fabric, order)), End(order.source, HOST_PORT)

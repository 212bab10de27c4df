# SPDX-License-Identifier: Apache-2.0
"""Describe a frame's journey as a JSON document for pages and programs; docs/use/follow.md lists its keys."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from emulation.traffic.frames.layers import LPH, Ether
from harness.frames.anatomy import changes, parts
from harness.frames.steps import Step, deciding_step, source_text
from harness.frames.walk import Crossing, Hop, Journey
from topologies import Fabric

__all__ = ["describe"]


def describe(fabric: Fabric, journey: Journey) -> dict[str, Any]:
    """Return a journey as a document: end, hops, link crossings, and P4 sources of its steps by path.

    Bytes are hexadecimal, times are picoseconds.
    """
    files = {step.source.file for hop in journey.hops for step in hop.steps if step.source is not None}
    texts = {file: source_text(file) for file in sorted(files)}
    return {
        "arrived": journey.arrived,
        "end": journey.end,
        "time_ps": journey.time_ps,
        "hops": [_hop(fabric, hop) for hop in journey.hops],
        "crossings": [_crossing(crossing) for crossing in journey.crossings],
        "sources": {file: text for file, text in texts.items() if text is not None},
    }


def _hop(fabric: Fabric, hop: Hop) -> dict[str, Any]:
    decided = deciding_step(hop.steps)
    return {
        "node": hop.node,
        "port_in": hop.port_in,
        "port_out": hop.out,
        "lane_in": _lane(hop.frame_in),
        "lane_out": None if hop.frame_out is None else _lane(hop.frame_out),
        "decided_by": hop.decided_by,
        "decided_at": None if decided is None or decided.source is None else asdict(decided.source),
        "dropped": hop.dropped,
        "frame_in": _frame(fabric, hop.frame_in),
        "frame_out": None if hop.frame_out is None else _frame(fabric, hop.frame_out),
        "changes": []
        if hop.frame_out is None
        else [asdict(change) for change in changes(fabric, hop.frame_in, hop.frame_out)],
        "steps": [_step(step) for step in hop.steps],
    }


def _lane(frame: bytes) -> int | None:
    """Return the virtual lane in a frame's link packet header; None for a frame without this header."""
    header = Ether(frame).getlayer(LPH)
    return None if header is None else header.vl


def _frame(fabric: Fabric, frame: bytes) -> dict[str, Any]:
    return {"bytes": frame.hex(), "parts": [asdict(part) for part in parts(fabric, frame)]}


def _step(step: Step) -> dict[str, Any]:
    """Return the attributes of a step as a dictionary; leave out None and empty texts."""
    return {key: value for key, value in asdict(step).items() if value is not None and value != ""}


def _crossing(crossing: Crossing) -> dict[str, Any]:
    return {
        "sender": crossing.sender,
        "port": crossing.port,
        "receiver": crossing.receiver,
        "time_ps": crossing.time_ps,
        "bytes": crossing.frame.hex(),
    }

# SPDX-License-Identifier: Apache-2.0
"""Convert the journey of a frame to the records of a capture file."""

from __future__ import annotations

from dataclasses import replace

from harness.frames.anatomy import changes
from harness.frames.capture import Record
from harness.frames.walk import Journey
from topologies import Fabric

__all__ = ["journey_records"]


def journey_records(fabric: Fabric, journey: Journey) -> list[Record]:
    """Return a record for each link that the frame crossed; the comment has the sending switch's decision."""
    comments = ["enters the fabric"]
    for hop in journey.hops:
        if hop.frame_out is not None:
            fields = [
                f"{change.header}.{change.field} {change.before or 'absent'} to {change.after or 'absent'}"
                for change in changes(fabric, hop.frame_in, hop.frame_out)
            ]
            comments.append(
                f"{hop.node}, port {hop.port_in} to {hop.out}: {hop.decided_by}; "
                + (", ".join(fields) or "no field changed")
            )
    records = [
        Record(
            round(crossing.time_ps / 1000),
            f"{crossing.sender}-{'host' if crossing.port is None else crossing.port}",
            f"{crossing.sender} to {crossing.receiver}",
            crossing.frame,
            comment,
        )
        for crossing, comment in zip(journey.crossings, comments, strict=False)
    ]
    return [*records[:-1], replace(records[-1], comment=f"{records[-1].comment}; then {journey.end}")]

# SPDX-License-Identifier: Apache-2.0
"""Scenarios that several tests of this folder run."""

from typing import Any

__all__ = ["CUT", "JOBS", "cut_line"]

CUT = "npu0-npu1"

JOBS = """\
name: jobs
topology: {name: full-mesh, dims: [2, 4]}
transport: {initial_rto_us: 20, min_rto_us: 5}
routing: {strategy: shortest}
jobs:
  - name: first
    iterations: 3
    compute_us: 5
    overlap: 0.5
    priority: 2
    collective: {elements: 8192, payload_bytes: 1024, members: [npu0..npu3]}
  - name: second
    at_us: 2
    collective: {algorithm: direct, elements: 4096, payload_bytes: 512, members: [npu4..npu7]}
"""
"""A job with iterations beside another, on a mesh with a single path for each pair."""


def cut_line(dims: list[int], at_us: float, *, elements: int, control_us: float) -> dict[str, Any]:
    """Return an AllReduce over a mesh in which a line loses a link, at `at_us`.

    Detection takes `control_us`, and so does the reaction of the link's ends.
    """
    return {
        "name": "cut",
        "topology": {"name": "full-mesh", "dims": dims, "lane_rate_gbps": 100},
        "collective": {
            "algorithm": "bidirectional-dimension-order",
            "elements": elements,
            "payload_bytes": 4096,
        },
        "link": {"detect_us": control_us},
        "control": {"processing_us": control_us},
        "faults": [{"at_us": at_us, "link": CUT, "event": "down"}],
    }

# SPDX-License-Identifier: Apache-2.0
"""Scenarios that several tests of this folder run."""

__all__ = ["JOBS"]

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

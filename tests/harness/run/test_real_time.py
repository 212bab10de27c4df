# SPDX-License-Identifier: Apache-2.0
"""Dilation that the Mininet testbed chooses: it follows the load of jobs that send, not their computation."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.run.prepare import prepare
from harness.run.real_time import suggest_dilation
from harness.scenario.loader import load

HEAD = """\
name: small
topology: {name: full-mesh, dims: [4], lane_rate_gbps: 100}
routing: {strategy: shortest}
collective: {kind: all-to-all, algorithm: direct, elements: 16777216}
"""
PLAIN = "jobs: [{name: first}]\n"
TRAINING = "jobs: [{name: first, iterations: 3, compute_us: 500}]\n"
HALF = "jobs: [{name: first, collective: {members: [npu0, npu1]}}]\n"
HALVES = (
    "jobs: [{name: first, collective: {members: [npu0, npu1]}}, "
    "{name: second, collective: {members: [npu2, npu3]}}]\n"
)
POOL = "pool: {lenders: [npu2, npu3], borrowers: [npu0, npu1], operations: %s, mix: {counter: 0}}\n"


def dilation(folder: Path, text: str, processors: int = 2) -> int:
    file = folder / "scenario.yaml"
    file.write_text(text)
    (ready,) = prepare(*load(file))
    return suggest_dilation(ready, "builtin", processors)


def test_computation_keeps_nothing_busy(tmp_path: Path) -> None:
    assert dilation(tmp_path, HEAD + TRAINING) == dilation(tmp_path, HEAD + PLAIN)


def test_jobs_side_by_side_need_the_sum_of_their_dilations(tmp_path: Path) -> None:
    alone, both = dilation(tmp_path, HEAD + HALF), dilation(tmp_path, HEAD + HALVES)
    assert both == pytest.approx(2 * alone, rel=0.06)  # each is rounded to two digits


def test_more_processors_need_less(tmp_path: Path) -> None:
    assert dilation(tmp_path, HEAD + PLAIN, 8) < dilation(tmp_path, HEAD + PLAIN)


def test_a_pool_has_a_dilation_by_its_operations(tmp_path: Path) -> None:
    """Requests and the bound grow alike; a short run lasts for the least time that can be judged."""
    head = HEAD.partition("routing")[0]
    few, many, more = (dilation(tmp_path, head + POOL % count) for count in (10, 100_000, 200_000))
    assert few > many == more


def test_it_follows_the_planned_links_where_members_have_faster_ones(tmp_path: Path) -> None:
    """A GPU has 2.4 Tbit/s inside of its domain, which an incast over network cards does not use."""
    text = """\
name: incast
topology: {name: rail-only, domains: 8, hb_size: 2, radix: 8, uplinks: 1, spines: 1}
collective: {kind: reduce, algorithm: direct, elements: 16384, members: [gpu0, gpu2, gpu4, gpu6]}
"""
    file = tmp_path / "scenario.yaml"
    file.write_text(text)
    (ready,) = prepare(*load(file))
    nic_bps = min(link.rate_bps for link in ready.fabric.links if "gpu0" in (link.a.node, link.b.node))
    received_ps = 8e12 * 3 * 16384 * 4 / nic_bps
    assert ready.bound_ps < received_ps / 5
    assert dilation(tmp_path, text) == pytest.approx(1.5e12 / received_ps, rel=0.06)

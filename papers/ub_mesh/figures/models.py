# SPDX-License-Identifier: Apache-2.0
"""Parts and cables of a UB-Mesh SuperPod, in closed form and generated; `shape` replaces its parameters."""

from __future__ import annotations

from papers.claims import Measured, Progress, Values
from papers.ub_mesh.networks import clos, saved, ub_mesh
from papers.ub_mesh.structure import TABLE_2, SuperPod, fabric_cable_lanes
from topologies.families.ub_mesh.fabrics import ub_superpod


def parts(**shape: int) -> Values:
    """Count UB-Mesh's lanes, links and switches, and the percentage of HRS and optics saved against Clos."""
    pod = SuperPod(**shape)
    ours, theirs = ub_mesh(pod), clos(pod=pod)
    return {
        "lanes-npu": pod.npu_lanes,
        "lanes-rack": pod.rack_output_lanes,
        "lrs-rack": pod.lrs_per_rack,
        "links-rack": pod.mesh_links_per_rack,
        "links-pod": pod.rack_links_per_pod,
        "hrs": pod.hrs,
        "hrs-saved": Measured(saved(ours.hrs, theirs.hrs), detail=f"{ours.hrs} against {theirs.hrs:,}"),
        "optics-saved": Measured(
            saved(ours.optical_lanes, theirs.optical_lanes),
            detail=f"{ours.optical_lanes:,} lanes against {theirs.optical_lanes:,}",
        ),
    }


def cables(**shape: int) -> Values:
    """Return the percentage of lanes in each kind of cable."""
    pod = SuperPod(**shape)
    return {
        name: Measured(pod.cable_mix[kind], detail=f"lanes an NPU: {pod.cable_lanes[kind] / pod.npus:g}")
        for name, kind in zip(("passive", "active", "optical", "far"), TABLE_2, strict=True)
    }


def cables_generated(note: Progress, **shape: int) -> Values:
    """Count the lanes by which a generated SuperPod differs from the formula, for all kinds of cable."""
    note("generating the SuperPod", 0.0)
    created, formula = fabric_cable_lanes(ub_superpod()), SuperPod(**shape).cable_lanes
    counted = ", ".join(f"{lanes:,} ({kind})" for kind, lanes in created.items())
    different = sum(abs(lanes - formula[kind]) for kind, lanes in created.items())
    return {"different": Measured(different, detail=counted)}

# SPDX-License-Identifier: Apache-2.0
"""HPN's path selection and load balance: worked out by the installed hash, and measured packet by packet."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck, FindingVerdict
from papers.claims.runs import observed

if TYPE_CHECKING:
    from lab.run.observation import Observation
    from lab.run.prepare import Prepared

__all__ = ["CHECKS", "idle_downlinks", "port_imbalance"]

_SELECTION = "HPN, path selection"
_BALANCE = "HPN, load balance"
_DERIVED = "derived here"
_FIRST = "polarisation shown and gone: at least 2, at most 1.1; derived here from HPN, load balance"

_UPLINKS = 60
_SEEDS = range(8)
# What a NIC's two ports may differ by, before and after.
_BEFORE, _AFTER = 2.0, 1.1
_PAPER_GAIN = "up to 34.7 %"


def _verdict(holds: bool) -> FindingVerdict:
    return "holds" if holds else "differs"


def run_search(note: Progress) -> Sequence[Finding]:
    """Check which uplinks a source reaches by lb, and that frames take the paths of the search."""
    from controller.plan import BUCKETS
    from controller.routing.all_path import port_of_bucket
    from controller.routing.path_probing import LB_VALUES, min_reached_members

    note("all addresses that there can be", 0.0)
    ports = [[lb for lb in range(LB_VALUES) if port_of_bucket(lb % BUCKETS, 2) == port] for port in (0, 1)]
    result = [min_reached_members(_UPLINKS, lbs=lbs) for lbs in ports]
    fewer = [min_reached_members(_UPLINKS - 1, lbs=lbs) for lbs in ports]
    return (
        Finding(
            "uplinks of a ToR that the search finds values of lb for, whatever the two addresses",
            _SELECTION,
            str(_UPLINKS),
            f"{result[0]} by port 0, {result[1]} by port 1",
            _verdict(min(result) == _UPLINKS),
        ),
        Finding(
            "the same when one uplink has failed",
            _DERIVED,
            "-",
            f"{min(fewer)} of {_UPLINKS - 1} by a port",
            "not judged",
            "lb has 8 bits and one of them is the port: 128 values, and 512 members of a group of 59",
        ),
        *_on_a_fabric(note),
    )


def _on_a_fabric(note: Progress) -> Sequence[Finding]:
    from controller import make_plan
    from controller.routing.path_probing import PathProbe
    from emulation.traffic.frames.layers import LPH, NTH, Ether, mac
    from lab.frames.walk import walk
    from topologies import HOST_PORT, End, hpn

    note("a pair below ToRs of 60 uplinks", 0.2)
    source, neighbour = "gpu0", "gpu7"
    cost, disjoint = {}, 0
    for planes in (2, 1):
        fabric = hpn(2, 2, 2, aggs=_UPLINKS, planes=planes)
        plan = make_plan(fabric, strategy="hashed", peers=[(source, neighbour)], check=False)
        search = PathProbe(plan)
        cost[planes] = prod(search.group_sizes(source, neighbour))
        if planes == 2:
            disjoint = len(search.disjoint_paths(source, neighbour))
    small = hpn(2, 2, 2, aggs=3)
    plan = make_plan(small, strategy="hashed")
    result = PathProbe(plan).disjoint_paths(source, neighbour)
    arrived = 0
    for place, item in enumerate(result):
        note("frames on the testbed", 0.4 + 0.6 * place / len(result))
        scna, dcna = small.node(source).address, small.node(neighbour).address
        frame = Ether(dst=mac(dcna), src=mac(scna)) / LPH() / NTH(scna=scna, dcna=dcna, lb=item.lb)
        journey = walk(plan, bytes(frame), End(source, HOST_PORT))
        arrived += journey.arrived and tuple(hop.node for hop in journey.hops) == item.path
    return (
        Finding(
            "disjoint paths of a pair of NICs, 60 uplinks a ToR",
            _DERIVED,
            "120",
            str(disjoint),
            _verdict(disjoint == 2 * _UPLINKS),
        ),
        Finding(
            "what a search looks at: ways of the switches that choose, multiplied",
            _SELECTION,
            "60; SuperPod 4,096, Jupiter 2,048, fat tree of 48 ports 2,304",
            f"{cost[2]}; with one plane {cost[1]}",
            _verdict(cost[2] == _UPLINKS),
        ),
        Finding(
            "frames with values that were found, of three uplinks a ToR, hop by hop on the testbed",
            _DERIVED,
            f"{len(result)} by the paths that were asked for",
            f"{arrived} of {len(result)}",
            _verdict(arrived == len(result) == 6),
        ),
    )


def port_imbalance(ready: Prepared, seen: Observation) -> float:
    """Bytes to NICs by the heavier of their ports over those by the lighter, as links counted them."""
    counts: dict[str, list[int]] = {name: [] for name in ready.members}
    for link, (_, back) in seen.link_bytes.items():
        ends = ready.fabric.link(link)
        if ends.a.node in counts and ready.fabric.node(ends.b.node).tier:
            counts[ends.a.node].append(back)
    return sum(map(max, counts.values())) / sum(map(min, counts.values()))


def idle_downlinks(ready: Prepared, seen: Observation) -> float:
    """Return the share of links from aggregation switches to ToRs with members that carried nothing."""
    fabric = ready.fabric
    ends = [fabric.link(link) for link in seen.link_bytes]
    tors = {link.b.node for link in ends if link.a.node in ready.members and fabric.node(link.b.node).tier}
    counts = [back for link, (_, back) in seen.link_bytes.items() if fabric.link(link).a.node in tors]
    return sum(count == 0 for count in counts) / len(counts)


def run_polarisation(note: Progress) -> Sequence[Finding]:
    """Measure a NIC's two ports with the same hash everywhere, in a typical Clos and with planes."""
    from papers.flow_level.allreduces import imbalance
    from topologies.families.hpn.shape import planned

    typical, planes = (planned(4, 128, 8, aggs=_UPLINKS, planes=count) for count in (1, 2))
    before, levels = (imbalance(typical, hashing) for hashing in ("identical", "per-tier"))
    after = imbalance(planes, "identical")
    runs = observed("17_paths/typical.yaml", lambda what, share: note(what, share / 2))
    split = observed("17_paths/planes.yaml", lambda what, share: note(what, 0.5 + share / 2))
    right = all(seen.correct_nodes == seen.nodes for _, seen in (*runs.values(), *split.values()))
    measured = {name: port_imbalance(*run) for name, run in runs.items()}
    apart = port_imbalance(*split["same"])
    alone = idle_downlinks(*split["same"])
    idle = {name: idle_downlinks(*run) for name, run in runs.items()}
    few = (
        "a NIC's few flows differ by chance, whatever bits the switches look at; what the same bits add is "
        "that an aggregation switch uses only one of the two ToRs of a set"
    )
    return (
        Finding(
            "a NIC's two ports, 4 connections a pair, same bits on every tier, 4,096 GPUs by hash: "
            "typical Clos; two planes",
            _FIRST,
            "3; balanced",
            f"{before.nic:.2f}; {after.nic:.2f}",
            _verdict(before.nic >= _BEFORE and after.nic <= _AFTER),
        ),
        Finding(
            "the same of 32 GPUs packet by packet, by what links counted",
            _FIRST,
            "3; balanced",
            f"{measured['same']:.2f}; {apart:.2f}" + ("" if right else "; wrong data"),
            _verdict(right and measured["same"] >= _BEFORE and apart <= _AFTER),
        ),
        Finding(
            "typical Clos, bits of its own for each level: by hash; packet by packet",
            _BALANCE,
            "-",
            f"{levels.nic:.2f}; {measured['levels']:.2f}",
            "not judged",
            few,
        ),
        Finding(
            "links down to ToRs that stay idle, same bits: typical Clos; two planes",
            "derived here from a linear hash and an even number of uplinks",
            "50 %; few",
            f"{100 * idle['same']:.0f} %; {100 * alone:.0f} %",
            _verdict(idle["same"] == 0.5 and alone < 0.05),
            f"typical Clos, bits of its own for each level: {100 * idle['levels']:.0f} %",
        ),
    )


def run_allreduces(note: Progress) -> Sequence[Finding]:
    """Four AllReduces at once: what paths and the choice of connections are worth."""
    from papers.flow_level.allreduces import Workload, steps

    note("512 GPUs, flow by flow", 0.0)
    work = Workload()
    took = {name: float(times.mean()) for name, times in steps(work, _SEEDS).items()}
    chosen = took.pop("search, least unfinished")
    runs = observed("17_paths/scenario.yaml", lambda what, share: note(what, 0.3 + 0.7 * share))
    right = all(seen.correct_nodes == seen.nodes for _, seen in runs.values())
    us = {name: seen.completion_ps / 10**6 for name, (_, seen) in runs.items()}
    labels = {name: ready.variant.label for name, (ready, _) in runs.items()}
    best = us.pop("search")
    reason = (
        "the paper does not say how its baseline chooses, or how much of the network the four jobs fill; "
        "five-tuple here is one connection a port"
    )
    flows = [
        Finding(
            f"{work.jobs} AllReduces on {work.gpus} GPUs flow by flow, faster than with {name}",
            _SELECTION,
            _PAPER_GAIN,
            f"{_gain(chosen, slow)}; {chosen:.2f} instead of {slow:.2f} of the least, mean of {len(_SEEDS)}",
            _verdict(chosen < slow),
            reason,
        )
        for name, slow in took.items()
    ]
    packets = [
        Finding(
            f"4 AllReduces on 32 GPUs packet by packet, faster than with {labels[name]}",
            _SELECTION,
            _PAPER_GAIN,
            f"{_gain(best, slow)}; {best:.1f} instead of {slow:.1f} us" + ("" if right else "; wrong data"),
            _verdict(right and best < slow),
            reason,
        )
        for name, slow in us.items()
    ]
    return (*flows, *packets)


def _gain(ours: float, theirs: float) -> str:
    return f"{100 * (theirs / ours - 1):.1f} %"


def _picture() -> str:
    from papers.flow_level.plot_paths import plot_svg

    return plot_svg(_SEEDS)


CHECKS = (
    FindingsCheck("path-search", "hpn", "disjoint paths, found by working out the hash", run_search),
    FindingsCheck(
        "polarisation", "hpn", "the same hash on every tier, with and without planes", run_polarisation
    ),
    FindingsCheck("four-allreduces", "hpn", "what precise paths are worth", run_allreduces, picture=_picture),
)

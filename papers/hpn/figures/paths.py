# SPDX-License-Identifier: Apache-2.0
"""HPN's path selection and load balance: computed from the installed hash, and measured packet by packet."""

from __future__ import annotations

from math import prod

from controller import make_plan
from controller.path_probing import LB_VALUES, PathProbe, min_reached_members
from emulation.traffic.frames.values import mac
from harness.files import EXPERIMENTS
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from papers.claims import Measured, Progress, Values, over_seeds
from papers.claims.runs import observed, right
from papers.hpn.allreduces import Workload, imbalance, steps
from papers.hpn.plot import plot_svg
from topologies import HOST_PORT, End, hpn
from topologies.families.hpn.shape import planned

_UPLINKS = 60
_SEEDS = range(10)


def path_search(note: Progress, port_bit: int = 1, planes: int = 2, beside: int = 0) -> Values:
    """Count the uplinks reached by values of the header field lb, and the frames on the path of the search.

    Args:
        port_bit: bit of lb by which the NIC chooses a port.
        planes: planes of the Pod.
        beside: difference between the lb of frames and the lb of the search.
    """
    # These modules need Scapy, which is slow to import.
    from emulation.traffic.frames.layers import LPH, NTH, Ether
    from harness.frames.walk import walk

    note("all addresses that there can be", 0.0)
    ports = [[lb for lb in range(LB_VALUES) if lb >> port_bit & 1 == port] for port in (0, 1)]
    result: dict[str, Measured | float] = {
        f"found-{port}": float(min_reached_members(_UPLINKS, lbs=lbs)) for port, lbs in enumerate(ports)
    }
    lbs = [[lb for lb in range(LB_VALUES) if lb >> 1 & 1 == port] for port in (0, 1)]
    result["fewer"] = float(min(min_reached_members(_UPLINKS - 1, lbs=own) for own in lbs))
    note("a pair below ToRs of 60 uplinks", 0.2)
    source, target = "gpu0", "gpu7"
    fabric = hpn(2, 2, 2, aggs=_UPLINKS, planes=planes)
    search = PathProbe(make_plan(fabric, strategy="hashed", peers=[(source, target)], check=False))
    result["space"] = float(prod(search.group_sizes(source, target)))
    result["disjoint"] = float(len(search.disjoint_paths(source, target)))
    small = hpn(2, 2, 2, aggs=3)
    plan = make_plan(small, strategy="hashed")
    arrived = 0
    paths = PathProbe(plan).disjoint_paths(source, target)
    for number, item in enumerate(paths):
        note("frames on the testbed", 0.4 + 0.6 * number / len(paths))
        scna, dcna = small.node(source).address, small.node(target).address
        lb = (item.lb + beside) % LB_VALUES
        frame = Ether(dst=mac(dcna), src=mac(scna)) / LPH() / NTH(scna=scna, dcna=dcna, lb=lb)
        journey = walk(plan, bytes(frame), End(source, HOST_PORT))
        arrived += journey.arrived and tuple(hop.node for hop in journey.hops) == item.path
    return {**result, "walked": float(arrived)}


def port_imbalance(ready: Prepared, seen: Observation) -> float:
    """Return the bytes to NICs on their heavier ports divided by those on their lighter ports."""
    counts: dict[str, list[int]] = {name: [] for name in ready.members}
    for link, (_, back) in seen.link_bytes.items():
        ends = ready.fabric.link(link)
        if ends.a.node in counts and ready.fabric.node(ends.b.node).is_switch:
            counts[ends.a.node].append(back)
    return sum(map(max, counts.values())) / sum(map(min, counts.values()))


def idle_downlinks(ready: Prepared, seen: Observation) -> float:
    """Return the share of idle links from aggregation switches to the ToRs of the run's members."""
    fabric = ready.fabric
    ends = [fabric.link(link) for link in seen.link_bytes]
    tors = {
        link.b.node for link in ends if link.a.node in ready.members and fabric.node(link.b.node).is_switch
    }
    counts = [back for link, (_, back) in seen.link_bytes.items() if fabric.link(link).a.node in tors]
    return sum(count == 0 for count in counts) / len(counts)


def polarisation(note: Progress, planes: int = 1, swapped: bool = False, variant: str = "same") -> Values:
    """Measure the imbalance of a NIC's ports if all switches use one hash: typical Clos, two planes."""
    note("by hash", 0.0)
    typical = planned(4, 128, 8, aggs=_UPLINKS, planes=planes)
    apart = planned(4, 128, 8, aggs=_UPLINKS, planes=1 if swapped else 2)
    runs = observed("17_paths/typical.yaml", lambda what, share: note(what, share / 2), (variant,))
    split = observed("17_paths/planes.yaml", lambda what, share: note(what, 0.5 + share / 2), ("same",))
    for run in (*runs.values(), *split.values()):
        right(*run)
    return {
        "typical": over_seeds([imbalance(typical, "identical", seed=seed).nic for seed in _SEEDS]),
        "levels": over_seeds([imbalance(typical, "per-tier", seed=seed).nic for seed in _SEEDS]),
        "planes": over_seeds([imbalance(apart, "identical", seed=seed).nic for seed in _SEEDS]),
        "typical-packets": port_imbalance(*runs[variant]),
        "planes-packets": port_imbalance(*split["same"]),
        "idle": 100 * idle_downlinks(*runs[variant]),
        "idle-planes": 100 * idle_downlinks(*split["same"]),
    }


def four_allreduces(note: Progress, kind: str = "search") -> Values:
    """Measure, flow by flow, how much longer four AllReduces take over other connections than `kind`."""
    note("512 GPUs, flow by flow", 0.0)
    times = steps(Workload(), _SEEDS)
    gains = {name: over_seeds((100 * (slow / times[kind] - 1)).tolist()) for name, slow in times.items()}
    return {"least": over_seeds(times[kind].tolist()), **gains}


def four_allreduces_packets(note: Progress) -> Values:
    """Measure, packet by packet, how much longer four AllReduces take than with the search, in ten draws."""
    scenario, document = load(EXPERIMENTS / "17_paths" / "scenario.yaml")
    gains: dict[str, list[float]] = {}  # by variant of the scenario
    for number, seed in enumerate(_SEEDS):
        note(f"draw {number + 1} of {len(_SEEDS)}", number / len(_SEEDS))
        took = {
            ready.variant.name: right(ready, observe(ready, seed + 1)).completion_ps
            for ready in prepare(scenario.model_copy(update={"seed": seed + 1}), document)
        }
        for name, time in took.items():
            gains.setdefault(name, []).append(100 * (time / took["search"] - 1))
    return {name: over_seeds(own) for name, own in gains.items()}


def picture() -> str:
    """Return the charts of path selection as SVG."""
    return plot_svg(_SEEDS)

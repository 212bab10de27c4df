# SPDX-License-Identifier: Apache-2.0
"""Topology files of htsim (.topo): fat trees of two or three tiers.

    Nodes 8
    Tiers 3
    Podsize 4

    Tier 0
    Downlink_speed_Gbps 200
    Radix_Down 2
    Radix_Up 2
    Downlink_Latency_ns 1000
    Switch_Latency_ns 0
    Oversubscribed 1

    Tier 1
    ...

Tier 0 is the ToRs, tier 1 the aggregation switches of a pod (with two tiers: the spines), tier 2 the cores.
`Bundle` is the number of parallel links from a switch of a tier down to each switch below. Keys are
case-insensitive. Queue sizes are read and ignored: queues and flow control are Railyard's. Half of a
switch's latency is added to each of its links, so that a path has the whole latency of every switch on it.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, final

from topologies.errors import TopologyError
from topologies.families.ecmp_clos import ecmp_clos
from topologies.model.fabric import Fabric

if TYPE_CHECKING:
    import networkx as nx

__all__ = ["htsim_clos", "htsim_graph"]

_MAX = 1 << 16
_MAX_LINKS = 1 << 20
_MAX_NS = 10**9
_SWITCHES = ("tor", "agg", "core")
_HEAD = ("nodes", "tiers", "podsize")
# Keys of a tier and their defaults; None: the key is required.
_KEYS: dict[str, int | None] = {
    "downlink_speed_gbps": None,
    "radix_down": None,
    "downlink_latency_ns": None,
    "radix_up": 0,
    "switch_latency_ns": 0,
    "oversubscribed": 1,
    "bundle": 1,
    "queue_up": 0,
    "queue_down": 0,
}


@final
@dataclass(slots=True)
class _File:
    """Contents of a file: `head` and `tiers[n]` by key; `lines[n]` is the line at which tier n begins."""

    path: Path
    head: dict[str, int] = field(default_factory=dict)
    tiers: dict[int, dict[str, int]] = field(default_factory=dict)
    lines: dict[int, int] = field(default_factory=dict)

    def refuse(self, line: int, message: str, remedy: str = "") -> NoReturn:
        """Raise TopologyError with the file and the line."""
        raise TopologyError(f"{self.path}:{line}: {message}", remedy=remedy)

    def number(self, line: int, key: str, words: list[str], low: int, high: int = _MAX) -> int:
        """Return the number after a key; TopologyError if it is not a number from `low` to `high`."""
        text = words[1] if len(words) > 1 else ""
        if not (text.isascii() and text.isdecimal() and len(text) < 12 and low <= int(text) <= high):
            self.refuse(line, f"{key} is {text[:20]!r}", f"give {low} to {high}")
        return int(text)

    def of(self, tier: int, key: str) -> int:
        """Return the value of a key of a tier."""
        return self.tiers[tier][key]


def htsim_graph(path: Path, text: str) -> "nx.MultiGraph":
    """Return the graph of a file; TopologyError names the file and the faulty line.

    Hosts are named npu0, npu1, ... in htsim's order; switches tor0, ..., agg0, ..., core0, ...
    """
    file = _checked(path, text)
    return _graph(file, *_counts(file))


def htsim_clos(path: Path, text: str) -> Fabric | None:
    """Return the ECMP Clos of a file: switches choose among equal uplinks by hash, as in htsim.

    None if switches have parallel links (`Bundle`). Nodes have the names of `htsim_graph`. TopologyError
    names the file and the faulty line.
    """
    file = _checked(path, text)
    tors, aggs, cores = _counts(file)
    tiers = range(file.head["tiers"])
    if any(file.of(tier, "bundle") > 1 for tier in tiers):
        return None
    pods = file.head["nodes"] // file.head["podsize"]
    rates = [file.of(tier, "downlink_speed_gbps") for tier in tiers]
    delays = [_delay_ns(file, tier) for tier in tiers]
    return ecmp_clos(
        file.of(0, "radix_down"),
        tors // pods,
        aggs // pods,
        pods,
        cores,
        **dict(zip(("host_gbps", "agg_gbps", "core_gbps"), rates, strict=False)),
        **dict(zip(("tor_delay_ns", "agg_delay_ns", "core_delay_ns"), delays, strict=False)),
    )


def _checked(path: Path, text: str) -> _File:
    """Return the contents of a file after checking that its nodes fill all pods and ToRs."""
    file = _read(path, text)
    nodes, tiers, pod = (file.head[key] for key in _HEAD)
    down = file.of(0, "radix_down")
    if nodes % pod or pod % down:
        file.refuse(
            1,
            f"{nodes} nodes cannot fill pods of {pod} with ToRs of {down}",
            "give Nodes a multiple of Podsize, and Podsize a multiple of Radix_Down of tier 0",
        )
    if tiers == 2 and pod != nodes:
        file.refuse(
            1, f"two tiers make one pod, but Podsize is {pod} of {nodes} nodes", f"give Podsize {nodes}"
        )
    return file


def _read(path: Path, text: str) -> _File:
    """Return the contents of a file, every number checked against its range."""
    file = _File(path)
    tier = -1
    line = 0
    for line, row in enumerate(text.splitlines(), 1):
        words = row.split()
        if not words or words[0].startswith("#"):
            continue
        key = words[0].lower()
        if key == "tier":
            tier = file.number(line, "Tier", words, 0, 2)
            if tier in file.tiers:
                file.refuse(line, f"tier {tier} is given twice")
            file.tiers[tier], file.lines[tier] = {}, line
            continue
        known = _HEAD if tier < 0 else _KEYS
        if key not in known:
            file.refuse(
                line,
                f"unknown key {words[0][:40]!r}",
                f"give {', '.join(known)}, or begin a tier with `Tier 0`",
            )
        values = file.head if tier < 0 else file.tiers[tier]
        if key in values:
            file.refuse(line, f"{key} is given twice")
        high = _MAX_NS if key.endswith("_ns") or key.startswith("queue") else 3 if key == "tiers" else _MAX
        may_be_0 = key.endswith("latency_ns") or key.startswith("queue")
        low = 2 if key in ("nodes", "tiers") else 0 if may_be_0 else 1
        values[key] = file.number(line, key, words, low, high)
    _complete(file, line)
    return file


def _complete(file: _File, last: int) -> None:
    """Refuse a file without a required key or tier; give absent optional keys their defaults."""
    for key in _HEAD:
        if key not in file.head:
            file.refuse(1, f"{key} is missing", "begin with Nodes, Tiers and Podsize")
    tiers = file.head["tiers"]
    for tier in range(tiers):
        if tier not in file.tiers:
            file.refuse(
                max(last, 1), f"tier {tier} is missing; the file may be cut short", f"add `Tier {tier}`"
            )
        values, line = file.tiers[tier], file.lines[tier]
        for key, default in _KEYS.items():
            if default is None and key not in values:
                file.refuse(line, f"tier {tier} has no {key}")
            values.setdefault(key, default or 0)
        top = tier == tiers - 1
        if top == bool(values["radix_up"]):
            what = "no switches above it, but a radix_up" if top else "no radix_up"
            file.refuse(line, f"tier {tier} has {what}")


def _counts(file: _File) -> tuple[int, int, int]:
    """Return the numbers of ToRs, aggregation switches and cores.

    TopologyError when radices, bundles, speeds or `Oversubscribed` contradict each other.
    """
    nodes, pods = file.head["nodes"], file.head["nodes"] // file.head["podsize"]
    switches = [nodes // file.of(0, "radix_down")]
    for tier in range(1, file.head["tiers"]):
        below, line = tier - 1, file.lines[tier]
        bundle = file.of(tier, "bundle")
        links = switches[below] * file.of(below, "radix_up")
        down = file.of(tier, "radix_down")
        if down % bundle or file.of(below, "radix_up") % bundle or links % down:
            file.refuse(
                line,
                f"{links} links up from tier {below} do not fit radix {down} down in bundles of {bundle}",
                "give radices that are multiples of the bundle, and whole switches",
            )
        capacity = file.of(below, "radix_down") * file.of(below, "downlink_speed_gbps")
        wanted = file.of(below, "radix_up") * file.of(tier, "downlink_speed_gbps")
        if capacity != wanted * file.of(below, "oversubscribed"):
            file.refuse(
                line,
                f"tier {below} has {capacity} Gbit/s down and {wanted} up, but is oversubscribed "
                f"{file.of(below, 'oversubscribed')} to 1",
                "correct radix, speed or `Oversubscribed`",
            )
        switches.append(links // down)
    tors, aggs, cores = (*switches, 0)[:3]
    up, bundle = file.of(0, "radix_up"), file.of(1, "bundle")
    if aggs % pods or aggs // pods * bundle != up:
        file.refuse(
            file.lines[1],
            f"{aggs} switches in {pods} pods do not take {up} links of a ToR in bundles of {bundle}",
            "correct `Radix_Down` or `Bundle` of tier 1",
        )
    if cores and (
        cores % (aggs // pods) or cores // (aggs // pods) * file.of(2, "bundle") != file.of(1, "radix_up")
    ):
        file.refuse(
            file.lines[2],
            f"{cores} cores do not take {file.of(1, 'radix_up')} links of each of {aggs} switches below",
            "correct `Radix_Down` or `Bundle` of tier 2",
        )
    if nodes + tors * up + aggs * file.of(1, "radix_up") > _MAX_LINKS:
        file.refuse(1, f"more than {_MAX_LINKS} links")
    return tors, aggs, cores


def _graph(file: _File, tors: int, aggs: int, cores: int) -> "nx.MultiGraph":
    """Return the graph.

    A ToR leads to all aggregation switches of its pod. With n of these in a pod, number k of a pod leads to
    the cores k, k + n, k + 2 n, ...
    """
    import networkx as nx

    graph = nx.MultiGraph()
    nodes = file.head["nodes"]
    pods = nodes // file.head["podsize"]
    graph.add_nodes_from((f"npu{number}" for number in range(nodes)), kind="npu")
    for name, count in zip(_SWITCHES, (tors, aggs, cores), strict=True):
        graph.add_nodes_from((f"{name}{number}" for number in range(count)), kind="switch")

    def join(lower: str, upper: str, tier: int) -> None:
        delay = _delay_ns(file, tier)
        for _ in range(file.of(tier, "bundle")):
            graph.add_edge(lower, upper, rate_gbps=file.of(tier, "downlink_speed_gbps"), delay_ns=delay)

    for number in range(nodes):
        join(f"npu{number}", f"tor{number // file.of(0, 'radix_down')}", 0)
    aggs_of_pod, tors_of_pod = aggs // pods, tors // pods
    for tor in range(tors):
        first = tor // tors_of_pod * aggs_of_pod
        for agg in range(first, first + aggs_of_pod):
            join(f"tor{tor}", f"agg{agg}", 1)
    if cores:
        for agg in range(aggs):
            for core in range(agg % aggs_of_pod, cores, aggs_of_pod):
                join(f"agg{agg}", f"core{core}", 2)
    return graph


def _delay_ns(file: _File, tier: int) -> float:
    """Return the delay of a link below a switch of a tier, half the latency of each end included."""
    ends = (tier, tier - 1) if tier else (tier,)
    return file.of(tier, "downlink_latency_ns") + sum(file.of(end, "switch_latency_ns") for end in ends) / 2

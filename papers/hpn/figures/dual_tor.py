# SPDX-License-Identifier: Apache-2.0
"""HPN's non-stacked dual ToR: LACP of two independent ToRs, and failures of cables and ToRs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from controller import NodeController
from controller.recovery.lacp import PORT_OFFSET, SYSTEM, Bond, Lacpdu, TorIdentity, bonded_ports
from emulation.control.frames import is_slow, read_lacpdu
from emulation.testbed import LinkUsage, Testbed
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared
from papers.claims import Measured, Progress, Values
from papers.claims.runs import Runs, observed
from papers.hpn.figures.runs import small
from topologies import hpn

if TYPE_CHECKING:
    Usage = Mapping[str, tuple[LinkUsage, LinkUsage]]

_RAILS = 8
_NIC_GBPS = 400
# Times in microseconds: failure and repair of a cable of gpu0, and windows of measurement.
_CUT_US, _BACK_US = 60, 150
_WINDOWS = {"before": (20, 60), "without": (90, 150), "after": (200, 250)}
_ELEMENTS = 3_200_000
_HOSTS = "topology: {name: hpn, segments: 1, hosts: 2, aggs: 2}"


def lacp(note: Progress, offset: int | None = None) -> Values:
    """Read the LACPDUs of hosts and ToRs from captures, and count the ports of a NIC's bundle."""
    note("an AllReduce with LACP", 0.0)
    links = [f"gpu0-tor0.0.{number}" for number in range(2)]
    with TemporaryDirectory() as folder:
        files = {link: Path(folder) / f"{link}.pcap" for link in links}

        def look(testbed: Testbed) -> None:
            for link, file in files.items():
                testbed.record(link, file)

        small("topology: {name: hpn, hosts: 2, rails: 2, aggs: 2}", look=look)
        said = [list(_lacpdus(file)) for file in files.values()]
    tors = [next(pdu.actor for pdu in pdus if pdu.actor.system == SYSTEM) for pdus in said]
    words = f"{tors[0].system} and {tors[1].system}, ports {tors[0].port} and {tors[1].port}"
    return {
        "system": Measured(float(len({(tor.system, tor.key) for tor in tors})), detail=words),
        "offset": float(tors[1].port - tors[0].port),
        "joined": float(_joined(PORT_OFFSET if offset is None else offset)),
    }


def share(note: Progress, cut: bool = True) -> Values:
    """Measure a NIC's bandwidth under eight jobs, and an AllReduce's speed, with a cable down if `cut`."""
    note("eight jobs, one a rail", 0.0)
    samples: dict[int, Usage] = {}

    def look(testbed: Testbed) -> None:
        for time in sorted({time for window in _WINDOWS.values() for time in window}):
            testbed.at(time * 10**6, lambda at=time: samples.__setitem__(at, testbed.link_usage()))

    jobs = "".join(
        f"  - {{name: rail{rail}, collective: {{members: [gpu{rail}, gpu{rail + _RAILS}]}}}}\n"
        for rail in range(_RAILS)
    )
    fault = "{{at_us: {}, link: gpu0-tor0.0.0, event: {}}}"
    faults = f"faults: [{fault.format(_CUT_US, 'down')}, {fault.format(_BACK_US, 'up')}]" if cut else ""
    small(_HOSTS, f"jobs:\n{jobs}{faults}", elements=_ELEMENTS, look=look)
    shares = {name: _shares(samples, *window) for name, window in _WINDOWS.items()}
    still = samples[150]["gpu0-tor0.0.0"][1].bytes - samples[90]["gpu0-tor0.0.0"][1].bytes
    result: dict[str, Measured | float] = {
        "nic-before": shares["before"][0],
        "nic-without": shares["without"][0],
        "host-without": sum(shares["without"]) / _RAILS,
        "nic-after": shares["after"][0],
        "still-sent": float(still),
    }
    orders = {"coupled-fixed": "order: [0, 1], overlap: false", "coupled": "overlap: true"}
    for index, (name, options) in enumerate(orders.items()):
        note("one AllReduce of all rails", 0.6 + 0.2 * index)
        job = f"jobs: [{{name: all, at_us: 40, collective: {{{options}}}}}]\n"
        early = f"faults: [{fault.format(12, 'down')}]" if cut else ""
        took = []
        for more in ("", early):
            _, run = small(_HOSTS, job + more, elements=1_572_864)
            took.append((run.completion_ps - run.jobs[0].begun_ps) / 10**6)
        result[name] = Measured(100 * took[0] / took[1], detail=f"{took[0]:.1f} and {took[1]:.1f} us")
    return result


# Figure -> scenario of experiment 16 and its variant: failures that an AllReduce survives, and that halt it.
_SURVIVED = {
    **{name: ("scenario", name) for name in ("cable", "repaired", "flap", "silent", "tor")},
    "single-repaired": ("single", "repaired"),
}
_HALTED = {
    "single-cable": ("single", "cable"),
    "single-tor": ("single", "tor"),
    "stacked-pair": ("stacked", "pair"),
}


@cache
def _failure_runs(file: str) -> Runs:
    """Run all variants of a scenario of experiment 16. The cache lets mutations read other variants."""
    return observed(f"16_hpn/{file}.yaml", lambda what, share: None)


def failures(note: Progress, stacked: bool = False, healthy: bool = False) -> Values:
    """Measure the percentage of correct arrays under failures: dual ToR, single ToR, stacked dual ToR.

    Mutations of claims set `stacked` and `healthy`. With `stacked`, the run of the stacked pair replaces the
    runs that survive failures. With `healthy`, a run without failures replaces the runs that halt.
    """
    runs: dict[str, Runs] = {}
    for number, file in enumerate(("scenario", "single", "stacked")):
        note(file, number / 3)
        runs[file] = _failure_runs(file)
    result: dict[str, Measured | float] = {}
    for name, (file, variant) in _SURVIVED.items():
        base = runs[file]["healthy"][1]
        run = runs["stacked"]["pair"][1] if stacked else runs[file][variant][1]
        same = run.correct_nodes if run.checksum == base.checksum else 0
        later = (run.completion_ps - base.completion_ps) / 10**6
        words = f"{later:.1f} us later; {_lost(run)} frames lost, {run.traffic.duplicates} came twice"
        result[name] = Measured(100 * same / run.nodes, detail=words)
    for name, (file, variant) in _HALTED.items():
        run = runs["scenario"]["healthy"][1] if healthy else runs[file][variant][1]
        result[name] = Measured(100 * run.correct_nodes / run.nodes, detail=run.cut_off)
    return {**result, **_withdrawn(*runs["scenario"]["cable"])}


def _lost(seen: Observation) -> int:
    return seen.traffic.lost_with_link + seen.traffic.dropped_by_switch


def _withdrawn(ready: Prepared, seen: Observation) -> Values:
    """Return the number of entries withdrawn at a ToR after a cable failure, and the time to convergence."""
    fabric = ready.fabric
    cable = fabric.link_between("gpu0", "tor0.0.0")
    reaction = NodeController(ready.plan, "tor0.0.0").on_port(cable.far("gpu0").port, up=False)
    removed = [(update.entry.table, update.kind) for update in reaction.updates].count(("linear", "delete"))
    told = [fabric.node_of(notice.destination_cna) for notice in reaction.notices]
    aggs = sum(node is not None and node.tier > 2 for node in told)
    words = f"{aggs} switches and {len(told) - aggs} hosts told; {_lost(seen)} frames lost"
    took = (seen.recovery.converged_ps or 0) / 10**6 - seen.faults[0].at_ps / 10**6
    return {"withdrawn": Measured(removed, detail=words), "converged": took}


def _shares(samples: Mapping[int, Usage], begin: int, end: int) -> list[float]:
    """Return the receive rates of the first host's NICs from `begin` to `end`, in % of the full rate."""
    result: list[float] = []
    for rail in range(_RAILS):
        links = [f"gpu{rail}-tor0.{rail}.{number}" for number in range(2)]
        received = sum(samples[end][link][1].bytes - samples[begin][link][1].bytes for link in links)
        result.append(100 * 8 * received / ((end - begin) * 1000 * _NIC_GBPS))
    return result


def _lacpdus(file: Path) -> Iterator[Lacpdu]:
    from scapy.utils import RawPcapReader

    for frame, _ in RawPcapReader(str(file)):
        if is_slow(frame) and (pdu := read_lacpdu(frame)) is not None:
            yield pdu


def _joined(offset: int) -> int:
    """Count the ports in a NIC's bundle after LACP, if the second ToR adds `offset` to its port numbers."""
    fabric = hpn(1, 1, 2, aggs=1)
    bonds = {
        node.name: Bond(
            fabric,
            node.name,
            system=lambda host: f"02:00:00:00:00:{host.address:02x}",
            period_ps=1,
            tors=(TorIdentity(), TorIdentity(port_offset=offset)),
        )
        for node in fabric.nodes
        if bonded_ports(fabric, node.name)
    }
    sent = [(name, *pdu) for name, bond in bonds.items() for pdu in bond.on_timer(0).pdus]
    while sent:
        name, port, pdu = sent.pop(0)
        neighbour = fabric.peer(name, port)
        assert neighbour is not None
        sent += [
            (neighbour.node, *item) for item in bonds[neighbour.node].on_pdu(neighbour.port, pdu, 0).pdus
        ]
    return sum(bonds["gpu0"].carries(port) for port in bonded_ports(fabric, "gpu0"))

# SPDX-License-Identifier: Apache-2.0
"""HPN's two ToRs that know nothing of each other: their LACP, and what is lost when one is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck, FindingVerdict

if TYPE_CHECKING:
    from controller.recovery.lacp import Lacpdu
    from emulation.testbed import LinkUsage, Testbed
    from lab.run.observation import Observation
    from lab.run.prepare import Prepared

    Usage = Mapping[str, tuple[LinkUsage, LinkUsage]]

__all__ = ["CHECKS"]

_DUAL = "HPN, non-stacked dual-ToR"
_FAILURES = "HPN, link failures"
_DERIVED = "derived here"
# By variant, where it is not the failures of links that the paper shows.
_SOURCES = {"silent": _DERIVED, "tor": f"{_DUAL}: no single point of failure in 8 months"}

_RAILS = 8
_NIC_GBPS = 400
# When the cable of gpu0 is cut and when it is back, and what is looked at between: microseconds.
_CUT_US, _BACK_US = 60, 150
_WINDOWS = {"before": (20, 60), "without the cable": (90, 150), "after the repair": (200, 250)}
_ELEMENTS = 3_200_000
_WITHIN_POINTS = 0.5


def run_lacp(note: Progress) -> Sequence[Finding]:
    """Check the LACPDUs of hosts and ToRs, and the bundle when both ToRs use equal port numbers."""
    from controller.recovery.lacp import PORT_OFFSET, SYSTEM
    from papers.hpn.claims.runs import small

    note("an AllReduce with LACP", 0.0)
    links = [f"gpu0-tor0.0.{number}" for number in range(2)]
    with TemporaryDirectory() as folder:
        files = {link: Path(folder) / f"{link}.pcap" for link in links}

        def look(testbed: Testbed) -> None:
            for link, file in files.items():
                testbed.record(link, file)

        _, seen = small("topology: {name: hpn, hosts: 2, rails: 2, aggs: 2}", look=look)
        said = [list(_lacpdus(file)) for file in files.values()]
    tors = [next(pdu.actor for pdu in pdus if pdu.actor.system == SYSTEM) for pdus in said]
    hosts = {pdu.actor.system for pdus in said for pdu in pdus if pdu.actor.system != SYSTEM}
    same = (tors[0].system, tors[0].key) == (tors[1].system, tors[1].key)
    apart = tors[1].port - tors[0].port == PORT_OFFSET
    frames = sum(map(len, said))
    joined, alike = _joined(PORT_OFFSET), _joined(0)
    return (
        Finding(
            "ports of two ToRs as a NIC hears them: system, ports",
            _DUAL,
            f"{SYSTEM}, 300 apart",
            f"{tors[0].system} and {tors[1].system}, {tors[0].port} and {tors[1].port}; {frames} LACPDUs",
            "holds" if same and apart and len(hosts) == 1 and seen.correct_nodes == seen.nodes else "differs",
        ),
        Finding(
            "ports of a NIC that join its bundle",
            _DUAL,
            "both",
            f"{joined} of 2",
            "holds" if joined == 2 else "differs",
        ),
        Finding(
            "the same when both ToRs give the same port number",
            _DERIVED,
            "one: a partner has each port once",
            f"{alike} of 2",
            "holds" if alike == 1 else "differs",
        ),
    )


def run_share(note: Progress) -> Sequence[Finding]:
    """Cut and repair a NIC's cable while all eight NICs of a host send and receive at their rate."""
    from papers.hpn.claims.runs import small

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
    faults = f"faults: [{fault.format(_CUT_US, 'down')}, {fault.format(_BACK_US, 'up')}]"
    _, seen = small(
        "topology: {name: hpn, segments: 1, hosts: 2, aggs: 2}",
        f"jobs:\n{jobs}{faults}",
        elements=_ELEMENTS,
        look=look,
    )
    shares = {name: _shares(samples, *window) for name, window in _WINDOWS.items()}
    right = seen.correct_nodes == seen.nodes
    rows = (
        ("before", "a NIC", 100.0, _DERIVED),
        ("without the cable", "the NIC", 50.0, _FAILURES),
        ("without the cable", "the host", 93.75, _FAILURES),
        ("after the repair", "the NIC", 100.0, _FAILURES),
    )
    result: list[Finding] = []
    for window, what, paper, source in rows:
        each = shares[window]
        ours = 100 * (sum(each) / len(each) if what == "the host" else each[0])
        # Frames are counted when they have gone: a window has a few more or less.
        node = abs(ours - paper) <= (_WITHIN_POINTS if what == "the host" else 2 * _WITHIN_POINTS)
        result.append(
            Finding(
                f"{window}: what {what} receives, of its rate",
                source,
                f"{paper:g} %",
                f"{ours:.2f} %",
                "holds" if node and right else "differs",
            )
        )
    other = samples[150]["gpu0-tor0.0.0"][1].bytes - samples[90]["gpu0-tor0.0.0"][1].bytes
    result.append(
        Finding(
            "bytes that the ToR whose cable is cut still sends to the NIC meanwhile",
            _DUAL,
            "0",
            f"{other:,}",
            "holds" if not other else "differs",
        )
    )
    return tuple(result)


def run_failures(note: Progress) -> Sequence[Finding]:
    """Cables cut and flapping and a ToR that dies, under an AllReduce, with each kind of ToRs."""
    from papers.claims.runs import observed

    dual = observed("16_hpn/scenario.yaml", lambda what, share: note(f"dual-ToR: {what}", share / 2))
    single = observed("16_hpn/single.yaml", lambda what, share: note(f"single-ToR: {what}", 0.5 + share / 4))
    stacked = observed(
        "16_hpn/stacked.yaml", lambda what, share: note(f"stacked: {what}", 0.75 + share / 4), ("pair",)
    )
    _, healthy = dual["healthy"]
    result = [
        Finding(
            f"dual-ToR, {ready.variant.title}: the job",
            _SOURCES.get(name, _FAILURES),
            "goes on",
            _went(item, healthy),
            _goes_on(item, healthy),
        )
        for name, (ready, item) in dual.items()
        if name != "healthy"
    ]
    for runs, name, what in (
        (single, "cable", "single-ToR, a NIC's cable is cut"),
        (single, "tor", "single-ToR, a ToR dies"),
        (stacked, "pair", "stacked dual-ToR, both fail as one"),
    ):
        _, entry = runs[name]
        halted = entry.correct_nodes == 0 and bool(entry.cut_off)
        source = (
            f"{_DUAL}: over 40 % of critical failures" if runs is stacked else _SOURCES.get(name, _FAILURES)
        )
        result.append(
            Finding(f"{what}: the job", source, "halts", entry.cut_off, "holds" if halted else "differs")
        )
    _, back = single["repaired"]
    _, first = single["healthy"]
    result.append(
        Finding(
            "single-ToR, the cable is back in time: the job",
            f"{_FAILURES}: repaired within a minute",
            "goes on",
            _went(back, first),
            _goes_on(back, first),
        )
    )
    return (*result, _withdrawn(*dual["cable"]))


def _withdrawn(ready: Prepared, seen: Observation) -> Finding:
    """Return the withdrawal of a ToR's route after a cable is cut, and its time in the run."""
    from controller import NodeController

    fabric = ready.fabric
    cable = fabric.link_between("gpu0", "tor0.0.0")
    reaction = NodeController(ready.plan, "tor0.0.0").on_port(cable.far("gpu0").port, up=False)
    removed = [
        update for update in reaction.updates if update.entry.table == "linear" and update.kind == "delete"
    ]
    told = [fabric.node_of(notice.destination_cna) for notice in reaction.notices]
    aggs = sum(node is not None and node.tier > 2 for node in told)
    took = (seen.recovery.converged_ps or 0) / 10**6 - seen.faults[0].at_ps / 10**6
    traffic = seen.traffic
    lost = traffic.lost_with_link + traffic.dropped_by_switch
    return Finding(
        "the host route of the NIC at its ToR; who is told; until the last table is written",
        f"{_DUAL}: the /32 is withdrawn, the fabric converges",
        "withdrawn",
        f"{len(removed)} entry deleted, {aggs} switches and {len(told) - aggs} hosts told, {took:g} us; "
        f"{lost} frames lost, {traffic.retransmitted} sent again, {traffic.duplicates} came twice",
        "holds" if removed and aggs else "differs",
    )


def _went(item: Observation, healthy: Observation) -> str:
    longer = (item.completion_ps - healthy.completion_ps) / 10**6
    traffic = item.traffic
    lost = traffic.lost_with_link + traffic.dropped_by_switch
    return (
        f"{item.correct_nodes} of {item.nodes} right, {longer:.1f} us later; {lost} frames lost, "
        f"{traffic.duplicates} came twice"
    )


def _goes_on(item: Observation, healthy: Observation) -> FindingVerdict:
    right = item.correct_nodes == item.nodes and item.checksum == healthy.checksum
    return "holds" if right else "differs"


def _shares(samples: Mapping[int, Usage], begin: int, end: int) -> list[float]:
    """Return for each NIC of the first host the share of its rate that it received in a window."""
    result: list[float] = []
    for rail in range(_RAILS):
        links = [f"gpu{rail}-tor0.{rail}.{number}" for number in range(2)]
        received = sum(samples[end][link][1].bytes - samples[begin][link][1].bytes for link in links)
        result.append(8 * received / ((end - begin) * 1000 * _NIC_GBPS))
    return result


def _lacpdus(file: Path) -> Iterator[Lacpdu]:
    from scapy.utils import RawPcapReader

    from emulation.control.frames import is_slow, read_lacpdu

    for frame, _ in RawPcapReader(str(file)):
        if is_slow(frame) and (pdu := read_lacpdu(frame)) is not None:
            yield pdu


def _joined(offset: int) -> int:
    """Return the number of ports in a NIC's bundle after LACP has converged."""
    from controller.recovery.lacp import Bond, bonded_ports
    from topologies import hpn

    fabric = hpn(1, 1, 2, aggs=1)
    bonds = {
        node.name: Bond(
            fabric,
            node.name,
            system=lambda host: f"02:00:00:00:00:{host.address:02x}",
            period_ps=1,
            offset=offset,
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


CHECKS = (
    FindingsCheck("lacp", "hpn", "Two ToRs are one partner to a NIC", run_lacp),
    FindingsCheck("share", "hpn", "What a host has left without one of its 16 cables", run_share),
    FindingsCheck("failures", "hpn", "Cables and ToRs fail under an AllReduce", run_failures),
)

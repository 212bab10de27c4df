# SPDX-License-Identifier: Apache-2.0
"""Check of lab 4: the student's controller acts on a running rack by P4Runtime; frames are measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from typing import Any

from controller.forwarding.next_hop import next_hop
from controller.plan.entry import Entry, Exact, Lpm
from controller.planner import make_plan
from controller.schemes.registry import rule_set, scheme_for
from controller.schemes.scheme import Scheme
from controller.tables.turns import turn_entries
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import DeadlockedError
from emulation.traffic.frames.layers import LPH, NTH, Ether
from emulation.traffic.frames.values import CFG_CNA16, mac
from emulation.traffic.host.spec import AgentSpec, agent_specs
from emulation.traffic.host.transport import TransportParameters
from emulation.traffic.schedule.data import make_inputs, truth
from emulation.traffic.schedule.schedule import Sliced, slice_schedule
from harness.lessons.attempt import Attempt, Verdict, failed, passed
from harness.lessons.scripted_host import ScriptedHost
from harness.run.boot import booted, filled, programs_of
from harness.run.collectives.schedule import schedule_of
from harness.scenario.schema import Collective
from topologies import HOST_PORT, Fabric, ub_rack_lrs

RACKS = ((4, 2), (3, 3), (4, 3))
ELEMENTS = 32768
FRAME_BYTES = 1024

# Virtual time, in ps, at which the NPU fails, its neighbours have noticed, and a run is given up.
FAILS_PS, NOTICED_PS, LONGEST_PS = 400_000, 800_000, 400_000_000

# The sequence numbers of the job's second start, far from those of the first.
SECOND_PSN = 1 << 20

LOOK = "controller.py, take_over"

# The first stage: a switch of a rack on which `railyard up` runs, and the NPU that has failed there.
SESSION, BY_HAND, BY_HAND_SWITCH, BY_HAND_FAILED = "session.txt", (4, 2), "lrs0p0n1", "npu5"


@dataclass(frozen=True)
class Rack:
    """A drawn rack, the NPU that fails, and the nodes in which an entry has to change."""

    fabric: Fabric
    failed: str
    spare: str
    needed: frozenset[str]


@dataclass(frozen=True)
class Takeover:
    """Measurement: nodes whose frame did not arrive, and what the P4Runtime server was asked to change."""

    unheard: tuple[str, ...]
    unreached: tuple[str, ...]
    written: dict[str, int]
    pushed: tuple[str, ...]


def by_hand(attempt: Attempt) -> Verdict:
    """Type the student's lines at a switch of a running rack; compare its tables and frames with before."""
    fabric = ub_rack_lrs(dims=BY_HAND)
    switch, npus = fabric.node(BY_HAND_SWITCH), [node for node in fabric.nodes if node.kind.member]
    up = _upwards(fabric, BY_HAND_SWITCH)
    beside = [node for node in npus if node.name in fabric.neighbours(BY_HAND_SWITCH)]
    source = attempt.random("by hand").choice([node for node in beside if node.name != BY_HAND_FAILED])
    expected = (
        f"a frame from {source.name} for {BY_HAND_FAILED}'s address leaves {BY_HAND_SWITCH} to {up}; "
        "one entry of its table linear has changed, and no other"
    )
    testbed = EmbeddedTestbed(fabric, grpc_address=f"unix:{attempt.scratch / 'shell'}")

    def ways() -> dict[str, int | None]:
        """Return the port by which a frame for each address leaves the switch, None for a lost frame."""
        port = fabric.port_to(switch.name, source.name)
        sent = {
            node.name: testbed.network.process(switch.index, port, _frame(source.address, node.address))
            for node in fabric.endpoints
        }
        return {name: out[0][0] if out else None for name, out in sent.items()}

    with booted(testbed, make_plan(fabric)) as running:
        table, before = set(running.client.read(switch.name)), ways()
        said = attempt.type_into_shell(SESSION, testbed.address, switch.device_id)
        changed, after = set(running.client.read(switch.name)) ^ table, ways()
    if not changed:
        errors = re.findall(r"^\w*(?:Error|Exception): .*(?:\n\s+\S.*)?", said, re.MULTILINE)
        why = f"; the shell said {' '.join(errors[-1].split())}" if errors else ""
        return failed(expected, f"no entry has changed{why}", f"{SESSION}: its last lines")
    if wrong := [name for name, port in after.items() if name != BY_HAND_FAILED and port != before[name]]:
        observed = f"frames for {', '.join(wrong)} take another port than before"
        return failed(expected, observed, f"{SESSION}: which entry does an address lead to?")
    if after[BY_HAND_FAILED] != fabric.port_to(switch.name, up):
        port = after[BY_HAND_FAILED]
        observed = "the frame is lost" if port is None else f"the frame takes port {port}"
        return failed(expected, observed, f"{SESSION}: by which port do frames for the spare leave?")
    if len(changed) != 2 or {entry.table for entry in changed} != {"linear"}:
        names = ", ".join(sorted({entry.table for entry in changed}))
        return failed(expected, f"{len(changed)} entries of {names} are new or gone", SESSION)
    return passed(expected, f"the frame takes port {after[BY_HAND_FAILED]}, all others the same as before")


def reached(attempt: Attempt) -> Verdict:
    """Send a frame from each NPU to the failed NPU's address, and one from the spare to each."""
    rack, result = _rack(attempt), _takeover(attempt)
    others = len(_members(rack)) - 1
    expected = (
        f"a frame from each of {others} NPUs for {rack.failed}'s address reaches {rack.spare}, and back"
    )
    observed = (
        f"{others - len(result.unheard)} of {others} arrived there, {others - len(result.unreached)} back"
    )
    if result.unheard:
        return failed(expected, f"{observed}; none came from {', '.join(result.unheard)}", LOOK)
    if result.unreached:
        return failed(expected, f"{observed}; none came to {', '.join(result.unreached)}", LOOK)
    return passed(expected, observed)


def sums(attempt: Attempt) -> Verdict:
    """Fail an NPU in the middle of an AllReduce, let the controller act, and start the job again."""
    rack = _rack(attempt)
    members = _members(rack)
    expected = (
        f"after {rack.failed} fails in mid-run, an AllReduce of {len(members)} NPUs ends with the right sums"
    )
    with _running(attempt, rack) as testbed:
        sliced, inputs, specs = _job(attempt, rack)
        testbed.attach_agents(dict(zip(members, specs(1, 0), strict=True)))
        testbed.run(FAILS_PS)
        if not testbed.busy:
            return failed(expected, "the job had ended before the failure", "report this to your teacher")
        _fail(testbed, rack)
        testbed.run(NOTICED_PS)
        _call(attempt, rack, testbed)
        holders = [rack.spare if name == rack.failed else name for name in members]
        testbed.restart(dict(zip(holders, specs(2, SECOND_PSN), strict=True)))
        stopped = ""
        try:
            while testbed.busy and testbed.now_ps < LONGEST_PS:
                testbed.run(testbed.now_ps + LONGEST_PS // 20)
        except DeadlockedError as ex:
            stopped = f"; {ex.message}"
        ends = [testbed.outcome(name) for name in holders]
        right = sum(
            end.finished_ps is not None and bool((end.result == row).all())
            for end, row in zip(ends, truth(sliced, inputs), strict=True)
        )
        times = [end.finished_ps for end in ends if end.finished_ps is not None]
    until_us = (max(times) if right == len(members) else LONGEST_PS) / 10**6
    observed = f"{right} of {len(members)} NPUs had the right sums at {until_us:.1f} µs{stopped}"
    return passed(expected, observed) if right == len(members) else failed(expected, observed, LOOK)


def economy(attempt: Attempt) -> Verdict:
    """Compare what the P4Runtime server was asked to write with what was needed."""
    rack, result = _rack(attempt), _takeover(attempt)
    most = 2 * len(rack.needed)
    expected = f"1 to {most} entries written, none in nodes that need no change, no program loaded"
    total = sum(result.written.values())
    observed = f"{total} entries written in {len(result.written)} nodes"
    if result.pushed:
        return failed(expected, f"{observed}; programs loaded into {', '.join(result.pushed)}", LOOK)
    if needless := sorted(set(result.written) - rack.needed):
        return failed(expected, f"{observed}, of them {', '.join(needless)}, which need no change", LOOK)
    if not 0 < total <= most:
        return failed(expected, observed, LOOK)
    return passed(expected, observed)


def _rack(attempt: Attempt) -> Rack:
    return attempt.shared("rack", lambda: _drawn(attempt.random("rack")))


def _drawn(draw: Random) -> Rack:
    fabric = ub_rack_lrs(dims=draw.choice(RACKS), planes=1, cpus=0, uplink_lanes=8)
    lost = draw.choice([node.name for node in fabric.nodes if node.kind.member])
    spare = next(node.name for node in fabric.nodes if node.kind.spare)
    boards = set(map(_switch_of(fabric), _npus(fabric)))
    peers = {name for name in fabric.neighbours(lost) if fabric.node(name).kind.member}
    return Rack(fabric, lost, spare, frozenset({spare, *boards, *peers, *fabric.neighbours(spare)}))


def _upwards(fabric: Fabric, switch: str) -> str:
    """Return the neighbour of a board's switch that is linked to the spare."""
    spare = next(node.name for node in fabric.nodes if node.kind.spare)
    return next(name for name in fabric.neighbours(switch) if name in fabric.neighbours(spare))


def _npus(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind.member]


def _switch_of(fabric: Fabric) -> Any:
    return lambda name: next(other for other in fabric.neighbours(name) if fabric.node(other).is_switch)


def _members(rack: Rack) -> list[str]:
    return _npus(rack.fabric)


def _takeover(attempt: Attempt) -> Takeover:
    return attempt.shared("takeover", lambda: _measured(attempt))


def _measured(attempt: Attempt) -> Takeover:
    """Fail the NPU, call the controller, then send a frame each way between the spare and each NPU."""
    rack = _rack(attempt)
    fabric = rack.fabric
    others = [name for name in _members(rack) if name != rack.failed]
    lost = fabric.node(rack.failed).address
    with _running(attempt, rack) as testbed:
        _fail(testbed, rack)
        testbed.run(NOTICED_PS)
        before = {node.name: testbed.requests(node.name) for node in fabric.nodes}
        _call(attempt, rack, testbed)
        asked = {name: (testbed.requests(name), count) for name, count in before.items()}
        hosts = {name: ScriptedHost([_frame(fabric.node(name).address, lost)]) for name in others}
        hosts[rack.spare] = ScriptedHost([_frame(lost, fabric.node(name).address) for name in others])
        for name, host in hosts.items():
            testbed.attach(name, host)
        testbed.run(LONGEST_PS)
    sources = {Ether(frame)[NTH].scna for _, frame in hosts[rack.spare].arrived}
    return Takeover(
        tuple(name for name in others if fabric.node(name).address not in sources),
        tuple(name for name in others if not hosts[name].arrived),
        {
            name: after.updates - count.updates
            for name, (after, count) in asked.items()
            if after.updates > count.updates
        },
        tuple(name for name, (after, count) in asked.items() if after.pipelines > count.pipelines),
    )


def _frame(source: int, target: int) -> bytes:
    head = Ether(src=mac(source), dst=mac(target)) / LPH(cfg=CFG_CNA16) / NTH(scna=source, dcna=target)
    return bytes(head / bytes(64))


def _job(attempt: Attempt, rack: Rack) -> tuple[Sliced, Any, Callable[[int, int], list[AgentSpec]]]:
    """Return the schedule, the inputs, and a function that describes the agents of a start of the job."""
    members = _members(rack)
    collective = Collective(elements=ELEMENTS, payload_bytes=FRAME_BYTES)
    schedule = schedule_of(rack.fabric, members, collective, detours=False)
    sliced = slice_schedule(schedule, FRAME_BYTES // 4, overlap=collective.overlap)
    inputs = make_inputs(len(members), ELEMENTS, "int32", attempt.random("inputs").randrange(2**31))
    addresses = [rack.fabric.node(name).address for name in members]

    def specs(number: int, first_psn: int) -> list[AgentSpec]:
        transport = TransportParameters(initial_rto_ps=10**8, first_psn=first_psn)
        return agent_specs(sliced, inputs, addresses, job=number, transport=transport)

    return sliced, inputs, specs


@contextmanager
def _running(attempt: Attempt, rack: Rack) -> Iterator[EmbeddedTestbed]:
    """Run the rack with a P4Runtime server at a path; its tables have an index for each address."""
    fabric = rack.fabric
    address = f"unix:{attempt.scratch / 'p4rt'}"
    testbed = EmbeddedTestbed(fabric, grpc_address=address, credit_bytes=1 << 20)
    scheme = scheme_for(fabric)
    rules = rule_set("T2-G", fabric)
    entries = {
        node.name: [*turn_entries(rules, fabric, node.name), *_host_routes(scheme, node.name)]
        for node in fabric.nodes
    }
    with filled(testbed, programs_of(fabric), entries) as booted:
        booted.client.close()
        yield testbed


def _host_routes(scheme: Scheme, node: str) -> Iterator[Entry]:
    """Yield a segment and a port for the address of each endpoint: its entry in `linear` is its index."""
    fabric = scheme.fabric
    for target in fabric.nodes:
        if target.is_switch:
            continue
        hop = next_hop(scheme, node, target.name)
        if hop is None and node != target.name:
            continue
        port = HOST_PORT if hop is None else fabric.port_to(node, hop)
        params = (("base", target.index), ("shift", 0), ("mask", 0))
        yield Entry("segment", (("dcna", Lpm(target.address, 16)),), "set_segment", params)
        yield Entry("linear", (("index", Exact(target.index)),), "set_port", (("port", port),))


def _fail(testbed: EmbeddedTestbed, rack: Rack) -> None:
    """Take down all links of the failed NPU, that to its host among them."""
    for port in rack.fabric.node(rack.failed).ports:
        link = rack.fabric.link_at(rack.failed, port.number)
        if link is not None:
            testbed.set_link(link.name, False)
    testbed.set_host_link(rack.failed, False)


def _call(attempt: Attempt, rack: Rack, testbed: EmbeddedTestbed) -> None:
    fabric = rack.fabric
    nodes = {
        node.name: {
            "device_id": node.device_id,
            "index": node.index,
            "ports": {other: fabric.port_to(node.name, other) for other in fabric.neighbours(node.name)},
        }
        for node in fabric.nodes
    }
    attempt.call(
        "controller.py", "take_over", testbed.address, nodes, rack.failed, rack.spare, server=testbed.address
    )

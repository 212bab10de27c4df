# SPDX-License-Identifier: Apache-2.0
"""Checks of lab 7: the student's LACP settings under failures, and the student's P4 under many flows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from scapy.utils import RawPcapReader

from controller.planner import make_plan
from emulation.control.frames import is_slow, read_lacpdu
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.testbed import LinkUsage, Testbed
from emulation.traffic.frames.wire import readdress
from harness.frames.craft import Order, craft
from harness.lessons.attempt import Attempt, StudentError, Verdict, failed, passed
from harness.lessons.p4_program import compiled_program
from harness.lessons.scripted_host import ScriptedHost
from harness.run.boot import booted
from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.programs.own_program import OwnPrograms
from harness.run.runner import observe
from harness.scenario.document import Document
from harness.scenario.loader import read
from harness.scenario.schema import Control
from topologies import Fabric, hpn

SETTINGS, PROGRAM = "lacp.yaml", "multipath.p4"
TOPOLOGY = {"name": "hpn", "segments": 2, "hosts": 2, "rails": 2, "aggs": 2}
# Percent of a NIC's frames on each of its two cables.
SHARE = (45, 55)
# Longest time in which frames may be sent into a failed cable, and shortest between two LACPDUs.
WINDOW_US, LACPDU_US = 20.0, 3.0
FAULT_US = (8.0, 14.0)
# Periods of LACPDUs that are tried: a shorter one is a flood, which takes minutes to emulate.
PERIOD_US = (0.5, 1000.0)
VALUES = 100
KEYS = ("lacp_us", "lacp_multiplier", "lacp_tors")
# Chance below which a division of flows among equal ways is no accident.
ACCIDENT = 1e-6
FLOWS_OF_A_PAIR = 48
LB_VALUES = 256

Way = tuple[str, str]


def bundle(attempt: Attempt) -> Verdict:
    """Both ports of every NIC join its bundle, and each carries half of the frames."""
    expected = f"each NIC sends {SHARE[0]} to {SHARE[1]} % of its frames by each of its two cables"
    gpu = attempt.random("capture").choice(["gpu0", "gpu1", "gpu6", "gpu7"])
    fabric = _fabric()
    captures = {link: attempt.scratch / f"healthy-{link}.pcap" for link in _cables(fabric, gpu)}
    seen = _run(attempt, [], captures)
    if seen.correct_nodes != seen.nodes:
        return failed(expected, f"the job does not end: {seen.first_wrong}", SETTINGS)
    for name, share in _shares(fabric, seen.link_usage).items():
        if not SHARE[0] <= share <= SHARE[1]:
            return failed(
                expected,
                f"{name} sends {share:.0f} % of its frames by its first cable",
                f"LACPDUs of the two ToRs, captured on {gpu}'s cables: {_announced(captures.values())}; when "
                "does a NIC take two ports into a bundle?",
            )
    return passed(expected, f"8 NICs within these limits; ToRs announce {_announced(captures.values())}")


def cut(attempt: Attempt) -> Verdict:
    """A cable is cut, a cable falls silent, a ToR dies: frames are lost for a short time only."""
    random = attempt.random("faults")
    fabric = _fabric()
    expected = (
        f"a cut cable, a silent cable and a dead ToR: right data, and {WINDOW_US:g} µs later tables have "
        f"changed and no frame goes into the cable; at most an LACPDU in {LACPDU_US:g} µs"
    )
    observed: list[str] = []
    for kind in ("a cut cable", "a silent cable", "a dead ToR"):
        gpu = random.choice(["gpu0", "gpu1", "gpu2", "gpu3"])
        cable = random.choice(_cables(fabric, gpu))
        at_us = round(random.uniform(*FAULT_US), 1)
        fault: dict[str, Any] = {"at_us": at_us}
        if kind == "a dead ToR":
            fault["switch"] = cable.split("-")[1]
        else:
            fault["link"] = cable
        if kind == "a silent cable":
            fault |= {"event": "loss", "percent": 100}
        captures = {cable: attempt.scratch / f"{kind[2:].replace(' ', '-')}.pcap"}
        seen = _run(attempt, [fault], captures)
        if seen.correct_nodes != seen.nodes:
            return failed(
                expected, f"{kind}, {cable}: {seen.first_wrong}", f"{SETTINGS}; stage 1 comes first"
            )
        times, lacpdus = _times(captures[cable])
        # The last table write; and the last frame in the capture, which has frames that the cable loses.
        changed_us = (seen.recovery.converged_ps or 0) / 10**6
        window_us = max([changed_us, *times]) - at_us
        if window_us > WINDOW_US:
            return failed(
                expected,
                f"{kind}, {cable}, at {at_us:g} µs: last frame or table change {window_us:.1f} µs later",
                "who notices that a cable loses all frames and keeps its carrier, and when?",
            )
        if len(lacpdus) * LACPDU_US > 2 * max(lacpdus, default=0.0) + 8 * LACPDU_US:
            return failed(
                expected,
                f"{kind}: {len(lacpdus)} LACPDUs on {cable} in {max(lacpdus):.0f} µs, both ways",
                f"{SETTINGS}: the period",
            )
        observed.append(f"{kind} {window_us:.1f} µs")
    healthy = bundle(attempt)
    if not healthy.passed:
        return failed(f"{expected}; and {healthy.expected}", healthy.observed, healthy.look)
    return passed(expected, ", ".join(observed))


def spread(attempt: Attempt) -> Verdict:
    """Flows divide evenly at every tier, and every flow keeps its way."""
    fabric = hpn(segments=2, hosts=4, rails=2, aggs=4, planes=1)
    plan = make_plan(fabric, strategy="hashed")
    files = compiled_program(attempt)
    own = OwnPrograms({node.name: files for node in fabric.nodes if node.program == "rail_switch"})
    flows = _flows(attempt, fabric)
    expected = f"{len(flows)} drawn flows divide evenly at every ToR and aggregation switch, each on one way"
    counts: list[Counter[Way]] = []
    with booted(bed := EmbeddedTestbed(fabric, credit_bytes=1 << 22), plan, own=own):
        for _ in range(2):
            arrived = _send(bed, flows)
            if arrived != len(flows):
                return failed(
                    expected,
                    f"{arrived} of {len(flows)} frames arrived",
                    f"{PROGRAM}: which ports does it choose?",
                )
            counts.append(_switch_frames(bed))
    for way, first in counts[0].items():
        if counts[1][way] != 2 * first:
            return failed(
                expected,
                f"{first} frames went from {way[0]} to {way[1]}; when all flows sent again, "
                f"{counts[1][way] - first}: flows changed their way",
                f"{PROGRAM}: frames of a flow must arrive in order, so equal fields must choose one way",
            )
    for group, members in _groups(fabric).items():
        taken = [counts[0][way] for way in members]
        if (chance := _chance(taken)) < ACCIDENT:
            divided = ", ".join(f"{count} to {way[1]}" for count, way in zip(taken, members, strict=True))
            return failed(
                expected,
                f"{group}: {divided} (chance of an even division as uneven: {chance:.0e})",
                f"{PROGRAM}: which bits of the hash does a ToR use, and which the switch above it?",
            )
    return passed(expected, f"{len(_groups(fabric))} groups of equal ways, none uneven")


def _fabric() -> Fabric:
    return hpn(**{key: value for key, value in TOPOLOGY.items() if key != "name"})


def _settings(attempt: Attempt) -> dict[str, Any]:
    """Return the student's settings as keys of a scenario's control; StudentError names a wrong key."""
    give = f"give {', '.join(KEYS)}, and nothing else"
    try:
        content = YAML(typ="safe").load(attempt.path(SETTINGS).read_text())
    except (YAMLError, UnicodeDecodeError, RecursionError) as ex:
        mark = getattr(ex, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(ex, "problem", None) or str(ex).splitlines()[0]
        raise StudentError(f"{SETTINGS}{line}: no YAML: {problem}", f"{SETTINGS}{line}") from None
    if not isinstance(content, dict):
        raise StudentError(f"{SETTINGS} has no keys", give)
    if not _is_small(content):
        raise StudentError(f"{SETTINGS} has more than {VALUES} values", give)
    for key in content:
        if key not in KEYS:
            raise StudentError(f"{SETTINGS}: unknown key {str(key)[:40]!r}", give)
    if missing := [key for key in KEYS if key not in content]:
        raise StudentError(f"{SETTINGS}: {missing[0]} is missing", give)
    try:
        Control.model_validate_json(json.dumps(content))
    except ValidationError as ex:
        error = ex.errors()[0]
        where = ".".join(map(str, error["loc"]))
        said = f"{where}: {str(error['input'])[:80]}"
        if error["type"] == "missing" and error["loc"][0] == "lacp_tors":
            raise StudentError(
                f"{SETTINGS}: {said}", "lacp_tors: give two ToRs, each with both keys"
            ) from None
        told = (
            f"{where}: {error['ctx']['error']}"
            if error["type"] == "value_error"
            else f"{said}: {error['msg']}"
        )
        raise StudentError(f"{SETTINGS}: {told}", f"{SETTINGS}: {where}") from None
    if not PERIOD_US[0] <= content["lacp_us"] <= PERIOD_US[1]:
        raise StudentError(
            f"{SETTINGS}: lacp_us: {content['lacp_us']} µs between two LACPDUs",
            f"give {PERIOD_US[0]:g} to {PERIOD_US[1]:g} µs",
        )
    return content


def _is_small(content: object) -> bool:
    """Return whether a document has few values; its aliases may stand for billions of them."""
    waiting, seen = [content], 0
    while waiting and seen <= VALUES:
        value = waiting.pop()
        seen += 1
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, list):
            waiting += value
    return seen <= VALUES


def _run(attempt: Attempt, faults: Sequence[Mapping[str, Any]], captures: Mapping[str, Path]) -> Observation:
    """Run an AllReduce of all GPUs with the student's settings and these faults."""
    document = Document.of_values(
        {
            "name": "dual-tor",
            "topology": TOPOLOGY,
            "collective": {
                "kind": "allreduce",
                "algorithm": "dimension-wise",
                "elements": 393216,
                "payload_bytes": 4096,
            },
            "routing": {"strategy": "hashed", "peers": "job"},
            "link": {"detect_us": 1},
            "control": {"processing_us": 1, **_settings(attempt)},
            "transport": {"initial_rto_us": 20, "min_rto_us": 10},
            "variants": [{"name": "run", "faults": list(faults)}],
        }
    )
    ready = prepare(read(document)[0], document)[0]

    def look(testbed: Testbed) -> None:
        for link, path in captures.items():
            testbed.record(link, path)

    return observe(ready, attempt.random("data").randrange(2**31), look)


def _cables(fabric: Fabric, gpu: str) -> list[str]:
    return [link.name for link in fabric.links if link.a.node == gpu and fabric.node(link.b.node).is_switch]


def _shares(fabric: Fabric, usage: Mapping[str, tuple[LinkUsage, LinkUsage]]) -> dict[str, float]:
    """Return the percentage of each NIC's frames that it sent by its first cable."""
    shares = {}
    for node in fabric.nodes:
        if not node.is_switch:
            first, second = (usage[link][0].frames for link in _cables(fabric, node.name))
            shares[node.name] = 100 * first / max(1, first + second)
    return shares


def _announced(captures: Iterable[Path]) -> str:
    """Describe what ToRs announce in captured LACPDUs."""
    words = []
    for capture in captures:
        pdus = (read_lacpdu(frame) for frame, _ in RawPcapReader(str(capture)) if is_slow(frame))
        # A ToR's key is the number of its port; a host's key is 1 and its address begins with 02:00:00:00.
        actors = {(pdu.actor.system, pdu.actor.port) for pdu in pdus if pdu is not None}
        hosts = {system for system, _ in actors if system.startswith("02:00:00:00:00")}
        words += [f"{system} port {port}" for system, port in sorted(actors) if system not in hosts]
    return " and ".join(words) or "nothing"


def _times(capture: Path) -> tuple[list[float], list[float]]:
    """Return the times, in us, of captured frames of the job, and of LACPDUs."""
    times: tuple[list[float], list[float]] = ([], [])
    for frame, meta in RawPcapReader(str(capture)):
        times[is_slow(frame)].append(meta.sec * 10**6 + meta.usec / 1000)
    return times


def _flows(attempt: Attempt, fabric: Fabric) -> list[tuple[str, bytes]]:
    """Draw flows between the segments, each on the rail of its source: the source, and a frame."""
    random = attempt.random("flows")
    gpus = list(fabric.endpoints)
    flows = []
    for source in gpus:
        for target in gpus:
            if (
                source.coordinates[0] == target.coordinates[0]
                and source.coordinates[2] != target.coordinates[2]
            ):
                frame = bytes(craft(fabric, Order(source.name, target.name, payload=random.randbytes(16))))
                values = random.sample(range(LB_VALUES), FLOWS_OF_A_PAIR)
                flows += [(source.name, readdress(frame, value, 0)) for value in values]
    random.shuffle(flows)
    return flows


def _send(bed: EmbeddedTestbed, flows: Sequence[tuple[str, bytes]]) -> int:
    """Send a frame of each flow; return the number of frames that arrive."""
    frames: dict[str, list[bytes]] = {}
    for source, frame in flows:
        frames.setdefault(source, []).append(frame)
    hosts = {node.name: ScriptedHost(frames.get(node.name, ())) for node in bed.fabric.endpoints}
    for name, host in hosts.items():
        bed.attach(name, host)
    bed.run()
    return sum(len(host.arrived) for host in hosts.values())


def _switch_frames(bed: EmbeddedTestbed) -> Counter[Way]:
    """Return the frames that links between switches have carried, by direction."""
    counts: Counter[Way] = Counter()
    usage = bed.link_usage()
    for link in bed.fabric.links:
        if bed.fabric.node(link.a.node).is_switch and bed.fabric.node(link.b.node).is_switch:
            there, back = usage[link.name]
            counts[link.a.node, link.b.node] = there.frames
            counts[link.b.node, link.a.node] = back.frames
    return counts


def _groups(fabric: Fabric) -> dict[str, list[Way]]:
    """Return the ways that are equal for a flow: a ToR's uplinks, and from above the ToRs of a set."""
    groups: dict[str, list[Way]] = {}
    for node in fabric.nodes:
        for neighbour in fabric.neighbours(node.name) if node.is_switch else ():
            other = fabric.node(neighbour)
            if other.tier > node.tier:
                groups.setdefault(f"uplinks of {node.name}", []).append((node.name, neighbour))
            elif other.tier:
                # torS.R.N: ToR N of the set of rail R in segment S.
                tors = neighbour.rsplit(".", 1)[0]
                groups.setdefault(f"{node.name} to the set {tors}", []).append((node.name, neighbour))
    return groups


def _chance(counts: Sequence[int]) -> float:
    """Return the chance of a division as uneven as this, by a chi-square test; 1 without frames."""
    from scipy.stats import chisquare

    return float(chisquare(counts).pvalue) if sum(counts) else 1.0

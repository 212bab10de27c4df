# SPDX-License-Identifier: Apache-2.0
"""Checks of lab 5: the student's rows run on rail-only fabrics, and frames and counters are compared."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise, permutations
from pathlib import Path

from scapy.utils import RawPcapReader

from controller.errors import InstallError
from controller.p4runtime.entries_file import read_entries
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry, Lpm
from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.dissector import dissector
from harness.files import PROGRAMS
from harness.frames.capture import Record, write_capture
from harness.frames.craft import Order, craft
from harness.lessons.attempt import Attempt, StudentError, Verdict, failed, passed
from harness.lessons.scripted_host import ScriptedHost
from harness.run.boot import Booted, booted
from harness.run.observation.collect import dropped
from harness.run.prepare import prepare
from harness.run.programs.own_program import OwnPrograms
from harness.run.runner import observe
from harness.scenario.document import Document
from harness.scenario.loader import read
from topologies import Fabric, rail_only

ANSWER = "entries.json"
DOMAINS, RANKS = 3, 4
# Tables that the student fills, and the rows of them that a GPU needs: two segments, a port for each rank.
TABLES = ("pxn_segment", "pxn")
ROWS = 2 + RANKS
ADDRESS_BITS = 16
# Measured times exceed the equation by headers, distance and waiting: 3 to 6 % for these amounts.
TOLERANCE = 1.1
ELEMENT_BYTES = 4
PAYLOAD = 24
SHOWN = f"rail-only --param domains={DOMAINS} --param hb_size={RANKS}"

Pair = tuple[str, str]


def relay(attempt: Attempt) -> Verdict:
    """A frame of gpu0 reaches every other GPU, once."""
    fabric = rail_only(domains=DOMAINS, hb_size=RANKS)
    rows = _rows(attempt, fabric)
    others = [name for name in _gpus(fabric) if name != "gpu0"]
    attempt.random("order").shuffle(others)
    back = [(other, "gpu0") for other in ("gpu1", "gpu2", "gpu3")]
    with _running(fabric, {"gpu0": rows["gpu0"]}) as (bed, up):
        arrived = _exchange(attempt, bed, [("gpu0", other) for other in others] + back)
        drops = _drops(bed, up)
    expected = f"{len(others)} frames of gpu0, one at each other GPU, and a frame from each GPU of its domain"
    wrong = [pair for pair in (*((("gpu0", other)) for other in others), *back) if arrived[pair] != 1]
    if wrong:
        source, destination = wrong[0]
        return failed(
            expected,
            f"{arrived.total()} arrived; {arrived[wrong[0]]} from {source} to {destination}; {drops} dropped",
            f"`railyard craft {SHOWN} --from {source} --to {destination}` prints the hops of this frame "
            f"in a fabric whose tables are complete",
        )
    return passed(expected, f"{arrived.total()} frames arrived")


def rails(attempt: Attempt) -> Verdict:
    """Frames of all pairs stay on the rail of their destination, and take the shortest way inside domains."""
    fabric = rail_only(domains=DOMAINS, hb_size=RANKS)
    rows = _rows(attempt, fabric)
    pairs = list(permutations(_gpus(fabric), 2))
    attempt.random("pairs").shuffle(pairs)
    pairs = pairs[: len(pairs) * 9 // 10]
    captures = attempt.scratch / "captures"
    captures.mkdir()
    with _running(fabric, rows) as (bed, up):
        for link in fabric.links:
            if fabric.node(link.b.node).is_switch:
                bed.record(link.name, captures / f"{link.name}.pcap")
        arrived = _exchange(attempt, bed, pairs)
        counted, drops = _counted(bed), _drops(bed, up)
    captured = _captured(attempt, bed, captures)
    expected = f"{len(pairs)} frames of drawn pairs, each on the rail of its destination's rank"
    for cable, source, destination in captured:
        rank = fabric.node(destination).coordinates[0]
        if not cable.endswith(f"-rail{rank}"):
            return failed(
                expected,
                f"the capture of {cable} has a frame from {source} to {destination}, which has rank {rank}",
                f"rows of {source}, whose ports `railyard show {SHOWN} --node {source}` lists",
            )
    lost = [pair for pair in pairs if arrived[pair] != 1]
    if lost:
        source, destination = lost[0]
        return failed(
            expected,
            f"{arrived.total()} arrived, {drops} dropped; none from {source} to {destination}",
            f"rows of {source}, and of the GPU of its domain on the rail of {destination}",
        )
    due = _frames_by_hop(fabric, pairs)
    for hop in sorted(due.keys() | counted.keys()):
        if due[hop] != counted[hop]:
            return failed(
                f"{due[hop]} of these frames from {hop[0]} to {hop[1]}",
                f"{counted[hop]} frames, by the counters of the link",
                "rows of the GPUs of this domain: a hop inside it leads straight to the destination's rank",
            )
    return passed(expected, f"{len(captured)} captured frames, none on a foreign rail")


def all_to_all(attempt: Attempt) -> Verdict:
    """An All-to-All of all GPUs has the right data in the time of the equation."""
    fabric = rail_only(domains=DOMAINS, hb_size=RANKS)
    rows = _rows(attempt, fabric)
    chunk = attempt.random("amount").randrange(6144, 12288, 1024)
    bound_us = RANKS * (DOMAINS - 1) * chunk * ELEMENT_BYTES * 8 / 200e3
    expected = (
        f"right data on {DOMAINS * RANKS} GPUs within {TOLERANCE:g} times the equation's {bound_us:.2f} µs"
    )
    document = Document.of_values(
        {
            "name": "all-to-all",
            "topology": {"name": "rail-only", "domains": DOMAINS, "hb_size": RANKS},
            "collective": {
                "kind": "all-to-all",
                "algorithm": "direct",
                "elements": chunk * DOMAINS * RANKS,
                "payload_bytes": 4096,
            },
            "routing": {"strategy": "shortest"},
            "transport": {"initial_rto_us": 100, "min_rto_us": 100},
            "variants": [{"name": "rows"}],
        }
    )
    ready = prepare(read(document)[0], document)[0]
    seen = observe(
        replace(ready, plan=_without_pxn(ready.plan), own=OwnPrograms({}, rows)), attempt.seed % 2**31
    )
    took_us = seen.completion_ps / 10**6
    if seen.correct_nodes != seen.nodes:
        return failed(
            expected,
            f"{seen.correct_nodes} GPUs have right data: {seen.first_wrong}; switches dropped "
            f"{seen.traffic.dropped_by_switch} frames",
            "stages 1 and 2 name the frames that are lost",
        )
    if took_us > TOLERANCE * bound_us:
        return failed(
            expected,
            f"right data after {took_us:.2f} µs",
            "which link carries more than its share of the frames?",
        )
    return passed(expected, f"right data after {took_us:.2f} µs")


def grow(attempt: Attempt) -> Verdict:
    """A fourth domain joins: the other domains' rows stay as they are, and are few."""
    fabric = rail_only(domains=DOMAINS + 1, hb_size=RANKS)
    rows = _rows(attempt, rail_only(domains=DOMAINS, hb_size=RANKS))
    node, most = max(((name, len(entries)) for name, entries in rows.items()), key=lambda item: item[1])
    if most > ROWS:
        return failed(
            f"at most {ROWS} rows a GPU",
            f"{most} rows for {node}",
            "a row of pxn_segment can serve all other domains: read `set_ranks` in the README",
        )
    plan = make_plan(fabric, strategy="shortest")
    new = [f"gpu{number}" for number in range(DOMAINS * RANKS, (DOMAINS + 1) * RANKS)]
    rows |= {name: [entry for entry in plan.entries[name] if entry.table in TABLES] for name in new}
    old = [f"gpu{number}" for number in range(DOMAINS * RANKS)]
    pairs = [pair for here in old for there in new for pair in ((here, there), (there, here))]
    with _running(fabric, rows) as (bed, _):
        arrived = _exchange(attempt, bed, pairs)
    expected = f"{len(pairs)} frames between the old domains and a fourth domain"
    lost = [pair for pair in pairs if arrived[pair] != 1]
    if lost:
        return failed(
            expected,
            f"{len(pairs) - len(lost)} arrived; not the frame from {lost[0][0]} to {lost[0][1]}",
            f"rows of {lost[0][0]}: which prefix do they match, and which mask reads the rank?",
        )
    return passed(expected, f"{len(pairs)} frames arrived, with at most {most} rows a GPU")


def _rows(attempt: Attempt, fabric: Fabric) -> dict[str, list[Entry]]:
    """Return the student's rows by GPU; StudentError names a row that is none of these tables."""
    info = P4Info.parse((PROGRAMS / "rail_gpu.p4info.txtpb").read_bytes())
    try:
        rows = read_entries(attempt.path(ANSWER), info, _gpus(fabric))
        for node, entries in rows.items():
            for number, entry in enumerate(entries):
                if entry.table not in TABLES or entry.default:
                    raise InstallError(
                        f"{ANSWER}: {node}[{number}]: a row of {entry.table}",
                        remedy=f"write rows of {' and '.join(TABLES)} only, and no default actions",
                    )
            _check_keys(node, entries)
    except InstallError as ex:
        message = ex.message.replace(f"{attempt.folder}/", "").replace("the fabric has no node", "no GPU is")
        remedy = "the tables in README.md, under Task" if "p4info" in ex.remedy else ex.remedy
        raise StudentError(message, remedy) from None
    return rows


def _check_keys(node: str, entries: Sequence[Entry]) -> None:
    """Raise an InstallError for the first row with a wrong prefix, or with the key of an earlier row."""
    first: dict[Hashable, int] = {}
    for number, entry in enumerate(entries):
        where = f"{ANSWER}: {node}[{number}]"
        for name, match in entry.match:
            if isinstance(match, Lpm):
                value, bits = match.value, match.prefix
                if not 0 < bits <= ADDRESS_BITS:
                    raise InstallError(
                        f"{where}: {name} has a prefix of {bits} bits",
                        remedy=f"an address has {ADDRESS_BITS} bits",
                    )
                if low := value & ((1 << (ADDRESS_BITS - bits)) - 1):
                    raise InstallError(
                        f"{where}: {name} is [{value}, {bits}]: {value} has bits beyond its first {bits}",
                        remedy=f"write [{value - low}, {bits}], which matches the same addresses",
                    )
        if entry.key in first:
            raise InstallError(
                f"{where}: the table and key of {node}[{first[entry.key]}]", remedy="give each key one row"
            )
        first[entry.key] = number


def _without_pxn(plan: Plan) -> Plan:
    """Return the plan without PXN rows and source routes, so that the student's rows and tables decide."""
    left_out = {*TABLES, "all_path"}
    kept = {
        node: tuple(entry for entry in entries if entry.table not in left_out)
        for node, entries in plan.entries.items()
    }
    return replace(plan, entries=kept)


@contextmanager
def _running(fabric: Fabric, rows: Mapping[str, Sequence[Entry]]) -> Iterator[tuple[EmbeddedTestbed, Booted]]:
    """Start the fabric with the student's rows in place of the planned rows for PXN."""
    plan = _without_pxn(make_plan(fabric, strategy="shortest"))
    bed = EmbeddedTestbed(fabric)
    with booted(bed, plan, own=OwnPrograms({}, rows)) as up:
        yield bed, up


def _exchange(attempt: Attempt, bed: EmbeddedTestbed, pairs: Sequence[Pair]) -> Counter[Pair]:
    """Send a frame a pair, with a drawn payload; count by pair the frames that reach their destination."""
    payloads = attempt.random("payloads")
    frames: dict[str, list[bytes]] = {}
    sent: dict[bytes, Pair] = {}
    for number, (source, destination) in enumerate(pairs):
        payload = payloads.randbytes(PAYLOAD)
        sent[payload] = (source, destination)
        order = Order(source, destination, psn=number, payload=payload)
        frames.setdefault(source, []).append(bytes(craft(bed.fabric, order)))
    hosts = {name: ScriptedHost(frames.get(name, ())) for name in _gpus(bed.fabric)}
    for name, host in hosts.items():
        bed.attach(name, host)
    bed.run()
    arrived: Counter[Pair] = Counter()
    for name, host in hosts.items():
        for _, frame in host.arrived:
            pair = sent.get(frame[-PAYLOAD:])
            if pair is not None and pair[1] == name:
                arrived[pair] += 1
    return arrived


def _captured(attempt: Attempt, bed: EmbeddedTestbed, folder: Path) -> list[tuple[str, str, str]]:
    """Return cable, source and destination of every captured frame, as tshark reads them."""
    records = [
        Record(meta.sec * 10**9 + meta.usec, path.stem, path.stem, frame)
        for path in sorted(folder.glob("*.pcap"))
        for frame, meta in RawPcapReader(str(path))
    ]
    script, capture = attempt.scratch / "railyard.lua", attempt.scratch / "cables.pcapng"
    script.write_text(dissector())
    write_capture(capture, records)
    fields = ("frame.interface_name", "ub.nth.scna", "ub.nth.dcna")
    command = ["tshark", "-X", f"lua_script:{script}", "-r", str(capture), "-T", "fields"]
    command += [word for name in fields for word in ("-e", name)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    names = {node.address: node.name for node in bed.fabric.nodes}
    lines = (line.split("\t") for line in done.stdout.splitlines())
    return [(cable, names[int(source, 0)], names[int(target, 0)]) for cable, source, target in lines]


def _counted(bed: EmbeddedTestbed) -> Counter[Pair]:
    """Return the frames of each direction of each link, by the two nodes."""
    counted: Counter[Pair] = Counter()
    usage = bed.link_usage()
    for link in bed.fabric.links:
        ways = ((link.a.node, link.b.node), (link.b.node, link.a.node))
        for way, seen in zip(ways, usage[link.name], strict=True):
            if seen.frames:
                counted[way] += seen.frames
    return counted


def _frames_by_hop(fabric: Fabric, pairs: Sequence[Pair]) -> Counter[Pair]:
    """Return the frames that each hop should carry: inside the domain to the rank, then along its rail."""
    due: Counter[Pair] = Counter()
    for source, destination in pairs:
        (rank, domain), (to_rank, to_domain) = (
            fabric.node(name).coordinates for name in (source, destination)
        )
        way = [source]
        if domain == to_domain:
            way.append(destination)
        else:
            if rank != to_rank:
                way.append(f"gpu{domain * RANKS + to_rank}")
            way += [f"rail{to_rank}", destination]
        due.update(pairwise(way))
    return due


def _gpus(fabric: Fabric) -> list[str]:
    return [node.name for node in fabric.endpoints]


def _drops(bed: EmbeddedTestbed, up: Booted) -> int:
    return sum(dropped(up.client, node.name) for node in bed.fabric.nodes)

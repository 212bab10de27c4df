# SPDX-License-Identifier: Apache-2.0
"""Steps of a frame through P4 programs, held against captures, counters and switches that are not traced."""

import json
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.p4runtime.client import P4RuntimeClient
from controller.plan.entry import Entry, Exact
from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation._engine import Network, Program
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import FrameError
from emulation.traffic.frames.layers import LPH, Ether
from harness.files import PROGRAMS
from harness.frames.anatomy import PAYLOAD, Change, changes, parts
from harness.frames.capture import read_frame
from harness.frames.craft import Order, craft
from harness.frames.describe import describe
from harness.frames.steps import Step, deciding_step, drop_reason, source_text
from harness.frames.walk import Journey, walk
from harness.run.boot import booted
from tests.emulation.engine.wires import pcap
from topologies import HOST_PORT, End, Fabric, full_mesh
from topologies.families.registry import find

Railyard = Callable[..., tuple[int, str, str]]


def frame_of(fabric: Fabric, *route: str, changed: tuple[str, ...] = (), bucket: int = 0) -> bytes:
    return bytes(
        craft(fabric, Order("npu5", "npu10", route=route, changes=changed, payload=bytes(8), bucket=bucket))
    )


def follow(plan: Plan, frame: bytes) -> Journey:
    return walk(plan, frame, End("npu5", HOST_PORT), traced=True)


def tables(steps: tuple[Step, ...]) -> list[str]:
    return [step.name.rpartition(".")[2] for step in steps if step.kind == "table"]


@pytest.mark.parametrize("route", [(), ("npu4", "npu6", "-")])
def test_bytes_of_every_hop_are_those_that_captures_of_its_links_hold(
    plan: Plan, route: tuple[str, ...], tmp_path: Path
):
    frame = frame_of(plan.fabric, *route)
    journey = follow(plan, frame)
    testbed = EmbeddedTestbed(plan.fabric)
    with booted(testbed, plan):
        for link in plan.fabric.links:
            testbed.record(link.name, tmp_path / f"{link.name}.pcap")
        testbed.network.send(plan.fabric.node("npu5").index, frame, 0)
        testbed.run()
        counted = {
            name: testbed.network.counter_read_all(node, 0) for node, name in enumerate(testbed.device_ids)
        }
    held = {path.stem: [data for _, data in pcap(path)] for path in tmp_path.iterdir()}
    crossed = {
        link.name: [crossing.frame]
        for crossing in journey.crossings
        if crossing.port not in (None, HOST_PORT)
        and (link := plan.fabric.link_at(crossing.sender, crossing.port))
    }
    assert len(crossed) == len(journey.hops) - 1 >= 2
    assert {name: frames for name, frames in held.items() if frames} == crossed
    assert sum(packets for values in counted.values() for packets, _ in values) == len(journey.hops)


def test_counters_of_a_switch_are_those_that_the_steps_name(plan: Plan):
    journey = follow(plan, frame_of(plan.fabric))
    testbed = EmbeddedTestbed(plan.fabric)
    with booted(testbed, plan) as running:
        testbed.network.send(plan.fabric.node("npu5").index, journey.hops[0].frame_in, 0)
        testbed.run()
        for hop in journey.hops:
            named = Counter(
                (step.target.rpartition(".")[2], step.value) for step in hop.steps if step.name == "count"
            )
            read = {
                (counter, index): packets
                for counter in ("tx_by_port_vl", "drops")
                for index, (packets, _) in running.client.read_counter(hop.node, counter).items()
                if packets
            }
            assert read == named != {}


def test_the_steps_of_a_first_hop(plan: Plan):
    hop = follow(plan, frame_of(plan.fabric, bucket=3)).hops[0]
    assert tables(hop.steps) == ["arrival", "all_path", "departure", "vl_turn"]
    assert [step.name for step in hop.steps if step.kind == "state"] == [
        "start",
        "parse_ethernet",
        "parse_lph",
        "parse_nth",
    ]
    (lookup,) = (step.lookup for step in hop.steps if step.name.endswith(".all_path"))
    assert lookup is not None
    address = plan.fabric.node("npu10").address
    planned = next(
        entry
        for entry in plan.entries["npu5"]
        if entry.table == "all_path" and dict(entry.match) == {"dcna": Exact(address), "bucket": Exact(3)}
    )
    assert lookup.hit
    assert dict(lookup.params) == dict(planned.params)
    assert [(field.name, field.value, field.asked) for field in lookup.key] == [
        ("dcna", "0x000a", "0x000a"),
        ("bucket", "0x3", "0x3"),
    ]


def test_a_prefix_and_a_miss(plan: Plan):
    by_tables = follow(plan, frame_of(plan.fabric, "-")).hops[0].steps
    (segment,) = (step.lookup for step in by_tables if step.name.endswith(".segment"))
    assert segment is not None
    assert segment.key[0].asked.partition("/")[1] == "/"
    hop = follow(plan, frame_of(plan.fabric, "-", changed=("nth.dcna=0xffff",))).hops[0]
    (missed,) = (step.lookup for step in hop.steps if step.name.endswith(".segment"))
    assert missed is not None
    assert (missed.hit, missed.action.rpartition(".")[2], missed.key[0].asked) == (False, "no_route", "")


@pytest.mark.parametrize(
    ("route", "changed", "reason"),
    [
        (("npu4",), ("srh.ptr=12",), "HOPS"),
        (("npu4",), ("srh.bitmap=0xfe0",), "INSTRUCTIONS"),
        (("npu4",), ("srh.instr=99",), "NO_PORT"),
        (("npu4",), ("lph.cfg=3",), "CFG"),
        (("-",), ("nth.dcna=0xffff",), "NO_ROUTE"),
    ],
)
def test_a_drop_names_the_line_that_refused(
    plan: Plan, route: tuple[str, ...], changed: tuple[str, ...], reason: str
):
    (hop,) = follow(plan, frame_of(plan.fabric, *route, changed=changed)).hops
    assert hop.out is None
    decided = deciding_step(hop.steps)
    assert decided is not None
    assert decided.source is not None
    text = source_text(decided.source.file)
    assert text is not None
    assert f"REFUSE({reason})" in text.splitlines()[decided.source.line - 1]
    counted = [step.value for step in hop.steps if step.name == "count"]
    assert drop_reason(index for index in counted if index is not None) == hop.dropped


def test_a_frame_that_is_cut_short(plan: Plan):
    (hop,) = follow(plan, frame_of(plan.fabric)[:20]).hops
    assert hop.dropped == "it is cut short"
    (refused,) = (step for step in hop.steps if step.kind == "condition" and step.outcome)
    assert refused.source is not None
    assert refused.source.text == "std.parser_error != error.NoError"


def test_the_port_is_decided_by_an_instruction_or_by_the_tables(plan: Plan):
    hops = follow(plan, frame_of(plan.fabric, "npu4", "npu6", "-")).hops
    files = [step.source.file for hop in hops if (step := deciding_step(hop.steps)) and step.source]
    routes = "p4/control/route"
    assert files == [f"{routes}/source_route.p4"] * 2 + [f"{routes}/linear_route.p4"] * 2


def test_traced_switches_do_what_other_switches_do():
    """Compare frames out and counters, for frames with random changes, valid or not."""
    fabric = full_mesh((4, 4))
    plan = make_plan(fabric)
    rng = random.Random(20)
    frames = [frame_of(fabric, *route) for route in ((), ("npu4", "-"), ("npu6", "npu10"))]
    ran: list[list[object]] = []
    node = fabric.node("npu5").index
    changed = [damaged(rng, rng.choice(frames)) for _ in range(300)]
    for traced in (False, True):
        testbed = EmbeddedTestbed(fabric, traced=traced)
        with booted(testbed, plan):
            network = testbed.network
            out: list[object] = []
            for port, frame in changed:
                out.append(
                    network.trace(node, port, frame)[0] if traced else network.process(node, port, frame)
                )
            ran.append([*out, network.counter_read_all(node, 0), network.counter_read_all(node, 1)])
    assert ran[0] == ran[1]
    outputs = ran[0][:-2]
    assert 50 < sum(1 for sent in outputs if sent) < 250


def damaged(rng: random.Random, frame: bytes) -> tuple[int, bytes]:
    data = bytearray(frame)
    for _ in range(rng.randrange(3)):
        data[rng.randrange(12, len(data))] = rng.randrange(256)
    return rng.choice((0, 1, 2, 5)), bytes(data[: rng.choice((len(data), len(data), rng.randrange(60)))])


def test_a_member_of_a_selector_is_the_action_that_runs():
    fabric = find("lumos").build()
    plan = make_plan(fabric)
    names = list(fabric.host_ends())
    source, destination = names[0], names[-1]
    frame = bytes(craft(fabric, Order(source, destination, bucket=5, payload=bytes(8))))
    journey = walk(plan, frame, End(source, HOST_PORT), traced=True)
    assert journey.arrived
    chosen = [
        (hop, step.lookup)
        for hop in journey.hops
        for step in hop.steps
        if step.lookup is not None and step.name.endswith(".multipath")
    ]
    assert chosen
    for hop, lookup in chosen:
        assert (lookup.action.rpartition(".")[2], lookup.params) == ("set_egress_port", (("port", hop.out),))


def test_entries_of_another_table_in_place_of_the_planned(plan: Plan):
    """As a page does that follows a frame through the present tables of a fabric that runs."""
    testbed = EmbeddedTestbed(plan.fabric)
    frame = frame_of(plan.fabric, bucket=3)
    planned = follow(plan, frame)
    with booted(testbed, plan) as running:
        entries = Reread(running.client)
        assert walk(plan, frame, End("npu5", HOST_PORT), entries=entries, traced=True) == planned
    entries.without = "all_path"
    journey = walk(plan, frame, End("npu5", HOST_PORT), entries=entries)
    assert [hop.decided_by for hop in journey.hops] == ["tables"] * len(journey.hops)


class Reread(dict[str, list[Entry]]):
    """Entries of each node, read from its switch when they are asked for."""

    def __init__(self, client: P4RuntimeClient) -> None:
        self.client, self.without = client, ""

    def __missing__(self, node: str) -> list[Entry]:
        self[node] = self.client.read(node)
        return self[node]

    def __getitem__(self, node: str) -> list[Entry]:
        return [entry for entry in super().__getitem__(node) if entry.table != self.without]


def test_a_program_without_notes_is_not_traced():
    network = Network()
    switch = network.add_switch("plain")
    with pytest.raises(ValueError, match="plain has no program"):
        network.trace(switch, 0, bytes(60))
    network.set_program(switch, Program((PROGRAMS / "ub_npu.json").read_bytes()))
    with pytest.raises(ValueError, match="plain runs a program that is not traced"):
        network.trace(switch, 0, bytes(60))


class TestAnatomy:
    def test_parts_cover_a_frame_without_gaps(self, mesh: Fabric):
        for frame in (frame_of(mesh), frame_of(mesh, "npu4"), frame_of(mesh)[:23], bytes(60)):
            own = parts(mesh, frame)
            assert [part.start for part in own] == [0, *(part.stop for part in own[:-1])]
            assert own[-1].stop == len(frame)
        assert [part.name for part in parts(mesh, frame_of(mesh, "npu4"))] == [
            *("Ether", "LPH", "SRH", "NTH", "TPH", "CLH", PAYLOAD)
        ]

    def test_fields_that_differ(self, mesh: Fabric):
        before, after = frame_of(mesh, "npu4"), frame_of(mesh, "npu4", changed=("srh.ptr=3", "lph.vl=1"))
        assert changes(mesh, before, after) == (Change("LPH", "vl", "0", "1"), Change("SRH", "ptr", "0", "3"))
        assert changes(mesh, before, before) == ()
        removed = changes(mesh, before, frame_of(mesh))
        assert next(change for change in removed if change.header == "SRH") == Change("SRH", "ptr", "0", None)


class TestDocument:
    def test_it_has_lanes_bytes_changes_and_sources(self, plan: Plan):
        journey = follow(plan, frame_of(plan.fabric, "npu4", "npu6", "-"))
        document = json.loads(json.dumps(describe(plan.fabric, journey)))
        hops = document["hops"]
        assert [(hop["lane_in"], hop["lane_out"]) for hop in hops] == [(0, 0), (0, 1), (1, 1), (1, 1)]
        for hop, own in zip(hops, journey.hops, strict=True):
            assert bytes.fromhex(hop["frame_out"]["bytes"]) == own.frame_out
            assert hop["lane_out"] == Ether(own.frame_out)[LPH].vl
            assert hop["decided_at"]["text"] in document["sources"][hop["decided_at"]["file"]]
        assert hops[0]["changes"] == [{"header": "SRH", "field": "ptr", "before": "0", "after": "1"}]

    def test_a_source_is_a_file_of_ours(self):
        assert "control IngressValidation" in (source_text("p4/control/ingress_validation.p4") or "")
        assert source_text("p4/control/none.p4") is None
        assert source_text("../p4/control/ingress_validation.p4") is None
        assert source_text("p4/build/ub_npu.json") is None


class TestCommand:
    MESH = ("full-mesh", "--dims", "4x4")

    @pytest.fixture
    def capture(self, railyard: Railyard, tmp_path: Path) -> Path:
        arguments = ("--from", "npu5", "--to", "npu10", "--route", "npu4,npu6,-", "--out", "hops.pcapng")
        assert railyard("craft", *self.MESH, *arguments)[0] == 0
        return tmp_path / "hops.pcapng"

    def test_a_captured_frame_goes_on_from_its_port(self, railyard: Railyard, capture: Path):
        code, out, _ = railyard("follow", capture.name, "--help")
        assert code == 0
        code, out, _ = railyard(
            "follow", "full-mesh", capture, "--dims", "4x4", "--frame", "3", "--at", "npu6:1"
        )
        assert code == 0
        assert "npu10 delivers it to its host" in out
        assert "npu5" not in out.partition("hop ")[2]
        assert "ptr 2, bitmap 1100 0000 0000" in out

    def test_it_explains_each_hop(self, railyard: Railyard):
        code, out, _ = railyard("craft", *self.MESH, "--from", "npu5", "--to", "npu10", "--explain")
        assert code == 0
        assert "LPH.cfg: CNA16 -> source-route" in out
        assert "SRH.ptr: not there -> 1" in out
        assert "p4/control/ingress_validation.p4:25" in out
        assert "(decides)" in out

    def test_the_journey_as_json(self, railyard: Railyard, tmp_path: Path):
        arguments = ("craft", *self.MESH, "--from", "npu5", "--to", "npu10", "--json")
        code, out, _ = railyard(*arguments, "-")
        assert code == 0
        railyard(*arguments, "x.json")
        assert json.loads(out) == json.loads((tmp_path / "x.json").read_text())
        code, _, err = railyard(*arguments, "none/x.json")
        assert code == 3
        assert "none/x.json cannot be written: No such file" in err

    def test_a_frame_that_no_capture_has(self, railyard: Railyard, capture: Path, tmp_path: Path):
        code, _, err = railyard(
            "follow", "full-mesh", capture, "--dims", "4x4", "--frame", "9", "--at", "npu6:1"
        )
        assert code == 2
        assert "hops.pcapng has 5 frames; give" in err
        (tmp_path / "no.pcap").write_bytes(b"nothing")
        with pytest.raises(FrameError, match="cannot be read as a capture file"):
            read_frame(tmp_path / "no.pcap", 1)
        code, _, err = railyard("follow", "full-mesh", capture, "--dims", "4x4", "--at", "npu6:99")
        assert code == 2
        assert "names no port" in err

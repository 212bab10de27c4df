# SPDX-License-Identifier: Apache-2.0
"""Routing deadlock for real: one VL and any order on a lossless 4x4 mesh stops, two VLs with T2-G do not."""

import random
from pathlib import Path

import pytest
from scapy.layers.l2 import Ether
from scapy.packet import Raw

from controller.errors import DeadlockError
from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import DeadlockedError
from emulation.traffic.frames.layers import LPH, NTH
from emulation.traffic.frames.values import mac
from topologies import Fabric, full_mesh

BUILD = Path(__file__).parents[3] / "p4" / "build"
FRAMES_A_NODE = 1000
FRAME_BYTES = 500
HEAD = Ether(src=mac(0), dst=mac(0)) / LPH() / NTH()
# Without addresses; the source pushes an 8-byte source route.
BLANK = bytes(HEAD / Raw(bytes(FRAME_BYTES - len(HEAD) - 8)))


class Flood:
    """Sends all its frames at once, to random nodes over random paths, and counts what arrives."""

    def __init__(self, fabric: Fabric, own: int, chance: random.Random, level: int = 0) -> None:
        others = [node.address for node in fabric.nodes if node.address != own]
        self.frames = []
        for _ in range(FRAMES_A_NODE):
            to = chance.choice(others)
            frame = bytearray(BLANK)
            for at, address in ((4, to), (10, own), (18, own), (20, to)):
                frame[at : at + 2] = address.to_bytes(2)
            frame[24:26] = chance.randrange(16), level << 4
            self.frames.append((bytes(frame), 2 * level))
        self.received = 0

    def start(self, now: int) -> tuple[list[tuple[bytes, int]], None]:
        return self.frames, None

    def on_frame(self, frame: bytes, now: int) -> tuple[list[tuple[bytes, int]], None]:
        self.received += 1
        return [], None

    def on_timer(self, now: int) -> tuple[list[tuple[bytes, int]], None]:
        return [], None


def saturate(plan: Plan, seed: int, *levels: int) -> int:
    """Frames that arrived, of 16 NPUs that all send as fast as they can over buffers of one frame a VL.

    They take the service levels in turn.
    """
    files = ProgramFiles((BUILD / "ub_npu.json").read_bytes(), (BUILD / "ub_npu.p4info.txtpb").read_bytes())
    chance = random.Random(seed)
    floods = []
    with (
        EmbeddedTestbed(plan.fabric, credit_bytes=FRAME_BYTES) as testbed,
        P4RuntimeClient(testbed.address) as client,
    ):
        client.connect(testbed.device_ids)
        client.push_pipeline({node.name: files for node in plan.fabric.nodes})
        client.install(plan.entries)
        for number, node in enumerate(plan.fabric.nodes):
            level = levels[number % len(levels)] if levels else 0
            floods.append(Flood(plan.fabric, node.address, chance, level))
            testbed.attach(node.name, floods[-1])
        assert testbed.run()
    return sum(flood.received for flood in floods)


def test_one_vl_and_both_orders_is_refused_by_the_planner() -> None:
    with pytest.raises(DeadlockError) as caught:
        make_plan(full_mesh((4, 4)), rules="single-vl")
    assert len(caught.value.cycle) >= 3


def test_one_vl_and_both_orders_deadlocks_in_the_engine_and_the_cycle_is_real() -> None:
    fabric = full_mesh((4, 4))
    plan = make_plan(fabric, rules="single-vl", check=False)
    with pytest.raises(DeadlockedError) as caught:
        saturate(plan, seed=1)
    cycle = caught.value.cycle
    assert len(cycle) >= 3
    ends = [way.split("->") for _, way, _ in cycle]
    # Each channel ends where the next one begins, all on the one VL, each over the link it is said to be.
    assert [end for _, end in ends] == [begin for begin, _ in ends[1:] + ends[:1]]
    assert {vl for _, _, vl in cycle} == {0}
    assert all(
        {fabric.link(link).a.node, fabric.link(link).b.node} == set(way)
        for (link, _, _), way in zip(cycle, ends, strict=True)
    )
    assert "deadlock at" in str(caught.value)


def test_a_class_of_its_own_deadlocks_by_itself_on_its_own_lanes() -> None:
    plan = make_plan(full_mesh((4, 4)), rules="single-vl", check=False)
    with pytest.raises(DeadlockedError) as caught:
        saturate(plan, 1, 7)
    assert {vl for _, _, vl in caught.value.cycle} == {14}


def test_classes_side_by_side_deliver_every_frame() -> None:
    plan = make_plan(full_mesh((4, 4)), rules="T2-G")
    assert saturate(plan, 1, 0, 2, 5, 7) == 16 * FRAMES_A_NODE


@pytest.mark.parametrize("seed", [1, 2])
def test_two_vls_deliver_every_frame_of_the_same_traffic(seed: int) -> None:
    plan = make_plan(full_mesh((4, 4)), rules="T2-G")
    assert saturate(plan, seed) == 16 * FRAMES_A_NODE

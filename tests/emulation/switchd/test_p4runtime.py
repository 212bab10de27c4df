# SPDX-License-Identifier: Apache-2.0
"""P4Runtime controllers of railyard-switchd on veth pairs."""

import struct

import pytest
from finsy.proto import p4r

from tests.emulation.controller_stub import Controller
from tests.emulation.switchd.switchd_process import SwitchdProcess, on_interfaces, ports
from tests.emulation.switchd.wire_program import (
    CLONE,
    CLONE_ALL,
    COPIES,
    CPU,
    DIGEST,
    REPORT,
    config,
    frame_to,
    wishing,
)


@on_interfaces
def test_a_switch_without_a_program_waits_for_one(process: SwitchdProcess) -> None:
    process.start(*ports(process), "--device-id", "7", "--no-p4", "--cpu-port", str(CPU))
    process.send(0, frame_to(2))
    with Controller(process.address, device_id=7) as controller:
        controller.enter()
        controller.push(config())
        process.send(0, frame_to(3))
        assert process.receive(2) == frame_to(3)
        controller.send(packet=p4r.PacketOut(payload=frame_to(2, 80)))
        assert process.receive(1) == frame_to(2, 80)  # and nothing came before it
        process.send(0, frame_to(CPU, 70))
        assert controller.receive().packet.payload == frame_to(CPU, 70)


@on_interfaces
def test_two_switches_in_one_process(process: SwitchdProcess) -> None:
    """Port 1 of the first is wired to nothing of the second: frames cross only where their program says."""
    process.start("--switch", "1:1@s0,2@s1", "--switch", "2:1@s2", "--no-p4", "--cpu-port", str(CPU))
    with Controller(process.address, device_id=2) as second:
        second.enter()
        second.push(config())
        process.send(2, frame_to(1))
        assert process.receive(2) == frame_to(1)
        with Controller(process.address, device_id=1) as first:
            first.enter()
            first.push(config())
            process.send(0, frame_to(2, 90))
            assert process.receive(1) == frame_to(2, 90)
            process.send(0, frame_to(CPU, 70))
            assert first.receive().packet.payload == frame_to(CPU, 70)


@on_interfaces
@pytest.mark.parametrize("program", ["queue", "departures"])
def test_copies_clones_digests_and_idle_entries(process: SwitchdProcess, program: str) -> None:
    """`queue` is `departures` with an egress that reads of its queue, and so runs behind it."""
    process.start(*ports(process), "--no-p4")
    replicas = [p4r.Replica(egress_port=port, instance=1) for port in (2, 3)]
    copies = p4r.MulticastGroupEntry(multicast_group_id=1, replicas=replicas)
    clones = p4r.CloneSessionEntry(session_id=1, replicas=replicas[1:])
    entities = (
        p4r.PacketReplicationEngineEntry(multicast_group_entry=copies),
        p4r.PacketReplicationEngineEntry(clone_session_entry=clones),
    )
    with Controller(process.address, device_id=0) as controller:
        controller.enter()
        controller.push(config(program))
        controller.write(
            *(("INSERT", p4r.Entity(packet_replication_engine_entry=entity)) for entity in entities)
        )

        process.send(0, wishing(9, COPIES))
        assert process.receive(1) == process.receive(2) == wishing(9, COPIES)
        process.send(0, wishing(2, CLONE))
        assert process.receive(1) == process.receive(2) == wishing(2, CLONE)
        process.send(0, wishing(2, REPORT))
        reported = process.receive(1)
        assert reported[:2] + reported[14:] == wishing(2, REPORT)
        enqueued, waited, before, behind = struct.unpack(">IIHH", reported[2:14])
        assert (enqueued > 0) == (program == "queue")
        assert (before, behind) == (0, 0)
        assert waited < 1_000_000

        info = config(program)[1]
        learn = p4r.DigestEntry(digest_id=info.digests[0].preamble.id)
        learn.config.max_list_size = 1
        controller.write(("INSERT", p4r.Entity(digest_entry=learn)))
        process.send(0, wishing(2, DIGEST))
        (told,) = controller.receive().digest.data
        assert [member.bitstring for member in told.struct.members] == [b"\x02", bytes([DIGEST])]

        known = p4r.TableEntry(table_id=info.tables[0].preamble.id, idle_timeout_ns=1_000_000)
        known.match.add(field_id=1).exact.value = b"\x05"
        known.action.action.action_id = info.actions[0].preamble.id
        controller.write(("INSERT", p4r.Entity(table_entry=known)))
        (idle,) = controller.receive().idle_timeout_notification.table_entry
        assert idle.match == known.match


@on_interfaces
@pytest.mark.parametrize("program", ["queue", "departures"])
@pytest.mark.parametrize("sessions", [(2,), (2, 3)], ids=["one clone", "two clones"])
def test_clones_of_clones_keep_nobody_waiting(
    process: SwitchdProcess, program: str, sessions: tuple[int, ...]
) -> None:
    """Every frame is cloned by egress, and so is every clone: the switch gives up, says so and goes on."""
    process.start(*ports(process), "--no-p4", "--log-console")
    replicas = [p4r.Replica(egress_port=port, instance=at) for at, port in enumerate(sessions)]
    clones = p4r.CloneSessionEntry(session_id=1, replicas=replicas)
    session = p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(clone_session_entry=clones)
    )
    with Controller(process.address, device_id=0) as controller:
        controller.enter()
        controller.push(config(program))
        controller.write(("INSERT", session))
        process.send(0, wishing(2, CLONE_ALL))
        process.wait_for("device 0", "1000 times")
        for _ in range(64):
            process.send(0, wishing(2, CLONE_ALL))
        controller.write(("DELETE", session))
        process.send(2, wishing(1, 0))
        assert process.receive(0) == wishing(1, 0)
        controller.write(("INSERT", session))
        for _ in range(64):
            process.send(0, wishing(2, CLONE_ALL))
    code, told = process.stop()
    assert code == 0
    assert "failed" in told

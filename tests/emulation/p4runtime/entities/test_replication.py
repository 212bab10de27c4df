# SPDX-License-Identifier: Apache-2.0
"""The packet replication engine: multicast groups and clone sessions, and the frames they make."""

import pytest
from finsy.proto import p4r

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.every_entity import CLONE, CONFIG, MULTICAST, clone, frame, multicast, replica
from tests.emulation.p4runtime.messages import refusals

BOTH = p4r.Entity(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry())


def copies(bench: Bench, id: int) -> list[tuple[int, int]]:
    """Port and replication id of each copy."""
    return sorted((port, int.from_bytes(out[-4:])) for port, out in bench.ask(frame(MULTICAST, id)))


def test_a_group_is_where_its_frames_go(full: Controller, bench: Bench) -> None:
    assert copies(bench, 5) == []
    full.write(("INSERT", multicast(5, replica(1, 10), replica(1, 11), replica(300, 65535))))
    assert copies(bench, 5) == [(1, 10), (1, 11), (300, 65535)]
    full.write(("MODIFY", multicast(5, replica(2))))
    assert copies(bench, 5) == [(2, 0)]
    full.write(("DELETE", multicast(5)))
    assert copies(bench, 5) == []


def test_a_session_is_where_its_clones_go(full: Controller, bench: Bench) -> None:
    sent = frame(CLONE, 5, 1, 2)
    assert bench.ask(sent) == [(1, sent)]
    full.write(("INSERT", clone(5, replica(2), replica(3, 1), packet_length_bytes=4)))
    assert sorted(bench.ask(sent)) == [(1, sent), (2, sent[:4]), (3, sent[:4])]
    full.write(("MODIFY", clone(5, replica(4))))
    assert sorted(bench.ask(sent)) == [(1, sent), (4, sent)]
    full.write(("DELETE", clone(5)))
    assert bench.ask(sent) == [(1, sent)]


def test_reads(full: Controller) -> None:
    groups = [multicast(1, replica(1), metadata=b"note"), multicast(65535)]
    sessions = [clone(1, replica(2, 3), packet_length_bytes=100), clone(32767, replica(1))]
    full.write(*(("INSERT", item) for item in (*sessions, *groups)))
    assert full.read(BOTH) == [*groups, *sessions]
    assert full.read(multicast()) == groups
    assert full.read(clone()) == sessions
    assert full.read(multicast(1), clone(1), multicast(2), clone(2)) == [groups[0], sessions[0]]


def test_ports_in_either_form_are_read_in_that_form(full: Controller, bench: Bench) -> None:
    old = multicast(1, p4r.Replica(egress_port=7, instance=1), p4r.Replica(port=b"\0\0\x08", instance=2))
    full.write(("INSERT", old))
    assert copies(bench, 1) == [(7, 1), (8, 2)]
    old.packet_replication_engine_entry.multicast_group_entry.replicas[1].port = b"\x08"
    assert full.read(multicast(1)) == [old]


def test_backups_take_over_while_ports_are_down(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", multicast(1, replica(1, 10, (2, 20), (3, 30)), replica(4, 40))))
    full.write(("INSERT", clone(1, replica(1, 1, (5, 1)))))

    def port(number: int, up: bool) -> None:
        bench.server.deliver(("port", 0, 0, number, up, b""))

    assert copies(bench, 1) == [(1, 10), (4, 40)]
    port(1, False)
    assert copies(bench, 1) == [(2, 20), (4, 40)]
    assert {port for port, _ in bench.ask(frame(CLONE, 1))} == {1, 5}
    port(2, False)
    assert copies(bench, 1) == [(3, 30), (4, 40)]
    port(3, False)
    port(4, False)  # without a backup it stays where it is
    assert copies(bench, 1) == [(4, 40)]
    port(2, True)
    assert copies(bench, 1) == [(2, 20), (4, 40)]
    port(1, True)
    assert copies(bench, 1) == [(1, 10), (4, 40)]


def test_a_new_pipeline_has_none(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", multicast(1, replica(1))), ("INSERT", clone(1, replica(2))))
    full.push(CONFIG)
    assert full.read(BOTH) == []
    assert copies(bench, 1) == []
    assert len(bench.ask(frame(CLONE, 1))) == 1


@pytest.mark.parametrize(
    ("code", "kind", "bad"),
    [
        ("INVALID_ARGUMENT", "INSERT", BOTH),
        ("INVALID_ARGUMENT", "INSERT", multicast(0, replica(1))),
        ("INVALID_ARGUMENT", "INSERT", multicast(65536, replica(1))),
        ("ALREADY_EXISTS", "INSERT", multicast(1, replica(1))),
        ("NOT_FOUND", "MODIFY", multicast(2, replica(1))),
        ("NOT_FOUND", "DELETE", multicast(2)),
        ("INVALID_ARGUMENT", "INSERT", multicast(2, p4r.Replica(instance=1))),
        ("INVALID_ARGUMENT", "INSERT", multicast(2, replica(511))),
        ("INVALID_ARGUMENT", "INSERT", multicast(2, p4r.Replica(port=b"\xff\xff\xff\xfd"))),
        ("INVALID_ARGUMENT", "INSERT", multicast(2, replica(1, 65536))),
        ("INVALID_ARGUMENT", "MODIFY", multicast(1, replica(1, 2), replica(1, 2))),
        (
            "INVALID_ARGUMENT",
            "MODIFY",
            multicast(1, p4r.Replica(egress_port=1, instance=2), replica(1, 2)),
        ),
        ("INVALID_ARGUMENT", "MODIFY", multicast(1, replica(1, 2, (1, 3)))),
        ("INVALID_ARGUMENT", "MODIFY", multicast(1, replica(1, 2, (2, 3)), replica(2, 3))),
        ("INVALID_ARGUMENT", "INSERT", clone(0, replica(1))),
        ("INVALID_ARGUMENT", "INSERT", clone(32768, replica(1))),
        ("ALREADY_EXISTS", "INSERT", clone(1, replica(1))),
        ("NOT_FOUND", "MODIFY", clone(2, replica(1))),
        ("NOT_FOUND", "DELETE", clone(2)),
        ("INVALID_ARGUMENT", "INSERT", clone(2, replica(1), replica(1))),
        ("INVALID_ARGUMENT", "INSERT", clone(2, replica(1), packet_length_bytes=-1)),
        ("UNIMPLEMENTED", "INSERT", clone(2, replica(1), class_of_service=1)),
    ],
    ids=lambda value: " ".join(str(value).split()) if isinstance(value, p4r.Entity) else value,
)
def test_bad_update_is_refused_and_changes_nothing(
    full: Controller, bench: Bench, code: str, kind: str, bad: p4r.Entity
) -> None:
    full.write(("INSERT", multicast(1, replica(1))), ("INSERT", clone(1, replica(2))))
    before = full.read(BOTH), copies(bench, 1), copies(bench, 2)
    assert refusals(lambda: full.write((kind, bad))) == [code]
    assert (full.read(BOTH), copies(bench, 1), copies(bench, 2)) == before

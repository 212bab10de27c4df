# SPDX-License-Identifier: Apache-2.0
"""Arbitration: what clients are told and what they may do."""

from collections.abc import Iterator

import pytest
from finsy.proto import U128, p4r, rpc_code
from google.protobuf import any_pb2

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.messages import CONFIG, all_of, entry, exact, refused


@pytest.fixture
def elected(bench: Bench) -> Iterator[tuple[Controller, Controller]]:
    """A primary with the election id 9, and a backup with 2."""
    with (
        Controller(bench.address, election_id=9) as primary,
        Controller(bench.address, election_id=2) as backup,
    ):
        primary.enter()
        backup.enter()
        yield primary, backup


def test_first_becomes_primary_second_is_told_of_it(bench: Bench) -> None:
    with (
        Controller(bench.address, election_id=7) as first,
        Controller(bench.address, election_id=3) as second,
    ):
        answer = first.enter()
        assert (answer.status.code, U128.decode(answer.election_id)) == (rpc_code.OK, 7)
        answer = second.enter()
        assert (answer.status.code, U128.decode(answer.election_id)) == (rpc_code.ALREADY_EXISTS, 7)


def test_higher_id_takes_over_and_the_former_primary_may_not_write(bench: Bench) -> None:
    with Controller(bench.address, election_id=1 << 64) as old, Controller(bench.address) as new:
        old.enter()
        old.push(CONFIG)
        assert new.enter((1 << 64) + 1).status.code == rpc_code.OK
        told = old.receive().arbitration
        assert (told.status.code, U128.decode(told.election_id)) == (
            rpc_code.ALREADY_EXISTS,
            (1 << 64) + 1,
        )
        change = ("INSERT", entry("exact_table", exact(1, b"\x01")))
        assert refused(lambda: old.write(change))[0] == "PERMISSION_DENIED"
        assert refused(lambda: old.push(CONFIG))[0] == "PERMISSION_DENIED"
        new.write(change)
        assert len(new.read(all_of("exact_table"))) == 1


def test_leaving_primary_leaves_none_until_an_id_as_high_comes(bench: Bench) -> None:
    with Controller(bench.address, election_id=2) as backup:
        with Controller(bench.address, election_id=5) as primary:
            primary.enter()
            primary.push(CONFIG)
            assert backup.enter().status.code == rpc_code.ALREADY_EXISTS
        told = backup.receive().arbitration
        assert (told.status.code, U128.decode(told.election_id)) == (rpc_code.NOT_FOUND, 5)
        assert backup.enter(4).status.code == rpc_code.NOT_FOUND
        assert refused(backup.write)[0] == "PERMISSION_DENIED"
        assert backup.enter(5).status.code == rpc_code.OK


def test_primary_that_lowers_its_id_is_no_longer_primary(elected: tuple[Controller, Controller]) -> None:
    primary, backup = elected
    assert primary.enter(8).status.code == rpc_code.NOT_FOUND
    assert backup.receive().arbitration.status.code == rpc_code.NOT_FOUND


def test_a_primary_that_repeats_its_id_is_as_if_newly_elected(elected: tuple[Controller, Controller]) -> None:
    primary, backup = elected
    assert primary.enter().status.code == rpc_code.OK
    told = backup.receive().arbitration
    assert (told.status.code, U128.decode(told.election_id)) == (rpc_code.ALREADY_EXISTS, 9)


def test_a_backup_that_repeats_its_id_is_answered_alone(elected: tuple[Controller, Controller]) -> None:
    primary, backup = elected
    assert backup.enter(3).status.code == rpc_code.ALREADY_EXISTS
    # The answer to its own message comes next, nothing about the backup's.
    assert primary.enter().status.code == rpc_code.OK


def test_without_election_id_never_primary(bench: Bench) -> None:
    with Controller(bench.address, election_id=None) as standby:
        answer = standby.enter()
        assert answer.status.code == rpc_code.NOT_FOUND
        assert not answer.HasField("election_id")
        assert refused(standby.write)[0] == "PERMISSION_DENIED"


def test_election_id_zero_is_an_id(bench: Bench) -> None:
    with Controller(bench.address, election_id=0) as primary:
        assert primary.enter().status.code == rpc_code.OK


def test_devices_and_roles_elect_apart(bench: Bench) -> None:
    with (
        Controller(bench.address, 1) as item,
        Controller(bench.address, 2) as two,
        Controller(bench.address, 1, role="telemetry") as other_role,
    ):
        for controller in (item, two, other_role):
            answer = controller.enter()
            assert answer.status.code == rpc_code.OK
            assert answer.device_id == controller.device_id
            assert answer.role.name == controller.role


def test_unknown_role_in_a_write(client: Controller) -> None:
    client.role = "nobody"
    assert refused(client.write)[0] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (p4r.MasterArbitrationUpdate(device_id=99), "NOT_FOUND"),
        (p4r.MasterArbitrationUpdate(election_id=U128.encode(1)), "INVALID_ARGUMENT"),
        (p4r.MasterArbitrationUpdate(role=p4r.Role(config=any_pb2.Any(type_url="x"))), "INVALID_ARGUMENT"),
    ],
    ids=["unknown device", "election id in use", "role config"],
)
def test_bad_arbitration_ends_the_stream(
    client: Controller, bench: Bench, change: p4r.MasterArbitrationUpdate, code: str
) -> None:
    update = p4r.MasterArbitrationUpdate(device_id=1, election_id=U128.encode(5))
    update.MergeFrom(change)
    with Controller(bench.address) as other:
        other.send(arbitration=update)
        assert refused(other.receive)[0] == code
    assert client.enter().status.code == rpc_code.OK


def test_a_stream_keeps_its_device(client: Controller) -> None:
    client.device_id = 2
    assert refused(client.enter)[0] == "FAILED_PRECONDITION"

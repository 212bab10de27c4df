# SPDX-License-Identifier: Apache-2.0
"""Roles: each elects its own primary; one with a configuration has a part of the pipeline."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from finsy.proto import p4r, rpc_code, stratum
from google.protobuf.any_pb2 import Any as AnyMessage

from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import Bench
from tests.emulation.p4runtime.every_entity import (
    CONFIG,
    DIGEST,
    ID,
    TO_CONTROLLER,
    act,
    digest,
    entry,
    frame,
    multicast,
    to,
    whole,
)
from tests.emulation.p4runtime.messages import refusals, refused


def config(**rules: object) -> AnyMessage:
    packed = AnyMessage()
    packed.Pack(stratum.P4RoleConfig(**rules))  # pyright: ignore[reportArgumentType]
    return packed


def arbitration(role: str, election_id: int, rules: AnyMessage | None) -> p4r.MasterArbitrationUpdate:
    update = p4r.MasterArbitrationUpdate(device_id=1, role=p4r.Role(name=role, config=rules))
    update.election_id.low = election_id
    return update


class Roles:
    """Opens a stream a role on device 1."""

    def __init__(self, bench: Bench, stack: ExitStack) -> None:
        self._bench = bench
        self._stack = stack

    def open(self, role: str, rules: AnyMessage | None, election_id: int = 1) -> Controller:
        controller = Controller(self._bench.address, election_id=election_id, role=role)
        self._stack.enter_context(controller)
        controller.send(arbitration=arbitration(role, election_id, rules))
        return controller

    def enter(self, role: str, rules: AnyMessage | None, election_id: int = 1) -> Controller:
        controller = self.open(role, rules, election_id)
        answer = controller.receive().arbitration
        assert (answer.status.code, answer.role.name) == (rpc_code.OK, role)
        assert answer.role.config == (rules or AnyMessage())
        return controller


@pytest.fixture
def roles(bench: Bench, full: Controller) -> Iterator[Roles]:
    with ExitStack() as stack:
        yield Roles(bench, stack)


def test_a_role_writes_and_reads_what_it_has(roles: Roles, full: Controller) -> None:
    own = roles.enter("one", config(exclusive_p4_ids=[ID["initial"]], shared_p4_ids=[ID["frames"]]))
    mine, other = entry("initial", 2, to(5)), entry("ageing", 1, act("metered", 1))
    full.write(("INSERT", other))
    assert refusals(lambda: own.write(("MODIFY", mine), ("DELETE", other), ("INSERT", multicast(1)))) == [
        "OK",
        "PERMISSION_DENIED",
        "OK",
    ]
    request = p4r.ReadRequest(device_id=1, role="one", entities=[whole()])
    read = [entity for response in own.stub.Read(request) for entity in response.entities]
    assert {entity.table_entry.table_id for entity in read} == {ID["initial"]}
    assert len(full.read(whole())) > len(read)


def test_a_role_reads_only_its_own_counters(roles: Roles, full: Controller) -> None:
    own = roles.enter("one", config(exclusive_p4_ids=[ID["frames"]]))
    other = roles.enter("two", config(exclusive_p4_ids=[ID["initial"]]))
    wanted = p4r.Entity(counter_entry=p4r.CounterEntry(counter_id=ID["frames"]))

    def read(role: str, controller: Controller) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=1, role=role, entities=[wanted])
        return [entity for response in controller.stub.Read(request) for entity in response.entities]

    assert len(read("one", own)) == len(read("", full)) > 1
    assert read("two", other) == []
    assert refused(lambda: read("three", own))[0] == "NOT_FOUND"


def test_without_a_configuration_everything_is_allowed(roles: Roles) -> None:
    roles.enter("one", config(exclusive_p4_ids=[ID["initial"]]))
    other = roles.enter("two", None)
    other.write(("MODIFY", entry("initial", 2, to(5))))
    other.push(CONFIG)


def test_only_a_role_that_may_pushes_a_pipeline(roles: Roles) -> None:
    may, may_not = roles.enter("one", config(can_push_pipeline=True)), roles.enter("two", config())
    may.push(CONFIG)
    assert refused(lambda: may_not.push(CONFIG))[0] == "PERMISSION_DENIED"


def test_packet_ins_go_where_they_are_wanted(roles: Roles, full: Controller, bench: Bench) -> None:
    port = stratum.P4RoleConfig.PacketFilter(metadata_id=1, value=b"\x00\x07")
    all_of, some = (
        roles.enter("one", config(receives_packet_ins=True)),
        roles.enter("two", config(receives_packet_ins=True, packet_in_filter=port)),
    )
    none = roles.enter("three", config())
    for port_number in (6, 7):
        out = bench.ask(frame(TO_CONTROLLER), port=port_number)
        for _, packet in out:
            bench.server.packet_in(1, packet)

    def seen(controller: Controller, count: int) -> list[bytes]:
        return [controller.receive().packet.metadata[0].value for _ in range(count)]

    assert (seen(full, 2), seen(all_of, 2), seen(some, 1)) == (
        [b"\x06", b"\x07"],
        [b"\x06", b"\x07"],
        [b"\x07"],
    )
    none.send(arbitration=arbitration("three", 1, config()))
    assert none.receive().WhichOneof("update") == "arbitration"


def test_notifications_go_to_the_roles_that_have_their_subject(
    roles: Roles, full: Controller, bench: Bench
) -> None:
    has = roles.enter("one", config(shared_p4_ids=[ID["seen_t"]]))
    has_not = roles.enter("two", config(shared_p4_ids=[ID["initial"]]))
    has.write(("INSERT", digest()))
    bench.send(frame(DIGEST, 0, 7))
    assert full.receive().digest.list_id == has.receive().digest.list_id == 1
    ack = p4r.DigestListAck(digest_id=ID["seen_t"], list_id=1)
    has_not.send(digest_ack=ack)
    assert has_not.receive().error.canonical_code == rpc_code.PERMISSION_DENIED


def test_what_is_exclusive_is_of_one_role(roles: Roles) -> None:
    roles.enter("one", config(exclusive_p4_ids=[1], shared_p4_ids=[2]))
    roles.enter("two", config(exclusive_p4_ids=[3], shared_p4_ids=[2]))
    for number, rules in enumerate([config(exclusive_p4_ids=[2]), config(shared_p4_ids=[1])]):
        controller = roles.open(f"other{number}", rules)
        assert refused(controller.receive)[0] == "INVALID_ARGUMENT"


def test_all_of_a_role_are_told_when_its_primary_changes_its_configuration(roles: Roles) -> None:
    primary = roles.enter("one", None, election_id=5)
    backup = roles.open("one", config(can_push_pipeline=True), election_id=1)
    # What a backup sends is checked and has no effect.
    assert not backup.receive().arbitration.role.HasField("config")
    rules = config(can_push_pipeline=True)
    primary.send(arbitration=arbitration("one", 5, rules))
    for controller in (primary, backup):
        assert controller.receive().arbitration.role.config == rules


@pytest.mark.parametrize(
    "rules",
    [
        AnyMessage(type_url="x"),
        AnyMessage(type_url="type.googleapis.com/stratum.P4RoleConfig", value=b"\xff"),
    ],
    ids=["another type", "not parsable"],
)
def test_configurations_of_another_form(roles: Roles, rules: AnyMessage) -> None:
    assert refused(roles.open("one", rules).receive)[0] == "INVALID_ARGUMENT"


def test_reads_of_a_role_that_is_not_there(full: Controller) -> None:
    request = p4r.ReadRequest(device_id=1, role="nobody", entities=[whole()])
    assert refused(lambda: list(full.stub.Read(request)))[0] == "NOT_FOUND"

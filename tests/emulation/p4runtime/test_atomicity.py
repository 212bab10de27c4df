# SPDX-License-Identifier: Apache-2.0
"""Batches: what is refused changes nothing, and all-or-none is all or none, whatever the updates."""

import random
import threading
from collections.abc import Iterable, Iterator

import grpc
import pytest
from finsy.proto import p4r, rpc_code
from google.protobuf.message import DecodeError

from emulation._engine import Network
from emulation.p4runtime import P4RuntimeServer
from tests.emulation.controller_stub import Controller, LocalController, details_of
from tests.emulation.p4runtime.every_entity import (
    CONFIG,
    EVERYTHING,
    act,
    clone,
    counter,
    digest,
    entry,
    flow,
    group,
    key,
    member,
    meter,
    multicast,
    one_shot,
    rates,
    register,
    replica,
    to,
    to_group,
    to_member,
    value_set,
)
from tests.emulation.p4runtime.messages import refusals, refused

Change = tuple[str, p4r.Entity]
ALL_OR_NONE = ("ROLLBACK_ON_ERROR", "DATAPLANE_ATOMIC")

METERED = act("metered", 1)
COUNTS = p4r.CounterData(packet_count=3, byte_count=4)
STATE: list[Change] = [
    *(("INSERT", member("paths", id, to(id))) for id in (1, 2, 3)),
    ("INSERT", member("next_hops", 1, to(1))),
    ("INSERT", group("paths", 1, (1, 1), (2, 1), max_size=3)),
    ("INSERT", entry("by_selector", 1, to_group(1), metadata=b"note")),
    ("INSERT", entry("by_selector", 2, to_member(3))),
    ("INSERT", entry("by_profile", 1, to_member(1))),
    ("INSERT", entry("by_weight", 1, one_shot((to(1), 1), (to(2), 100)), metadata=b"set")),
    (
        "INSERT",
        entry(
            "ageing", 1, METERED, counter_data=COUNTS, meter_config=rates(1, 2, 3, 4), idle_timeout_ns=10**15
        ),
    ),
    ("MODIFY", p4r.Entity(table_entry=key("ageing", is_default_action=True, metadata=b"default"))),
    ("MODIFY", counter(1, 5, 6)),
    ("MODIFY", meter("packet_meter", 1, rates(1, 2, 3, 4))),
    ("MODIFY", register("wide", 1, b"\x01\x02")),
    ("INSERT", multicast(1, replica(1, 1), replica(2, 1), metadata=b"group")),
    ("INSERT", clone(1, replica(3), packet_length_bytes=9)),
    ("INSERT", digest(1, 2, 3)),
    ("MODIFY", value_set([flow(7)])),
]


def state(controller: Controller) -> list[bytes]:
    """All that can be read, in an order of its own."""
    return in_order(controller.read(*EVERYTHING))


def in_order(entities: Iterable[p4r.Entity]) -> list[bytes]:
    return sorted(entity.SerializeToString(deterministic=True) for entity in entities)


def mode(atomicity: str) -> dict[str, int]:
    return {"atomicity": p4r.WriteRequest.Atomicity.Value(atomicity)}


def codes(controller: Controller, changes: list[Change], atomicity: str) -> list[int]:
    """The canonical code of each update."""
    try:
        controller.write(*changes, **mode(atomicity))
    except grpc.RpcError as error:
        return [item.canonical_code for item in details_of(error)]
    return [rpc_code.OK] * len(changes)


@pytest.mark.parametrize("atomicity", ALL_OR_NONE)
def test_all(full: Controller, atomicity: str) -> None:
    full.write(*STATE, **mode(atomicity))
    before = state(full)
    full.push(CONFIG)
    full.write(*STATE)
    assert state(full) == before


BAD: Change = ("INSERT", entry("ageing", 9, act("metered", 1 << 9)))
UNDONE: list[Change] = [
    ("DELETE", entry("by_selector", 1, to_group(1))),
    ("DELETE", group("paths", 1)),
    ("DELETE", member("paths", 1)),
    ("MODIFY", member("paths", 2, act("mark", 1, 2))),
    ("INSERT", member("paths", 9, to(9))),
    ("MODIFY", entry("by_selector", 2, to_member(9))),
    ("MODIFY", entry("by_weight", 1, one_shot((to(3), 1)))),
    ("DELETE", entry("by_weight", 1, one_shot())),
    ("INSERT", member("weighted", 1, to(1))),
    ("INSERT", entry("by_weight", 1, to_member(1))),
    ("MODIFY", entry("ageing", 1, act("drop"))),
    ("DELETE", entry("ageing", 1, METERED)),
    ("INSERT", entry("ageing", 1, METERED, metadata=b"other")),
    ("MODIFY", entry("ageing", 1, act("drop"), counter_data=p4r.CounterData())),
    ("MODIFY", p4r.Entity(table_entry=key("ageing", is_default_action=True, action=None))),
    ("MODIFY", p4r.Entity(table_entry=key("fixed", 0x10, priority=2, counter_data=COUNTS))),
    ("DELETE", entry("initial", 2, to(2))),
    ("MODIFY", counter(None, 7, 7)),
    ("MODIFY", meter("packet_meter", 1)),
    ("MODIFY", register("wide", None, b"\x09")),
    ("MODIFY", multicast(1, replica(5))),
    ("DELETE", multicast(1)),
    ("INSERT", multicast(2, replica(5))),
    ("DELETE", clone(1)),
    ("MODIFY", digest(7, 8, 9)),
    ("DELETE", digest()),
    ("MODIFY", value_set([flow(8)], [flow(9)])),
]


@pytest.mark.parametrize("atomicity", ALL_OR_NONE)
def test_none(full: Controller, atomicity: str) -> None:
    """Every kind of update is undone when a later one fails, and each is told what became of it."""
    full.write(*STATE)
    before = state(full)
    with pytest.raises(grpc.RpcError) as caught:
        full.write(*UNDONE, BAD, ("INSERT", multicast(3)), **mode(atomicity))
    errors = details_of(caught.value)
    aborted, failed = rpc_code.ABORTED, rpc_code.OUT_OF_RANGE
    assert [error.canonical_code for error in errors] == [*[aborted] * len(UNDONE), failed, aborted]
    assert str(len(UNDONE)) in errors[0].message
    assert state(full) == before
    full.write(*UNDONE)  # each of them would have gone through
    assert state(full) != before


def test_what_is_saved_and_not_committed_is_undone_too(full: Controller) -> None:
    full.push(CONFIG, "VERIFY_AND_SAVE")
    full.write(*STATE, **mode("DATAPLANE_ATOMIC"))
    before = state(full)
    assert rpc_code.ABORTED in codes(full, [*UNDONE, BAD], "DATAPLANE_ATOMIC")
    full.push(None, "COMMIT")
    assert state(full) == before


def test_unknown_atomicity(full: Controller) -> None:
    assert refused(lambda: full.write(*STATE, atomicity=9))[0] == "INVALID_ARGUMENT"
    assert full.read(member("")) == []


def test_without_updates(full: Controller) -> None:
    for atomicity in ("CONTINUE_ON_ERROR", *ALL_OR_NONE):
        full.write(**mode(atomicity))


def test_externs(full: Controller) -> None:
    entity = p4r.Entity(extern_entry=p4r.ExternEntry(extern_type_id=0x81))
    assert refusals(lambda: full.write(("INSERT", entity))) == ["UNIMPLEMENTED"]
    assert refusals(lambda: full.read(entity)) == ["UNIMPLEMENTED"]


# -- any updates at all


class Updates:
    """Random updates for what is there on a device. A share is `bad`: of any kind, with bytes changed."""

    def __init__(self, seed: int, bad: float) -> None:
        self._random = random.Random(seed)
        self._bad = bad

    def batch(self, present: Iterable[p4r.Entity]) -> list[Change]:
        there = {_identity(entity) for entity in present}
        return [self._change(there) for _ in range(self._random.randint(1, 12))]

    def _change(self, there: set[object]) -> Change:
        entity = self._random.choice(
            (self._entry, self._entry, self._member, self._group, self._array, self._replication, self._other)
        )()
        if self._rarely():
            return self._random.choice(KINDS), self._corrupted(entity)
        identity = _identity(entity)
        if identity is None:
            return "MODIFY", entity
        if identity not in there:
            there.add(identity)
            return "INSERT", entity
        if self._random.random() < 0.5:
            return "MODIFY", entity
        there.discard(identity)
        return "DELETE", entity

    def _rarely(self) -> bool:
        return self._random.random() < self._bad

    def _corrupted(self, entity: p4r.Entity) -> p4r.Entity:
        octets = bytearray(entity.SerializeToString())
        for _ in range(self._random.randint(0, 3)):
            octets[self._random.randrange(len(octets))] = self._random.randrange(256)
        try:
            return p4r.Entity.FromString(bytes(octets))
        except DecodeError:
            return entity

    def _id(self) -> int:
        return self._random.randint(0 if self._rarely() else 1, 3)

    def _action(self) -> p4r.Action:
        return self._random.choice((to(self._id()), act("mark", self._id(), self._id())))

    def _rates(self) -> p4r.MeterConfig:
        return rates(self._id(), self._id(), self._id() + 2, self._id())

    def _entry(self) -> p4r.Entity:
        table = self._random.choice(("ageing", "by_profile", "by_selector", "by_weight", "initial"))
        if table == "ageing":
            created = entry(table, self._id(), self._random.choice((METERED, act("drop"))))
            if self._random.random() < 0.5:
                created.table_entry.meter_config.CopyFrom(self._rates())
                created.table_entry.counter_data.packet_count = self._id()
                created.table_entry.idle_timeout_ns = 10**15 * self._id()
        elif table == "by_weight":
            parts = [(self._action(), self._id()) for _ in range(self._random.randint(0, 3))]
            created = entry(table, self._id(), one_shot(*parts))
        elif table == "initial":
            created = entry(table, self._id(), to(self._id()))
        else:
            pointers = (to_member, to_group) if table == "by_selector" else (to_member,)
            created = entry(table, self._id(), self._random.choice(pointers)(self._id()))
        if self._random.random() < 0.3:
            created.table_entry.metadata = bytes([self._id()])
        if self._random.random() < 0.1:
            created.table_entry.is_default_action = True
            created.table_entry.ClearField("match")
            created.table_entry.priority = 0
        return created

    def _member(self) -> p4r.Entity:
        return member(self._random.choice(("next_hops", "paths")), self._id(), self._action())

    def _group(self) -> p4r.Entity:
        members = self._random.sample((1, 2, 3), self._random.randint(0, 3))
        return group("paths", self._id(), *((member, 1) for member in members))

    def _array(self) -> p4r.Entity:
        index = self._random.choice((None, 0, 1, 2, 3, 4))
        return self._random.choice(
            (
                counter(index, self._id(), self._id()),
                meter("byte_meter", index, self._rates()),
                meter("packet_meter", index),
                register("wide", index, self._random.randbytes(self._random.randint(1, 13))),
                register("narrow", index, self._random.randbytes(1)),
            )
        )

    def _replication(self) -> p4r.Entity:
        replicas = [replica(self._id(), self._id()) for _ in range(self._random.randint(0, 2))]
        return self._random.choice((multicast, clone))(self._id(), *replicas)

    def _other(self) -> p4r.Entity:
        constant = key("fixed", 0x10, priority=2, counter_data=p4r.CounterData(packet_count=self._id()))
        flows = [[flow(number)] for number in self._random.sample((1, 2, 3), self._random.randint(0, 3))]
        return self._random.choice(
            (digest(self._id(), self._id(), self._id()), p4r.Entity(table_entry=constant), value_set(*flows))
        )


KINDS = ("INSERT", "MODIFY", "DELETE")


def _identity(entity: p4r.Entity) -> object:
    """Return the identity of an entity; None for an entity that can only be modified."""
    match entity.WhichOneof("entity"):
        case "table_entry":
            item = entity.table_entry
            if item.is_default_action or item.table_id == key("fixed").table_id:
                return None
            return item.table_id, item.priority, str(item.match)
        case "action_profile_member":
            return (
                "member",
                entity.action_profile_member.action_profile_id,
                entity.action_profile_member.member_id,
            )
        case "action_profile_group":
            return (
                "group",
                entity.action_profile_group.action_profile_id,
                entity.action_profile_group.group_id,
            )
        case "packet_replication_engine_entry":
            item = entity.packet_replication_engine_entry
            return item.multicast_group_entry.multicast_group_id, item.clone_session_entry.session_id
        case "digest_entry":
            return "digest"
    return None


@pytest.fixture
def twins() -> Iterator[tuple[Controller, Controller]]:
    """The primaries of two devices with the same program and state.

    Thousands of calls need no sockets, over which the tests above show the same.
    """
    network = Network()
    switches = {device: network.add_switch(f"switch{device}") for device in (1, 2)}
    server = P4RuntimeServer(network, switches, None, lock=threading.RLock())
    address = server.start()
    with LocalController(address) as first, LocalController(address, device_id=2) as second:
        for controller in (first, second):
            controller.enter()
            controller.push(CONFIG)
            controller.write(*STATE)
        yield first, second
    server.stop()


@pytest.mark.parametrize("seed", range(30))
def test_refused_updates_change_nothing(twins: tuple[Controller, Controller], seed: int) -> None:
    """A device that is sent everything is as one that is sent only what the first one took."""
    updates = Updates(seed, bad=0.3)
    for _ in range(10):
        present = twins[0].read(*EVERYTHING)
        before = in_order(present)
        batch = updates.batch(present)
        result = codes(twins[0], batch, "CONTINUE_ON_ERROR")
        taken = [change for change, code in zip(batch, result, strict=True) if code == rpc_code.OK]
        assert taken or state(twins[0]) == before
        assert set(codes(twins[1], taken, "CONTINUE_ON_ERROR")) <= {rpc_code.OK}
        assert state(twins[0]) == state(twins[1])


@pytest.mark.parametrize("seed", range(100, 130))
def test_all_or_none_whatever_the_updates(twins: tuple[Controller, Controller], seed: int) -> None:
    """A device that takes all or none of a batch is as one that is sent only those of which it took all."""
    updates = Updates(seed, bad=0.05)
    for number in range(20):
        present = twins[0].read(*EVERYTHING)
        before = in_order(present)
        batch = updates.batch(present)
        result = codes(twins[0], batch, ALL_OR_NONE[number % 2])
        if set(result) == {rpc_code.OK}:
            assert set(codes(twins[1], batch, "CONTINUE_ON_ERROR")) == {rpc_code.OK}
            assert state(twins[0]) == state(twins[1])
        else:
            assert result.count(rpc_code.ABORTED) == len(batch) - 1
            assert state(twins[0]) == before

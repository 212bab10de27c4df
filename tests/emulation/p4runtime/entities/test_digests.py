# SPDX-License-Identifier: Apache-2.0
"""Digests: when a list is sent, what is in it, and what is not sent again."""

import threading
import tracemalloc
from collections.abc import Callable

import pytest
from finsy.proto import p4d, p4r, p4t, rpc_code

from emulation._engine import Network
from emulation.errors import ProgramError
from emulation.p4runtime import P4RuntimeServer
from emulation.p4runtime.entities import digests as digests_module
from emulation.p4runtime.entities.digests import Digests
from emulation.p4runtime.pipeline.pipelines import Pipelines
from emulation.p4runtime.pipeline.values import value_type
from tests.emulation.controller_stub import Controller
from tests.emulation.p4runtime.conftest import CONTROL, Bench
from tests.emulation.p4runtime.every_entity import CONFIG, DIGEST, ID, INFO, digest, frame
from tests.emulation.p4runtime.messages import refusals

READ = p4r.Entity(digest_entry=p4r.DigestEntry())


class Timers:
    """A clock that stands until it is moved, and calls back on the way."""

    def __init__(self) -> None:
        self.now = 0
        self._due: list[tuple[int, Callable[[], None]]] = []

    def now_ns(self) -> int:
        return self.now

    def timestamp_ns(self) -> int:
        return self.now

    def later(self, delay_ns: int, callback: Callable[[], None]) -> None:
        self._due.append((self.now + delay_ns, callback))

    def pass_to(self, now: int) -> None:
        for at, callback in sorted(self._due, key=lambda item: item[0]):
            if at <= now:
                self._due.remove((at, callback))
                self.now = at
                callback()
        self.now = now


class Learner:
    """The digests of a pipeline, fed by hand. Messages are their `flow`, lists come as (id, messages)."""

    def __init__(self) -> None:
        self.clock = Timers()
        self.lists: list[p4r.DigestList] = []
        config = p4r.ForwardingPipelineConfig(p4_device_config=CONFIG[0], p4info=INFO)
        pipeline = Pipelines().load(config)
        self.handle = pipeline.digests[ID["seen_t"]].handle
        self.digests = Digests(pipeline, self.clock, lambda _, message: self.lists.append(message.digest))

    def write(self, kind: int, **config: int) -> None:
        self.digests.write(kind, digest(**config).digest_entry)

    def insert(self, **config: int) -> None:
        self.write(p4r.Update.INSERT, **config)

    def learn(self, *flows: int) -> None:
        for flow in flows:
            self.digests.learn(self.handle, b"\x00\x01" + flow.to_bytes(2) + bytes(4))

    def ack(self, list_id: int) -> None:
        self.digests.acknowledge(p4r.DigestListAck(digest_id=ID["seen_t"], list_id=list_id))

    @property
    def sent(self) -> list[list[int]]:
        lists, self.lists = self.lists, []
        return [[int.from_bytes(item.struct.members[1].bitstring) for item in sent.data] for sent in lists]


@pytest.fixture
def learner() -> Learner:
    return Learner()


def test_nothing_is_sent_that_nobody_asked_for(learner: Learner) -> None:
    learner.learn(1)
    learner.insert()
    learner.learn(2)
    learner.write(p4r.Update.DELETE)
    learner.learn(3)
    assert learner.sent == [[2]]


def test_a_full_list_is_sent_and_a_late_one(learner: Learner) -> None:
    learner.insert(timeout_ns=100, size=3)
    learner.learn(1, 2, 3, 4)
    assert learner.sent == [[1, 2, 3]]
    learner.clock.pass_to(99)
    learner.learn(5)
    assert learner.sent == []
    learner.clock.pass_to(100)
    assert learner.sent == [[4, 5]]
    learner.clock.pass_to(150)
    learner.learn(6)
    learner.clock.pass_to(249)  # the timer of the list before this one is of no consequence
    assert learner.sent == []
    learner.clock.pass_to(250)
    assert learner.sent == [[6]]


@pytest.mark.parametrize("config", [{"size": 1, "timeout_ns": 1000}, {"size": 10}, {}])
def test_one_at_a_time(learner: Learner, config: dict[str, int]) -> None:
    learner.insert(**config)
    learner.learn(1, 2)
    assert learner.sent == [[1], [2]]


def test_lists_without_a_size_have_one_all_the_same(learner: Learner) -> None:
    learner.insert(timeout_ns=10**12)
    learner.learn(*range(2500))
    assert sum(map(len, learner.sent)) > 0


def test_the_same_is_sent_again_only_once_acknowledged_or_timed_out(learner: Learner) -> None:
    learner.insert(ack_ns=100)
    learner.learn(1, 1, 2)
    assert [item.list_id for item in learner.lists] == [1, 2]
    assert learner.sent == [[1], [2]]
    learner.ack(1)
    learner.learn(1, 2)
    assert learner.sent == [[1]]
    learner.clock.pass_to(99)
    learner.learn(1, 2)
    assert learner.sent == []
    learner.clock.pass_to(100)
    learner.learn(1, 2)
    assert learner.sent == [[1], [2]]


def test_no_list_has_the_same_twice_though_nothing_waits_for_an_acknowledgement(learner: Learner) -> None:
    learner.insert(timeout_ns=100, size=3)
    learner.learn(1, 1, 2, 1, 3)
    learner.learn(1)
    learner.clock.pass_to(100)
    assert learner.sent == [[1, 2, 3], [1]]


def test_another_configuration_sends_what_was_gathered_under_the_old(learner: Learner) -> None:
    learner.insert(timeout_ns=100, size=10, ack_ns=1000)
    learner.learn(1)
    learner.write(p4r.Update.MODIFY, timeout_ns=10**9, size=2, ack_ns=1000)
    assert learner.sent == [[1]]
    learner.learn(2, 1)
    learner.clock.pass_to(100)
    assert learner.sent == []
    learner.learn(3)
    assert learner.sent == [[2, 3]]


def test_a_new_primary_is_told_of_what_another_was_told(learner: Learner) -> None:
    learner.insert(ack_ns=100)
    learner.learn(1)
    learner.digests.primary_changed()
    learner.learn(1)
    assert learner.sent == [[1], [1]]


def test_lists_that_wait_for_an_acknowledgement_do_not_cost_the_next_message(learner: Learner) -> None:
    learner.insert(ack_ns=10**9)
    learner.learn(*range(10_000))
    learner.sent.clear()
    tracemalloc.start()
    try:
        learner.learn(20_000)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert learner.sent == [[20_000]]
    assert peak < 100_000  # bytes; a list of what waits would take six times that
    learner.clock.pass_to(10**9)
    learner.learn(5, 6)
    assert learner.sent == [[5], [6]]


def test_of_too_many_unacknowledged_messages_the_oldest_lists_are_forgotten(
    learner: Learner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(digests_module, "_MOST_KNOWN", 4)
    learner.insert(timeout_ns=10**6, size=2, ack_ns=10**9)
    learner.learn(1, 2, 3, 4)
    learner.learn(1, 2, 3, 4)
    assert learner.sent == [[1, 2], [3, 4]]
    learner.learn(5, 6)
    learner.learn(1, 3, 2, 4)
    assert learner.sent == [[5, 6], [1, 2]]


# -- through the server


def test_from_the_program_to_the_controller_and_back(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", digest(ack_ns=10**15)))
    for _ in range(2):
        bench.send(frame(DIGEST, 0, 0x1234, 0xAB), port=257)
    bench.send(frame(DIGEST, 0, 1), port=0)
    first, second = full.receive().digest, full.receive().digest
    assert (first.digest_id, first.list_id, second.list_id) == (ID["seen_t"], 1, 2)
    assert first.timestamp > 1 << 60
    members = [[member.bitstring for member in sent.data[0].struct.members] for sent in (first, second)]
    assert members == [[b"\x01\x01", b"\x12\x34", b"\xab"], [b"\x00", b"\x01", b"\x00"]]
    full.send(digest_ack=p4r.DigestListAck(digest_id=ID["seen_t"], list_id=1))
    assert full.enter().status.code == rpc_code.OK
    bench.send(frame(DIGEST, 0, 0x1234, 0xAB), port=257)
    assert full.receive().digest.list_id == 3


def test_a_list_is_sent_after_its_time(full: Controller, bench: Bench) -> None:
    full.write(("INSERT", digest(timeout_ns=1_000_000, size=100)))
    bench.send(frame(DIGEST, 0, 7))
    assert len(full.receive().digest.data) == 1


def test_a_list_is_sent_after_its_virtual_time() -> None:
    network, lock, alarms = Network(), threading.RLock(), list[Callable[[], None]]()

    def at(time_ps: int, callback: Callable[[], None]) -> None:
        alarms.append(callback)
        network.alarm(time_ps, len(alarms) - 1)

    server = P4RuntimeServer(network, {1: network.add_switch("one")}, lock=lock, at=at)
    with Controller(server.start()) as controller:
        controller.enter()
        controller.push(CONFIG)
        controller.write(("INSERT", digest(timeout_ns=1_000_000_000, size=100)))
        with lock:
            network.send(network.attach_host(0, 1, 10**12, 0, 0), frame(DIGEST), 0)
            while network.run(10**15) == CONTROL:
                while item := network.take_control():
                    alarms[item[3]]() if item[0] == "alarm" else server.deliver(item)
        # 8 bytes take 64 ps to arrive.
        assert controller.receive().digest.timestamp == 1_000_000_000
    server.stop()


def test_configurations(full: Controller) -> None:
    assert full.read(READ) == []
    full.write(("INSERT", digest(1, 2, 3)))
    assert full.read(READ) == full.read(digest()) == [digest(1, 2, 3)]
    full.write(("MODIFY", digest(4, 5, 6)))
    assert full.read(READ) == [digest(4, 5, 6)]
    assert refusals(
        lambda: full.write(
            ("INSERT", digest()),
            ("MODIFY", digest(timeout_ns=-1)),
            ("MODIFY", digest(size=-1)),
            ("MODIFY", digest(ack_ns=-1)),
            ("MODIFY", READ),
        )
    ) == ["ALREADY_EXISTS", *["INVALID_ARGUMENT"] * 4]
    assert full.read(READ) == [digest(4, 5, 6)]
    full.write(("DELETE", digest()))
    assert refusals(lambda: full.write(("MODIFY", digest()), ("DELETE", digest()))) == ["NOT_FOUND"] * 2
    unknown = p4r.Entity(digest_entry=p4r.DigestEntry(digest_id=5))
    assert refusals(lambda: full.read(unknown)) == ["INVALID_ARGUMENT"]


@pytest.mark.parametrize(
    ("digest_id", "primary", "code"),
    [(5, True, rpc_code.INVALID_ARGUMENT), (ID["seen_t"], False, rpc_code.PERMISSION_DENIED)],
    ids=["unknown digest", "not the primary"],
)
def test_bad_acknowledgements_are_answered(
    full: Controller, bench: Bench, digest_id: int, primary: bool, code: int
) -> None:
    with Controller(bench.address, election_id=0) as backup:
        backup.enter()
        ack = p4r.DigestListAck(digest_id=digest_id, list_id=1)
        sender = full if primary else backup
        sender.send(digest_ack=ack)
        error = sender.receive().error
        assert (error.canonical_code, error.digest_list_ack.digest_list_ack) == (code, ack)


# -- values


def bits(width: int, *, signed: bool = False) -> p4t.P4DataTypeSpec:
    number = p4t.P4BitTypeSpec(bitwidth=width)
    kind = p4t.P4BitstringLikeTypeSpec(int=p4t.P4IntTypeSpec(bitwidth=width)) if signed else None
    return p4t.P4DataTypeSpec(bitstring=kind or p4t.P4BitstringLikeTypeSpec(bit=number))


def test_every_type_that_a_digest_can_have() -> None:
    named = p4t.P4TypeInfo()
    named.structs["inner"].members.add(type_spec=bits(7, signed=True))
    named.headers["h"].members.add(type_spec=bits(4).bitstring)
    named.headers["h"].members.add(type_spec=bits(12).bitstring)
    named.enums["color"].members.add(name="red")
    named.enums["color"].members.add(name="blue")
    named.serializable_enums["kind"].underlying_type.bitwidth = 4
    named.error.members.extend(["NoError", "NoMatch"])
    named.new_types["port"].original_type.CopyFrom(bits(9))
    named.new_types["sdn_port"].translated_type.sdn_bitwidth = 32
    spec = p4t.P4DataTypeSpec()
    for member in (
        bits(48),
        p4t.P4DataTypeSpec(bool=p4t.P4BoolType()),
        p4t.P4DataTypeSpec(struct=p4t.P4NamedType(name="inner")),
        p4t.P4DataTypeSpec(header=p4t.P4NamedType(name="h")),
        p4t.P4DataTypeSpec(enum=p4t.P4NamedType(name="color")),
        p4t.P4DataTypeSpec(serializable_enum=p4t.P4NamedType(name="kind")),
        p4t.P4DataTypeSpec(error=p4t.P4ErrorType()),
        p4t.P4DataTypeSpec(new_type=p4t.P4NamedType(name="port")),
        p4t.P4DataTypeSpec(new_type=p4t.P4NamedType(name="sdn_port")),
    ):
        spec.tuple.members.append(member)
    result = value_type(spec, named)
    assert result.widths == (48, 1, 7, 4, 12, 32, 4, 32, 9, None)
    assert list(result.encode(iter([5, 1, 0x7F, 3, 4, 1, 9, 1, 300, 6])).tuple.members) == [
        p4d.P4Data(bitstring=b"\x05"),
        p4d.P4Data(bool=True),
        p4d.P4Data(struct=p4d.P4StructLike(members=[p4d.P4Data(bitstring=b"\xff")])),
        p4d.P4Data(header=p4d.P4Header(is_valid=True, bitstrings=[b"\x03", b"\x04"])),
        p4d.P4Data(enum="blue"),
        p4d.P4Data(enum_value=b"\x09"),
        p4d.P4Data(error="NoMatch"),
        p4d.P4Data(bitstring=b"\x01\x2c"),
        p4d.P4Data(bitstring=b"\x06"),
    ]


@pytest.mark.parametrize(
    "spec",
    [
        p4t.P4DataTypeSpec(),
        p4t.P4DataTypeSpec(
            bitstring=p4t.P4BitstringLikeTypeSpec(varbit=p4t.P4VarbitTypeSpec(max_bitwidth=8))
        ),
        p4t.P4DataTypeSpec(struct=p4t.P4NamedType(name="nowhere")),
        p4t.P4DataTypeSpec(header_union=p4t.P4NamedType(name="union")),
    ],
    ids=["unset", "varbit", "unknown struct", "header union"],
)
def test_types_that_none_has(spec: p4t.P4DataTypeSpec) -> None:
    with pytest.raises(ProgramError, match="p4info: "):
        value_type(spec, p4t.P4TypeInfo())

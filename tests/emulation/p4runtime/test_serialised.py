# SPDX-License-Identifier: Apache-2.0
"""Writes that the engine reads from bytes end as those of `Target.write`, refusal by refusal."""

import random
from collections.abc import Callable
from typing import Any

import pytest
from finsy.proto import U128, p4r
from google.protobuf.message import DecodeError

from emulation import _engine
from emulation.p4runtime.clock import VirtualTime
from emulation.p4runtime.device import Device
from emulation.p4runtime.pipeline.pipelines import Pipelines
from emulation.p4runtime.status import Refusal
from emulation.p4runtime.streams import Stream
from emulation.p4runtime.target import Target
from emulation.p4runtime.write_request import SerialisedWrite
from tests.emulation.p4runtime import every_entity as e
from tests.emulation.p4runtime import messages as m
from tests.fuzz.protobuf import Mutator

_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
_PIPELINES = Pipelines()
_ELECTION = U128.encode(1)


class _Dice:
    """Random choices of a seed."""

    spent = False

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def below(self, count: int) -> int:
        return self.random.randrange(count)

    def bytes(self, count: int) -> bytes:
        return self.random.randbytes(count)


_SEEDS = [*range(15), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(15, 500))]


def _device(config: tuple[bytes, Any]) -> Device:
    network = _engine.Network()
    clock = VirtualTime(network, lambda time_ps, callback: None)
    device = Device(1, network, network.add_switch("switch"), _PIPELINES, clock)
    device.role("").arbitration.update(Stream(), 1)
    request = p4r.SetForwardingPipelineConfigRequest(
        device_id=1,
        election_id=_ELECTION,
        action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
        config=p4r.ForwardingPipelineConfig(p4_device_config=config[0], p4info=config[1]),
    )
    device.set_pipeline(request)
    return device


def _one_by_one(target: Target, updates: Any) -> dict[int, tuple[int, str]]:
    """Carry out updates by the specification; return code and message of each refusal by position."""
    refused = {}
    for position, update in enumerate(updates):
        try:
            target.write(update)
        except Refusal as refusal:
            refused[position] = (refusal.code, refusal.message)
    return refused


def _from_bytes(device: Device, target: Target, updates: Any, data: bytes) -> dict[int, tuple[int, str]]:
    """Carry out updates as Device._write_each does, but from given bytes."""
    serialised = SerialisedWrite(data).entries
    if serialised is None:
        return _one_by_one(target, updates)
    refused = {}
    while True:
        target.write_serialised(serialised)
        position = serialised.position
        if position == len(updates):
            return refused
        try:
            target.write(updates[position])
        except Refusal as refusal:
            refused[position] = (refusal.code, refusal.message)
        serialised.skip()


def _state(target: Target) -> list[bytes]:
    return [entity.SerializeToString(deterministic=True) for entity in target.everything()]


def _target(device: Device) -> Target:
    assert device.forwarding is not None
    return device.forwarding


def _entry_of_the_sampler(dice: _Dice) -> p4r.Entity:
    """Return an entry of few keys, so that updates meet; about one in three is wrong."""
    below, number = dice.below, lambda bits: (dice.below(1 << bits) >> dice.below(bits)).to_bytes(2)
    action = m.action("forward", number(9)) if below(8) else m.action("refuse")
    match below(5):
        case 0:
            return m.entry("exact_table", m.exact(1, number(2)), do=action)
        case 1:
            prefix = below(34)
            kept = below(1 << 32) & ~((1 << max(0, 32 - prefix)) - 1) & 0xC0000003
            return m.entry("lpm_table", m.lpm(kept.to_bytes(4), prefix), do=action)
        case 2:
            return m.entry("const_table", m.exact(1, number(2)), do=action)
        case 3:
            return m.entry("keyless_table", do=action)
        case _:
            mask = below(4)
            fields = [
                m.ternary((below(4) & mask | (below(8) == 0)).to_bytes(2), mask.to_bytes(1)),
                m.within(below(3).to_bytes(1), (below(4) if below(4) else 511).to_bytes(2)),
                m.optional(below(200).to_bytes(1)),
            ]
            return m.mixed(below(3), *(field for field in fields if below(3)), do=action)


_EVERY = [
    e.entry("ageing", 1, e.act("metered", 1), idle_timeout_ns=1000),
    e.entry("ageing", 2, e.act("metered", 2), counter_data=p4r.CounterData(packet_count=3, byte_count=4)),
    e.member("paths", 1, e.to(1)),
    e.group("paths", 1, (1, 1)),
    e.entry("by_selector", 1, e.to_group(1)),
    e.entry("by_weight", 1, e.one_shot((e.to(1), 1), (e.to(2), 2))),
    e.entry("initial", 2, e.to(5)),
    e.counter(1, 5, 6),
]

_PROGRAMS: dict[str, tuple[Any, Callable[[_Dice], p4r.Entity]]] = {
    "sampler": (m.CONFIG, _entry_of_the_sampler),
    "every entity": (e.CONFIG, lambda dice: _EVERY[dice.below(len(_EVERY))]),
}


def _request(seed: int, make: Callable[[_Dice], p4r.Entity], mutator: Mutator) -> p4r.WriteRequest:
    dice = _Dice(seed)
    request = p4r.WriteRequest(device_id=1, election_id=_ELECTION)
    for _ in range(40):
        update = request.updates.add(type=(_INSERT, _INSERT, _MODIFY, _DELETE)[dice.below(4)])
        update.entity.CopyFrom(make(dice))
        for _ in range(max(0, dice.below(6) - 3)):
            mutator.mutate(update, dice)
    return request


def _donors(make: Callable[[_Dice], p4r.Entity]) -> Mutator:
    return Mutator([make(_Dice(seed)) for seed in range(40)])


@pytest.mark.parametrize("program", _PROGRAMS)
@pytest.mark.parametrize("seed", _SEEDS)
def test_random_updates_end_as_without_the_engines_decoder(program: str, seed: int) -> None:
    config, make = _PROGRAMS[program]
    request = _request(seed, make, _donors(make))
    specified, device = _target(_device(config)), _device(config)
    wanted = _one_by_one(specified, request.updates)
    decoded = _from_bytes(device, _target(device), request.updates, request.SerializeToString())
    assert decoded == wanted
    assert _state(_target(device)) == _state(specified)


@pytest.mark.parametrize("seed", _SEEDS)
def test_bytes_that_protobuf_reads_are_read_the_same(seed: int) -> None:
    config, make = _PROGRAMS["sampler"]
    dice = _Dice(seed)
    whole = p4r.WriteRequest(updates=_request(seed, make, _donors(make)).updates)
    device, specified = _device(config), _target(_device(config))
    accepted = refused = 0
    for update in whole.updates:
        data = bytearray(p4r.WriteRequest(updates=[update]).SerializeToString())
        for _ in range(dice.below(3)):
            at = dice.below(len(data))
            match dice.below(3):
                case 0:
                    data[at] = dice.below(256)
                case 1:
                    del data[at]
                case _:
                    data.insert(at, dice.below(256))
        try:
            request = p4r.WriteRequest.FromString(bytes(data))
        except DecodeError:
            refused += 1
            _engine_survives(device, bytes(data))
            continue
        accepted += 1
        wanted = _one_by_one(specified, request.updates)
        assert _from_bytes(device, _target(device), request.updates, bytes(data)) == wanted
        assert _state(_target(device)) == _state(specified)
    assert accepted
    assert refused


@pytest.mark.parametrize("seed", _SEEDS)
def test_updates_like_the_one_before_are_read_the_same(seed: int) -> None:
    """The engine compares an update with earlier ones of its length: nothing but its numbers may differ."""
    dice = _Dice(seed)
    device, specified = _device(m.CONFIG), _target(_device(m.CONFIG))
    data, wrong = b"", 0
    for _ in range(200):
        port = dice.below(1 << (1, 8, 9, 10)[dice.below(4)])
        key = dice.below(1 << (1, 8, 16)[dice.below(3)])
        action = m.action("forward", port.to_bytes(1 if port < 256 else 2))
        entity = m.entry("exact_table", m.exact(1, key.to_bytes(1 if key < 256 else 2)), do=action)
        kind = (_INSERT, _INSERT, _INSERT, _MODIFY, _DELETE)[dice.below(5)]
        update = bytearray(
            p4r.WriteRequest(updates=[p4r.Update(type=kind, entity=entity)]).SerializeToString()
        )
        if dice.below(3) == 0:
            update[dice.below(len(update))] = dice.below(256)
            wrong += 1
        try:
            p4r.WriteRequest.FromString(data + update)
        except DecodeError:
            continue
        data += update
    assert wrong
    request = p4r.WriteRequest.FromString(data)
    wanted = _one_by_one(specified, request.updates)
    assert _from_bytes(device, _target(device), request.updates, data) == wanted
    assert _state(_target(device)) == _state(specified)
    assert 0 < len(wanted) < len(request.updates)


def test_a_number_of_more_bytes_than_it_needs_is_no_pattern_for_others() -> None:
    device, specified = _device(m.CONFIG), _target(_device(m.CONFIG))
    request = p4r.WriteRequest()
    for key in (b"\0" * 10 + b"\1", b"\0" * 10 + b"\2", b"\1" + b"\0" * 9 + b"\3", b"\0" * 10 + b"\3"):
        request.updates.add(type=_INSERT).entity.CopyFrom(m.entry("exact_table", m.exact(1, key)))
    wanted = _one_by_one(specified, request.updates)
    data = request.SerializeToString()
    assert _from_bytes(device, _target(device), request.updates, data) == wanted
    assert _state(_target(device)) == _state(specified)
    assert list(wanted) == [2]


def _engine_survives(device: Device, data: bytes) -> None:
    """Bytes that are no message are refused whole."""
    before = _state(_target(device))
    good = p4r.WriteRequest(device_id=1, election_id=_ELECTION)
    good.updates.add(type=_INSERT).entity.CopyFrom(m.entry("exact_table", m.exact(1, b"\x7f")))
    with pytest.raises(Refusal, match="the bytes are no WriteRequest"):
        device.write(SerialisedWrite(good.SerializeToString() + data))
    assert _state(_target(device)) == before


def test_a_plain_entry_needs_no_call_of_the_specification() -> None:
    device = _device(m.CONFIG)
    target = _target(device)
    entities = [
        m.entry("exact_table", m.exact(1, b"\x01")),
        m.entry("lpm_table", m.lpm(b"\x80\x00\x00\x00", 1)),
        m.mixed(7, m.ternary(b"\x01", b"\x03"), m.within(b"\x01", b"\x02"), m.optional(b"\x05")),
    ]
    updates = [p4r.Update(type=_INSERT, entity=entity) for entity in entities]
    request = p4r.WriteRequest(device_id=1, updates=updates, election_id=_ELECTION, role="clerk")
    serialised = _engine.EntryUpdates(request.SerializeToString())
    assert serialised.count == 3
    assert target.reads_all(serialised)
    target.write_serialised(serialised)
    assert serialised.position == 3
    request.ClearField("updates")
    assert p4r.WriteRequest.FromString(serialised.head) == request
    with pytest.raises(IndexError):
        serialised.skip()


def test_an_entry_with_metadata_switches_the_decoder_off() -> None:
    """Metadata is kept beside the engine, so that a later write of the entry must pass the server."""
    device = _device(m.CONFIG)
    noted = m.entry("exact_table", m.exact(1, b"\x01"), metadata=b"note")
    plain = m.entry("exact_table", m.exact(1, b"\x01"))
    request = p4r.WriteRequest(device_id=1, election_id=_ELECTION)
    request.updates.add(type=_INSERT).entity.CopyFrom(noted)
    request.updates.add(type=_MODIFY).entity.CopyFrom(plain)
    device.write(SerialisedWrite(request.SerializeToString()))
    (entry,) = _target(device).read(m.all_of("exact_table"))
    assert entry.table_entry.metadata == b""

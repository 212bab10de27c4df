# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime service, without gRPC around it: requests and stream messages that are almost right.

Checked beside "no crash": nothing but a Refusal comes out; what is refused, be it a Write or a
SetForwardingPipelineConfig, leaves a complete read-back as it was.
"""

import json
import threading
from collections.abc import Callable
from typing import Any

from finsy.proto import U128, p4r, rpc_code, rpc_status
from google.protobuf.any_pb2 import Any as AnyMessage

from emulation._engine import Network
from emulation.p4runtime.clock import VirtualTime
from emulation.p4runtime.device import Device
from emulation.p4runtime.pipeline.pipelines import Pipelines
from emulation.p4runtime.status import Refusal
from emulation.p4runtime.streams import Stream, Streams
from emulation.p4runtime.write_request import SerialisedWrite
from tests.emulation.p4runtime import every_entity as e
from tests.fuzz.protobuf import Choices, Mutator

__all__ = ["drive"]

_DEVICE = 1
_STEPS = 12
_INSERT, _MODIFY, _DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
_Config = p4r.SetForwardingPipelineConfigRequest
_CONFIG = p4r.ForwardingPipelineConfig(p4_device_config=e.CONFIG[0], p4info=e.INFO)
_ELECTION = U128.encode(1)
_PIPELINES = Pipelines()
_KEPT = _PIPELINES.load(_CONFIG)  # as long as it lives, it is compiled once

_PORT_5, _RATES = b"\x05", e.rates(1, 2, 3, 4)
# Some of every kind, in an order in which all can be inserted.
_ENTITIES = [
    *(e.member("next_hops", id, e.to(id)) for id in (1, 2)),
    *(e.member("paths", id, e.to(id)) for id in (1, 2, 3)),
    e.group("paths", 1, (1, 1), (2, 2), max_size=3),
    e.group("paths", 2),
    e.entry("ageing", 1, e.act("metered", 1), idle_timeout_ns=1000),
    e.entry(
        "ageing",
        2,
        e.act("metered", 2),
        counter_data=p4r.CounterData(packet_count=3, byte_count=4),
        meter_config=_RATES,
    ),
    e.entry("by_profile", 1, e.to_member(1)),
    e.entry("by_selector", 1, e.to_group(1)),
    e.entry("by_selector", 2, e.to_member(3)),
    e.entry("by_weight", 1, e.one_shot((e.to(1), 1), (e.to(2), 2), watch_port=_PORT_5)),
    e.multicast(1, e.replica(1), e.replica(2, 7, (3, 8)), metadata=b"m"),
    e.clone(1, e.replica(1), packet_length_bytes=64),
    e.digest(1000, 2, 1000),
]
_SET = [
    e.counter(1, 5, 6),
    *(e.meter(meter.preamble.alias, 0, _RATES) for meter in e.INFO.meters),
    *(e.register(register.preamble.alias, 0, b"\x07") for register in e.INFO.registers),
    e.value_set([e.flow(1)], [e.flow(2)]),
    e.entry("initial", 2, e.to(5)),
    p4r.Entity(
        direct_counter_entry=p4r.DirectCounterEntry(
            table_entry=e.key("ageing", 1), data=p4r.CounterData(packet_count=1)
        )
    ),
    p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry(table_entry=e.key("ageing", 1), config=_RATES)),
    p4r.Entity(
        table_entry=p4r.TableEntry(
            table_id=e.ID["ageing"],
            is_default_action=True,
            action=p4r.TableAction(action=e.act("metered", 3)),
        )
    ),
]
_STREAM = [
    p4r.StreamMessageRequest(
        arbitration=p4r.MasterArbitrationUpdate(device_id=_DEVICE, election_id=_ELECTION)
    ),
    p4r.StreamMessageRequest(
        arbitration=p4r.MasterArbitrationUpdate(
            device_id=_DEVICE, role=p4r.Role(name="ROLE"), election_id=_ELECTION
        )
    ),
    p4r.StreamMessageRequest(
        packet=p4r.PacketOut(
            payload=e.frame(1, 1), metadata=[p4r.PacketMetadata(metadata_id=1, value=_PORT_5)]
        )
    ),
    p4r.StreamMessageRequest(digest_ack=p4r.DigestListAck(digest_id=e.ID["seen_t"], list_id=1)),
    p4r.StreamMessageRequest(other=AnyMessage(type_url="x", value=b"y")),
]
_MUTATOR = Mutator([*_ENTITIES, *_SET, *e.EVERYTHING, *_STREAM, e.INFO])
_FRAME_KINDS = 15


class _Timer:
    """Time stands still; timers go off with the others."""

    def __init__(self, timers: list[Callable[[], None]]) -> None:
        self._timers = timers

    def time(self) -> float:
        return 0.0

    def call_at(self, when: float, callback: Callable[..., None], *args: object) -> None:
        self._timers.append(lambda: callback(*args))


class _Bench:
    """One device, its configuration committed, with a primary; timers go off when they are told to."""

    def __init__(self) -> None:
        self.network = Network()
        switch = self.network.add_switch("fuzzed", 510)
        self.timers: list[Callable[[], None]] = []
        clock = VirtualTime(self.network, lambda time_ps, callback: self.timers.append(callback))
        self.device = Device(_DEVICE, self.network, switch, _PIPELINES, clock)
        self.streams = Streams(self.network, self._device_of, threading.RLock(), None, _Timer(self.timers))
        self.device.publish = lambda id, message: self.streams._publish(self.device, id, message)
        self.primary, self.other = Stream(), Stream()
        self.streams._on_message(self.primary, _STREAM[0])
        self.device.set_pipeline(
            _Config(
                device_id=_DEVICE, election_id=_ELECTION, action=_Config.VERIFY_AND_COMMIT, config=_CONFIG
            )
        )
        for kind, entities in ((_INSERT, _ENTITIES), (_MODIFY, _SET)):
            for entity in entities:
                self.write(_batch([p4r.Update(type=kind, entity=entity)]))

    def _device_of(self, device_id: int) -> Device:
        if device_id != _DEVICE:
            raise Refusal(rpc_code.NOT_FOUND, f"no device with id {device_id}")
        return self.device

    def write(self, request: p4r.WriteRequest) -> None:
        self.device.write(SerialisedWrite(request.SerializeToString()))

    def everything(self) -> list[bytes]:
        """Return everything that a controller can read, in a fixed order."""
        result, refusal = self.device.read(e.EVERYTHING)
        refused = refusal.message.encode() if refusal is not None else b""
        config = self.device.get_pipeline(0)
        return [
            config.SerializeToString(deterministic=True),
            refused,
            *sorted(item.SerializeToString(deterministic=True) for item in result),
        ]


def _batch(updates: list[p4r.Update], atomicity: int = 0) -> p4r.WriteRequest:
    return p4r.WriteRequest(device_id=_DEVICE, election_id=_ELECTION, updates=updates, atomicity=atomicity)  # pyright: ignore


def _changed(message: Any, choose: Choices) -> Any:
    copy = type(message)()
    copy.CopyFrom(message)
    for _ in range(choose.below(4)):
        _MUTATOR.mutate(copy, choose)
    return copy


def _pick(among: Any, choose: Choices) -> Any:
    return among[choose.below(len(among))]


def _refusal(call: Callable[..., object], *arguments: object) -> Refusal | None:
    """Return the refusal of a call, or None."""
    try:
        call(*arguments)
    except Refusal as refusal:
        _check(refusal)
        return refusal
    return None


def _check(refusal: Refusal) -> None:
    """It can travel."""
    assert refusal.code in range(1, 17), refusal.code
    refusal.message.encode()
    for _, value in refusal.details:
        rpc_status.Status.FromString(value)


def _write(bench: _Bench, choose: Choices) -> None:
    updates = [
        p4r.Update(
            type=_pick((_INSERT, _MODIFY, _DELETE), choose),
            entity=_changed(_pick((*_ENTITIES, *_SET), choose), choose),
        )
        for _ in range(1 + choose.below(4))
    ]
    request = _batch(updates, choose.below(3))
    if choose.below(16) == 0:
        _MUTATOR.mutate(request, choose)
    before, refusal = bench.everything(), _refusal(bench.write, request)
    after = bench.everything()
    if refusal is None:
        return
    codes = [
        p4r.Error.FromString(detail.value).canonical_code
        for _, status in refusal.details
        for detail in rpc_status.Status.FromString(status).details
    ]
    if request.atomicity != p4r.WriteRequest.CONTINUE_ON_ERROR or rpc_code.OK not in codes:
        assert after == before, f"a refused write left traces: {refusal}\n{request}"


def _read(bench: _Bench, choose: Choices) -> None:
    wanted = [
        _changed(_pick((*e.EVERYTHING, *_ENTITIES, *_SET), choose), choose)
        for _ in range(1 + choose.below(3))
    ]
    try:
        result, refusal = bench.device.read(wanted, "ROLE" if choose.below(16) == 0 else "")
    except Refusal as whole:
        result, refusal = [], whole
    if refusal is not None:
        _check(refusal)
    p4r.ReadResponse(entities=result).SerializeToString()


def _configure(bench: _Bench, choose: Choices) -> None:
    config = p4r.ForwardingPipelineConfig()
    config.CopyFrom(_CONFIG)
    match choose.below(4):
        case 0:
            pass
        case 1:
            config.p4_device_config = _changed_program(choose)
        case _:
            for _ in range(1 + choose.below(3)):
                _MUTATOR.mutate(config.p4info, choose)
    request = _Config(device_id=_DEVICE, election_id=_ELECTION, action=choose.below(7), config=config)  # pyright: ignore
    if choose.below(8) == 0:
        _MUTATOR.mutate(request, choose)
    before, refusal = bench.everything(), _refusal(bench.device.set_pipeline, request)
    after = bench.everything()
    if refusal is not None:
        assert after == before, f"a refused pipeline left traces: {refusal}"


def _changed_program(choose: Choices) -> bytes:
    """One node of the JSON is gone, or another in its place."""
    program = json.loads(_CONFIG.p4_device_config)
    at: Any = program
    while True:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        if not keys:
            return json.dumps(program).encode()
        key = _pick(keys, choose)
        if not isinstance(at[key], dict | list) or choose.below(4) == 0:
            break
        at = at[key]
    match choose.below(4):
        case 0:
            del at[key]
        case 1:
            at[key] = _pick((None, 0, 1, "", "0x1", [], {}), choose)
        case 2 if isinstance(at, list):
            at.append(at[key])
        case _:
            at[key] = at[_pick(keys, choose)]
    return json.dumps(program).encode()


def _say(bench: _Bench, choose: Choices) -> None:
    stream = bench.other if choose.below(3) == 0 else bench.primary
    # A bad arbitration ends the stream.
    _refusal(bench.streams._on_message, stream, _changed(_pick(_STREAM, choose), choose))


def _live(bench: _Bench, choose: Choices) -> None:
    """Frames pass, ports go down and up, timers go off."""
    match choose.below(4):
        case 0:
            bench.device.port_changed(choose.below(8), bool(choose.below(2)))
        case 1 if bench.timers:
            bench.timers.pop(choose.below(len(bench.timers)))()
        case 2:
            bench.streams.packet_in(bench.device, choose.bytes(choose.below(40)))
        case _:
            frame = e.frame(choose.below(_FRAME_KINDS), choose.below(4), choose.below(4)) + choose.bytes(
                choose.below(8)
            )
            bench.network.process(bench.device.switch, choose.below(8), frame)
    while item := bench.network.take_control():
        kind, _, _, value, _, data = item
        if kind == "digest":
            bench.device.digest(value, data)
        elif kind == "idle":
            bench.device.idle(value)
    for stream in (bench.primary, bench.other):
        while len(stream.outgoing):
            stream.outgoing.take().SerializeToString()


_DOINGS = (*[_write] * 6, *[_read] * 3, _configure, *[_say] * 3, *[_live] * 3)


def drive(choose: Choices) -> None:
    """A controller's day. An AssertionError, or whatever else comes out, is a finding."""
    bench = _Bench()
    for _ in range(_STEPS):
        if choose.spent:
            return
        _pick(_DOINGS, choose)(bench, choose)

# SPDX-License-Identifier: Apache-2.0
"""Indexed counters, indexed meters and registers of one switch.

MODIFY is the only update. A write or a read without an index applies to every cell of the array.
"""

from collections.abc import Iterator, Mapping
from typing import TypeVar, final

from finsy.proto import p4r, rpc_code

from emulation import _engine
from emulation.p4runtime.pipeline.layout import ArrayLayout, MeterLayout, RegisterLayout, meter_config
from emulation.p4runtime.pipeline.pipelines import Pipeline
from emulation.p4runtime.status import Refusal

__all__ = ["Counters", "Meters", "Registers"]

_INVALID = rpc_code.INVALID_ARGUMENT

_Layout = TypeVar("_Layout", ArrayLayout, MeterLayout, RegisterLayout)
_Entry = p4r.CounterEntry | p4r.MeterEntry | p4r.RegisterEntry


def _find(among: Mapping[int, _Layout], id: int, what: str) -> _Layout:
    array = among.get(id)
    if array is None:
        raise Refusal(_INVALID, f"there is no {what} with id {id}")
    return array


def _to_write(among: Mapping[int, _Layout], kind: int, id: int, what: str) -> _Layout:
    array = _find(among, id, what)
    if kind != p4r.Update.MODIFY:
        raise Refusal(
            _INVALID, f"{what} {array.name!r} accepts MODIFY only, not {p4r.Update.Type.keys()[kind]}"
        )
    return array


def _to_read(among: Mapping[int, _Layout], id: int, entry: _Entry, what: str) -> list[_Layout]:
    if id:
        return [_find(among, id, what)]
    if entry.HasField("index"):
        raise Refusal(_INVALID, f"the request has an index, but no {what} id; give both")
    return list(among.values())


def _indices(array: ArrayLayout | MeterLayout | RegisterLayout, entry: _Entry) -> range:
    """Return the index given in an entry, as a range; all indices if it gives none."""
    if not entry.HasField("index"):
        return range(array.size)
    index = entry.index.index
    if index < 0:
        raise Refusal(_INVALID, f"{array.name!r}: index {index} is below 0")
    if index >= array.size:
        raise Refusal(
            rpc_code.OUT_OF_RANGE, f"{array.name!r}: index {index} is not below its size {array.size}"
        )
    return range(index, index + 1)


@final
class Counters:
    """P4Runtime writes and reads of the indexed counters of a switch. Callers hold the engine's lock."""

    def __init__(self, network: _engine.SwitchSet, switch: int, pipeline: Pipeline) -> None:
        self._network = network
        self._switch = switch
        self._counters = pipeline.counters

    def write(self, kind: int, entry: p4r.CounterEntry) -> None:
        """Carry out a MODIFY of a counter; without data it changes nothing."""
        counter = _to_write(self._counters, kind, entry.counter_id, "counter")
        packets, octets = entry.data.packet_count, entry.data.byte_count
        if packets < 0 or octets < 0:
            raise Refusal(
                _INVALID,
                f"counter {counter.name!r}: packet_count {packets} or byte_count {octets} is below 0",
            )
        indices = _indices(counter, entry)
        if entry.HasField("data"):
            for index in indices:
                self._network.counter_write(self._switch, counter.handle, index, packets, octets)

    def read(self, wanted: p4r.CounterEntry) -> Iterator[p4r.Entity]:
        """Yield the cells of one counter or of all counters."""
        network, switch = self._network, self._switch
        for counter in _to_read(self._counters, wanted.counter_id, wanted, "counter"):
            if wanted.HasField("index"):
                (index,) = _indices(counter, wanted)
                values = {index: network.counter_read(switch, counter.handle, index)}
            else:
                values = dict(enumerate(network.counter_read_all(switch, counter.handle)))
            for index, (packets, octets) in values.items():
                data = p4r.CounterData(packet_count=packets, byte_count=octets)
                entry = p4r.CounterEntry(counter_id=counter.id, index=p4r.Index(index=index), data=data)
                yield p4r.Entity(counter_entry=entry)

    def responses(self, wanted: p4r.CounterEntry, most: int) -> list[bytes] | None:
        """Return serialised ReadResponses with all cells of one counter, at most `most` cells in each.

        None if `wanted` asks for a single cell, or does not name one counter of the program.
        """
        counter = self._counters.get(wanted.counter_id)
        if counter is None or wanted.HasField("index"):
            return None
        return [
            self._network.counter_response(self._switch, counter.handle, counter.id, first, most)
            for first in range(0, counter.size, most)
        ]


@final
class Meters:
    """P4Runtime writes and reads of the indexed meters of a switch. Callers hold the engine's lock."""

    def __init__(self, network: _engine.SwitchSet, switch: int, pipeline: Pipeline) -> None:
        self._network = network
        self._switch = switch
        self._meters = pipeline.meters

    def write(self, kind: int, entry: p4r.MeterEntry) -> None:
        """Carry out a MODIFY of a meter; without a config every packet is green."""
        meter = _to_write(self._meters, kind, entry.meter_id, "meter")
        if entry.HasField("counter_data"):
            raise meter.refuse_color_counts()
        rates = meter.rates(entry.config) if entry.HasField("config") else None
        for index in _indices(meter, entry):
            self._network.meter_write(self._switch, meter.handle, index, rates)

    def read(self, wanted: p4r.MeterEntry) -> Iterator[p4r.Entity]:
        """Yield the cells of one meter or of all; a cell that marks all packets green has no config."""
        for meter in _to_read(self._meters, wanted.meter_id, wanted, "meter"):
            if wanted.HasField("counter_data"):
                raise meter.refuse_color_counts()
            for index in _indices(meter, wanted):
                rates = self._network.meter_read(self._switch, meter.handle, index)
                config = None if rates is None else meter_config(rates)
                entry = p4r.MeterEntry(meter_id=meter.id, index=p4r.Index(index=index), config=config)
                yield p4r.Entity(meter_entry=entry)


@final
class Registers:
    """P4Runtime writes and reads of the registers of a switch. Callers hold the engine's lock."""

    def __init__(self, network: _engine.SwitchSet, switch: int, pipeline: Pipeline) -> None:
        self._network = network
        self._switch = switch
        self._registers = pipeline.registers

    def write(self, kind: int, entry: p4r.RegisterEntry) -> None:
        """Carry out a MODIFY of a register; the data has the register's type."""
        register = _to_write(self._registers, kind, entry.register_id, "register")
        if register.type is None:
            raise _no_number(register)
        number = register.type.decode(entry.data, f"register {register.name!r}")
        value = number.to_bytes((register.type.bits + 7) // 8)
        for index in _indices(register, entry):
            self._network.register_write_bytes(self._switch, register.handle, index, value)

    def read(self, wanted: p4r.RegisterEntry) -> Iterator[p4r.Entity]:
        """Yield the cells of one register or of all registers."""
        for register in _to_read(self._registers, wanted.register_id, wanted, "register"):
            if register.type is None:
                raise _no_number(register)
            for index in _indices(register, wanted):
                value = self._network.register_read_bytes(self._switch, register.handle, index)
                data = register.type.encode(iter([int.from_bytes(value)]))
                entry = p4r.RegisterEntry(register_id=register.id, index=p4r.Index(index=index), data=data)
                yield p4r.Entity(register_entry=entry)


def _no_number(register: RegisterLayout) -> Refusal:
    return Refusal(rpc_code.UNIMPLEMENTED, f"register {register.name!r} does not hold plain numbers")

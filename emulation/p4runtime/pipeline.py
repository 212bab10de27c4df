# SPDX-License-Identifier: Apache-2.0
"""A pipeline: a compiled program and the p4info that describes it, checked against each other before use."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, final
from weakref import WeakValueDictionary

from finsy.proto import p4i, p4r

from emulation import _engine
from emulation.errors import ProgramError
from emulation.p4runtime.layout import ActionLayout, KeyLayout, Parameter, TableLayout
from emulation.p4runtime.packet_io import PacketHeader

__all__ = ["ArrayLayout", "Pipeline", "Pipelines"]

_MATCH = {
    p4i.MatchField.EXACT: "exact",
    p4i.MatchField.LPM: "lpm",
    p4i.MatchField.TERNARY: "ternary",
    p4i.MatchField.RANGE: "range",
    p4i.MatchField.OPTIONAL: "optional",
}
_REMEDY = "push the p4info that the compiler wrote beside this program"


@final
@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """An indexed counter or register. `bits` is 0 for a counter and for a register of structures."""

    id: int
    name: str
    handle: int
    size: int
    bits: int


@final
@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Compiled:
    """A program of the engine and the configuration it was compiled from."""

    program: _engine.Program
    source: bytes


@final
@dataclass(frozen=True, slots=True, weakref_slot=True)
class Pipeline:
    """Immutable, so any number of switches share one."""

    compiled: _Compiled
    p4info: p4i.P4Info
    tables: Mapping[int, TableLayout]
    counters: Mapping[int, ArrayLayout]
    registers: Mapping[int, ArrayLayout]
    packet_in: PacketHeader
    packet_out: PacketHeader

    @property
    def program(self) -> _engine.Program:
        """What the engine executes."""
        return self.compiled.program

    @property
    def device_config(self) -> bytes:
        """The configuration as it was pushed."""
        return self.compiled.source


@final
class Pipelines:
    """Compiles each configuration once, however many switches it is pushed to."""

    def __init__(self) -> None:
        self._programs: WeakValueDictionary[bytes, _Compiled] = WeakValueDictionary()
        self._pipelines: WeakValueDictionary[tuple[bytes, bytes], Pipeline] = WeakValueDictionary()

    def load(self, config: p4r.ForwardingPipelineConfig) -> Pipeline:
        """Compile and check; ProgramError names the first thing that does not hold."""
        source = config.p4_device_config
        if not source:
            raise ProgramError("p4_device_config is empty", remedy="push the JSON that p4c-bm2-ss wrote")
        program_hash = hashlib.sha256(source).digest()
        info_hash = hashlib.sha256(config.p4info.SerializeToString(deterministic=True)).digest()
        pipeline = self._pipelines.get((program_hash, info_hash))
        if pipeline is None:
            compiled = self._programs.get(program_hash) or _compile(source)
            self._programs[program_hash] = compiled
            pipeline = _Check(compiled, config.p4info).pipeline()
            self._pipelines[program_hash, info_hash] = pipeline
        return pipeline


def _compile(source: bytes) -> _Compiled:
    try:
        return _Compiled(_engine.Program(source), source)
    except _engine.ProgramError as error:
        raise ProgramError(
            f"p4_device_config: {error}", remedy="push the JSON that p4c-bm2-ss wrote for v1model, whole"
        ) from error


_Named = TypeVar("_Named", p4i.Table, p4i.Action, p4i.Counter, p4i.Register, p4i.ControllerPacketMetadata)


class _Check:
    """Resolves every name of a p4info in the program, or stops at the first that does not fit."""

    def __init__(self, compiled: _Compiled, info: p4i.P4Info) -> None:
        self._compiled = compiled
        self._info = p4i.P4Info()
        self._info.CopyFrom(info)
        program = compiled.program
        self._tables = _by_name(program.tables)
        self._action_by_handle = {action["handle"]: action for action in program.actions}
        self._counters = _by_name(program.counters)
        self._registers = _by_name(program.registers)
        self._headers = _by_name(program.headers)

    def pipeline(self) -> Pipeline:
        info = self._info
        actions = _by_id("action", info.actions)
        direct = {counter.direct_table_id: counter.preamble.id for counter in info.direct_counters}
        if not info.tables and self._tables:
            raise ProgramError("the p4info names no table, the program has some", remedy=_REMEDY)
        return Pipeline(
            compiled=self._compiled,
            p4info=info,
            tables={
                id: self._table(table, actions, direct.get(id, 0))
                for id, table in _by_id("table", info.tables).items()
            },
            counters={id: self._counter(item) for id, item in _by_id("counter", info.counters).items()},
            registers={id: self._register(item) for id, item in _by_id("register", info.registers).items()},
            packet_in=self._packet_header("packet_in"),
            packet_out=self._packet_header("packet_out"),
        )

    def _table(self, info: p4i.Table, actions: Mapping[int, p4i.Action], direct_counter: int) -> TableLayout:
        name = info.preamble.name
        found = _find("table", name, self._tables)
        what = f"table {name!r}"
        _same(what, "number of match fields", len(info.match_fields), len(found["keys"]))
        alias = info.preamble.alias or name
        keys = []
        for position, (field, key) in enumerate(zip(info.match_fields, found["keys"], strict=True)):
            of = f"{what}, match field {position + 1}"
            _same(of, "name", field.name, key["name"])
            of = f"{what}, match field {field.name!r}"
            match = _MATCH.get(field.match_type, "unsupported")
            masked = match == "optional" and key["match"] == "ternary"
            _same(of, "match type", "ternary" if masked else match, key["match"])
            _same(of, "width in bits", field.bitwidth, key["bits"])
            keys.append(KeyLayout(field.id, field.name, match, field.bitwidth, position, alias, masked))
        if len({key.id for key in keys}) != len(keys):
            raise ProgramError(f"p4info: {what} has two match fields with one id", remedy=_REMEDY)
        available = {self._action_by_handle[handle]["name"]: handle for handle in found["actions"]}
        resolved = {}
        for reference in info.action_refs:
            if reference.id not in actions:
                raise ProgramError(
                    f"p4info: {what} names action id {reference.id}, which it lacks", remedy=_REMEDY
                )
            resolved[reference.id] = self._action(actions[reference.id], reference, available, what)
        return TableLayout(
            id=info.preamble.id,
            name=alias,
            handle=found["handle"],
            keys=tuple(keys),
            actions=resolved,
            const=info.is_const_table or found["const_entries"],
            const_default=info.const_default_action_id != 0 or found["const_default"],
            indirect=info.implementation_id != 0,
            direct_counter=direct_counter,
            idle_timeout=info.idle_timeout_behavior != p4i.Table.NO_TIMEOUT,
        )

    def _action(
        self, info: p4i.Action, reference: p4i.ActionRef, available: Mapping[str, int], table: str
    ) -> ActionLayout:
        name = info.preamble.name
        if name not in available:
            raise ProgramError(
                f"p4info: {table} has action {name!r}, in the program it has not", remedy=_REMEDY
            )
        handle = available[name]
        what = f"action {name!r}"
        parameters = self._action_by_handle[handle]["params"]
        _same(what, "number of parameters", len(info.params), len(parameters))
        for position, (given, (real_name, bits)) in enumerate(zip(info.params, parameters, strict=True)):
            _same(f"{what}, parameter {position + 1}", "name", given.name, real_name)
            _same(f"{what}, parameter {given.name!r}", "width in bits", given.bitwidth, bits)
        return ActionLayout(
            id=info.preamble.id,
            name=info.preamble.alias or name,
            handle=handle,
            parameters=tuple(Parameter(given.id, given.name, given.bitwidth) for given in info.params),
            for_entries=reference.scope != p4i.ActionRef.DEFAULT_ONLY,
            for_default=reference.scope != p4i.ActionRef.TABLE_ONLY,
        )

    def _counter(self, info: p4i.Counter) -> ArrayLayout:
        name = info.preamble.name
        found = _find("counter", name, self._counters)
        _same(f"counter {name!r}", "size", info.size, found["size"])
        return ArrayLayout(info.preamble.id, info.preamble.alias or name, found["handle"], info.size, 0)

    def _register(self, info: p4i.Register) -> ArrayLayout:
        name = info.preamble.name
        found = _find("register", name, self._registers)
        _same(f"register {name!r}", "size", info.size, found["size"])
        bits = info.type_spec.bitstring.bit.bitwidth
        if bits:
            _same(f"register {name!r}", "width in bits", bits, found["bits"])
        return ArrayLayout(info.preamble.id, info.preamble.alias or name, found["handle"], info.size, bits)

    def _packet_header(self, name: str) -> PacketHeader:
        for info in self._info.controller_packet_metadata:
            if info.preamble.name == name:
                break
        else:
            return PacketHeader.none(name)
        described = [(field.name, field.bitwidth) for field in info.metadata]
        what = f"controller header {name!r}"
        if not any(described == header["fields"] for header in self._headers.values()):
            found = _find("controller header", name, self._headers)
            _same(what, "number of fields", len(described), len(found["fields"]))
            for position, (given, real) in enumerate(zip(described, found["fields"], strict=True)):
                _same(f"{what}, field {position + 1}", "name", given[0], real[0])
                _same(f"{what}, field {given[0]!r}", "width in bits", given[1], real[1])
        if sum(given.bitwidth for given in info.metadata) % 8:
            raise ProgramError(
                f"{what} is not a whole number of bytes", remedy="pad the header to a whole byte"
            )
        return PacketHeader.of(info)


def _by_name(items: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {item["name"]: item for item in items}


def _by_id(kind: str, items: Iterable[_Named]) -> dict[int, _Named]:
    result: dict[int, _Named] = {}
    for item in items:
        if item.preamble.id == 0 or item.preamble.id in result:
            raise ProgramError(
                f"p4info: {kind} {item.preamble.name!r} has id {item.preamble.id}, which is 0 or not its own",
                remedy=_REMEDY,
            )
        result[item.preamble.id] = item
    return result


def _find(kind: str, name: str, among: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    if name not in among:
        raise ProgramError(f"the p4info has {kind} {name!r}, the program has not", remedy=_REMEDY)
    return among[name]


def _same(what: str, property: str, in_p4info: object, in_program: object) -> None:
    if in_p4info != in_program:
        raise ProgramError(
            f"{what}: {property} is {in_p4info!r} in the p4info, {in_program!r} in the program",
            remedy=_REMEDY,
        )

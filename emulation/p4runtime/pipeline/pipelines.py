# SPDX-License-Identifier: Apache-2.0
"""A pipeline: a compiled program and its p4info, checked against each other before use."""

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import final
from weakref import WeakValueDictionary

from finsy.proto import p4i, p4r

from emulation import _engine
from emulation.errors import ProgramError
from emulation.p4runtime.pipeline.entry_layouts import entry_layouts
from emulation.p4runtime.pipeline.layout import (
    ArrayLayout,
    DigestLayout,
    MeterLayout,
    ProfileLayout,
    RegisterLayout,
    TableLayout,
    ValueSetLayout,
)
from emulation.p4runtime.pipeline.packet_header import PacketHeader
from emulation.p4runtime.pipeline.resolver import Resolver

__all__ = ["PIPELINES", "TRACED_PIPELINES", "Pipeline", "Pipelines"]

# Fields and wire types of the P4DeviceConfig message of early P4Runtime. BMv2's server takes plain JSON or
# this message, which p4lang's tutorials still send. It has left the specification, and no package carries it.
_DEVICE_DATA = 3
_VARINT, _LENGTH_DELIMITED = 0, 2
_LONGEST_VARINT = 63  # bits in front of its last byte

_KEPT = 8  # pipelines that outlive their last switch


@final
@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Compiled:
    """A program of the engine and the configuration it was compiled from."""

    program: _engine.Program
    source: bytes


@final
@dataclass(frozen=True, slots=True, weakref_slot=True)
class Pipeline:
    """A compiled P4 program with the objects of its p4info, as mappings by P4Runtime id.

    It is immutable and shared by switches, unless it translates strings, which each switch does on its own.
    """

    compiled: _Compiled
    p4info: p4i.P4Info
    tables: Mapping[int, TableLayout]
    entry_layouts: _engine.EntryLayouts
    profiles: Mapping[int, ProfileLayout]
    counters: Mapping[int, ArrayLayout]
    meters: Mapping[int, MeterLayout]
    registers: Mapping[int, RegisterLayout]
    digests: Mapping[int, DigestLayout]
    value_sets: Mapping[int, ValueSetLayout]
    packet_in: PacketHeader
    packet_out: PacketHeader
    has_strings: bool

    @property
    def program(self) -> _engine.Program:
        """Program executed by the engine."""
        return self.compiled.program

    @property
    def device_config(self) -> bytes:
        """Bytes of p4_device_config as they were pushed."""
        return self.compiled.source


@final
class Pipelines:
    """Cache of pipelines: each configuration is compiled once for all switches it is pushed to.

    The cache also keeps the latest pipelines, in use or not: the next run in the process often pushes the
    same programs. `traced` programs report each statement that a frame executes.
    """

    def __init__(self, *, traced: bool = False) -> None:
        self._traced = traced
        self._programs: WeakValueDictionary[bytes, _Compiled] = WeakValueDictionary()
        self._pipelines: WeakValueDictionary[tuple[bytes, bytes], Pipeline] = WeakValueDictionary()
        self._latest: deque[Pipeline] = deque(maxlen=_KEPT)

    def load(self, config: p4r.ForwardingPipelineConfig) -> Pipeline:
        """Compile and check a configuration; ProgramError names the first mismatch."""
        source = config.p4_device_config
        if not source:
            raise ProgramError("p4_device_config is empty", remedy="push the JSON that p4c-bm2-ss wrote")
        for latest in self._latest:  # to compare takes a fraction of the time of hashing
            if latest.device_config == source and latest.p4info == config.p4info:
                return latest
        program_hash = hashlib.sha256(source).digest()
        info_hash = hashlib.sha256(config.p4info.SerializeToString(deterministic=True)).digest()
        pipeline = self._pipelines.get((program_hash, info_hash))
        if pipeline is None:
            compiled = self._programs.get(program_hash) or _compile(source, self._traced)
            self._programs[program_hash] = compiled
            pipeline = _resolve(compiled, config.p4info)
            if pipeline.has_strings:  # each switch translates the strings of its own controllers
                return pipeline
            self._pipelines[program_hash, info_hash] = pipeline
            self._latest.append(pipeline)
        return pipeline


PIPELINES = Pipelines()
"""The cache of this process. Its servers share an event loop, so no two threads use it at once."""

TRACED_PIPELINES = Pipelines(traced=True)
"""The cache of testbeds that trace single frames through a program."""


def _compile(source: bytes, traced: bool) -> _Compiled:
    try:
        json = _program_json(source)
        program = _engine.Program(json, traced=True) if traced else _engine.Program(json)
        return _Compiled(program, source)
    except _engine.ProgramError as error:
        raise ProgramError(
            f"p4_device_config: {error}", remedy="push the JSON that p4c-bm2-ss wrote for v1model, whole"
        ) from error


def _resolve(compiled: _Compiled, given: p4i.P4Info) -> Pipeline:
    info = p4i.P4Info()
    info.CopyFrom(given)
    resolver = Resolver(compiled.program, info)
    tables = resolver.tables()
    packet_in, packet_out = (resolver.packet_header(name) for name in ("packet_in", "packet_out"))
    profiles = resolver.profiles()
    return Pipeline(
        compiled=compiled,
        p4info=info,
        tables=tables,
        entry_layouts=entry_layouts(compiled.program, tables),
        profiles=profiles,
        counters=resolver.counters(),
        meters=resolver.meters(),
        registers=resolver.registers(),
        digests=resolver.digests(),
        value_sets=resolver.value_sets(),
        packet_in=packet_in,
        packet_out=packet_out,
        has_strings=bool(resolver.strings),
    )


def _program_json(device_config: bytes) -> bytes:
    """Return the JSON of a p4_device_config; other bytes unchanged, for the JSON reader to refuse."""
    if device_config.lstrip()[:1] == b"{":
        return device_config
    try:
        return _field(device_config, _DEVICE_DATA) or device_config
    except (IndexError, ValueError):
        return device_config


def _field(message: bytes, wanted: int) -> bytes | None:
    """Return the last length-delimited field `wanted`, if any; ValueError or IndexError if malformed."""
    content, at = None, 0
    while at < len(message):
        tag, at = _varint(message, at)
        if tag & 7 == _VARINT:
            _, at = _varint(message, at)
        elif tag & 7 == _LENGTH_DELIMITED:
            length, at = _varint(message, at)
            if at + length > len(message):
                raise ValueError("a field goes beyond the end")
            if tag >> 3 == wanted:
                content = message[at : at + length]
            at += length
        else:
            raise ValueError(f"a field has wire type {tag & 7}; expected 0 or 2")
    return content


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if shift > _LONGEST_VARINT:
            raise ValueError("a varint has more than 64 bits")
        byte = message[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at

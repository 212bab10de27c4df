# SPDX-License-Identifier: Apache-2.0
"""Find every name of a p4info in the compiled program; ProgramError gives the first name without a match.

The compiler writes the p4info before it removes unused objects, such as the selector of a table that is never
applied. An object that the program lacks is therefore left out, provided that the p4info names all objects of
its kind in the program.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, final

from finsy.proto import p4i, p4t

from emulation import _engine
from emulation.errors import ProgramError
from emulation.p4runtime.pipeline.layout import (
    ActionLayout,
    ArrayLayout,
    DigestLayout,
    MeterLayout,
    Parameter,
    ProfileLayout,
    RegisterLayout,
    TableLayout,
    ValueSetLayout,
)
from emulation.p4runtime.pipeline.match import KeyLayout
from emulation.p4runtime.pipeline.objects import (
    REMEDY,
    alias_of,
    check_same,
    find_object,
    find_sized,
    is_field,
    items_by_name,
    objects_by_id,
    present_objects,
)
from emulation.p4runtime.pipeline.packet_header import PacketHeader
from emulation.p4runtime.pipeline.strings import StringCell, Strings
from emulation.p4runtime.pipeline.values import Number, Text, value_type

__all__ = ["Resolver"]

_MATCH = {
    p4i.MatchField.EXACT: "exact",
    p4i.MatchField.LPM: "lpm",
    p4i.MatchField.TERNARY: "ternary",
    p4i.MatchField.RANGE: "range",
    p4i.MatchField.OPTIONAL: "optional",
}
_UNITS = {p4i.MeterSpec.PACKETS: "packets", p4i.MeterSpec.BYTES: "bytes"}
_DIGEST_WITHOUT_TYPE_NAME = "digest"

_Typed = p4i.MatchField | p4i.Action.Param | p4i.ControllerPacketMetadata.Metadata


@final
class Resolver:
    """Finds the object of a compiled program that each object of a p4info describes."""

    def __init__(self, program: _engine.Program, info: p4i.P4Info) -> None:
        self._program = program
        self._info = info
        self._tables = items_by_name(program.tables)
        self._profiles = items_by_name(program.profiles)
        self._meters = items_by_name(program.meters)
        self._action_by_handle = {action["handle"]: action for action in program.actions}
        self._actions = objects_by_id("action", info.actions)
        self._counter_of = {counter.direct_table_id: counter.preamble.id for counter in info.direct_counters}
        direct_meters = objects_by_id("direct meter", info.direct_meters)
        self._meter_of = {meter.direct_table_id: meter for meter in direct_meters.values()}
        self._profile_info = objects_by_id("action profile", info.action_profiles)
        self.strings: dict[str, Strings] = {}
        """Translations to strings so far, by the name of the type."""

    # -- tables and action profiles

    def tables(self) -> dict[int, TableLayout]:
        """Return tables by id."""
        return self._table_layouts

    @cached_property
    def _table_layouts(self) -> dict[int, TableLayout]:
        # The compiler adds tables without keys, and tables with constant entries for `switch` statements.
        named = {
            table["name"] for table in self._tables.values() if table["keys"] and not table["const_entries"]
        }
        if named and not self._info.tables:
            raise ProgramError("the p4info names no table, but the program has tables", remedy=REMEDY)
        present = present_objects("table", self._info.tables, self._tables, named)
        return {id: self._table(table) for id, table in present.items()}

    def profiles(self) -> dict[int, ProfileLayout]:
        """Return action profiles by id."""
        present = present_objects("action profile", self._info.action_profiles, self._profiles)
        return {id: self._profile(profile) for id, profile in present.items()}

    def _table(self, info: p4i.Table) -> TableLayout:
        id, name = info.preamble.id, info.preamble.name
        real = find_object("table", name, self._tables)
        what = f"table {name!r}"
        available = {self._action_by_handle[handle]["name"]: handle for handle in real["actions"]}
        resolved = {}
        for reference in info.action_refs:
            if reference.id not in self._actions:
                raise ProgramError(
                    f"p4info: {what} names action id {reference.id}, which the p4info lacks", remedy=REMEDY
                )
            resolved[reference.id] = self._action(self._actions[reference.id], reference, available, what)
        self._same_profile(what, info.implementation_id, real["profile"])
        return TableLayout(
            id=id,
            name=alias_of(info),
            handle=real["handle"],
            keys=self._keys(info, real["keys"]),
            actions=resolved,
            const=info.is_const_table or (real["const_entries"] and not info.has_initial_entries),
            const_default=info.const_default_action_id != 0 or real["const_default"],
            initial=info.has_initial_entries and not info.is_const_table,
            initial_default=info.initial_default_action.action_id,
            profile=info.implementation_id,
            counter=self._counter_of.get(id, 0),
            meter=self._direct_meter(what, self._meter_of.get(id), real["meter"]),
            ageing=info.idle_timeout_behavior != p4i.Table.NO_TIMEOUT and real["ageing"],
            info=info,
        )

    def _keys(self, info: p4i.Table, real: list[Mapping[str, Any]]) -> tuple[KeyLayout, ...]:
        what = f"table {info.preamble.name!r}"
        alias = f"table {alias_of(info)!r}"
        check_same(what, "number of match fields", len(info.match_fields), len(real))
        keys = []
        for position, (field, key) in enumerate(zip(info.match_fields, real, strict=True)):
            check_same(f"{what}, match field {position + 1}", "name", field.name, key["name"])
            of = f"{what}, match field {field.name!r}"
            match = _match_of(field)
            masked = match == "optional" and key["match"] == "ternary"
            check_same(of, "match type", "ternary" if masked else match, key["match"])
            if field.bitwidth or field.type_name.name:  # p4c gives a key of type error no width
                self._same_width(of, field, key["bits"])
            strings = self._strings_of(field, key["bits"])
            if strings is not None and match not in ("exact", "optional"):
                raise ProgramError(
                    f"p4info: {of}: strings match exactly or not at all, but the match type is {match}",
                    remedy=f"translate type {field.type_name.name!r} to bit<W>, or make the field exact",
                )
            keys.append(KeyLayout(field.id, field.name, match, key["bits"], position, alias, masked, strings))
        _check_fields(what, keys)
        return tuple(keys)

    def _action(
        self, info: p4i.Action, reference: p4i.ActionRef, available: Mapping[str, int], table: str
    ) -> ActionLayout:
        name = info.preamble.name
        if name not in available:
            raise ProgramError(f"p4info: {table} has action {name!r}, but not in the program", remedy=REMEDY)
        handle = available[name]
        what = f"action {name!r}"
        real = self._action_by_handle[handle]["params"]
        check_same(what, "number of parameters", len(info.params), len(real))
        parameters = []
        for position, (given, (real_name, bits)) in enumerate(zip(info.params, real, strict=True)):
            check_same(f"{what}, parameter {position + 1}", "name", given.name, real_name)
            self._same_width(f"{what}, parameter {given.name!r}", given, bits)
            parameters.append(Parameter(given.id, given.name, bits, self._strings_of(given, bits)))
        return ActionLayout(
            id=info.preamble.id,
            name=alias_of(info),
            handle=handle,
            parameters=tuple(parameters),
            for_entries=reference.scope != p4i.ActionRef.DEFAULT_ONLY,
            for_default=reference.scope != p4i.ActionRef.TABLE_ONLY,
        )

    def _same_profile(self, what: str, id: int, handle: int | None) -> None:
        if id and id not in self._profile_info:
            raise ProgramError(
                f"p4info: {what} names action profile id {id}, which the p4info lacks", remedy=REMEDY
            )
        given = self._profile_info[id].preamble.name if id else None
        real = next((name for name, item in self._profiles.items() if item["handle"] == handle), None)
        check_same(what, "action profile", given, real)

    def _profile(self, info: p4i.ActionProfile) -> ProfileLayout:
        name = info.preamble.name
        real = find_object("action profile", name, self._profiles)
        check_same(f"action profile {name!r}", "with_selector", info.with_selector, real["selector"])
        users = [table for table in self._table_layouts.values() if table.profile == info.preamble.id]
        if any(set(table.actions) != set(users[0].actions) for table in users):
            raise ProgramError(
                f"p4info: the tables of action profile {name!r} have different actions", remedy=REMEDY
            )
        return ProfileLayout(
            id=info.preamble.id,
            name=alias_of(info),
            handle=real["handle"],
            selector=info.with_selector,
            size=info.size,
            max_group_size=info.max_group_size,
            by_members=info.HasField("sum_of_members"),
            max_member_weight=info.sum_of_members.max_member_weight,
            weights_disallowed=info.weights_disallowed,
            actions=users[0].actions if users else {},
        )

    # -- arrays and digests

    def counters(self) -> dict[int, ArrayLayout]:
        """Return indexed counters by id."""
        real = items_by_name(self._program.counters)
        direct = {info.preamble.name for info in self._info.direct_counters}
        return {
            id: ArrayLayout(id, alias_of(info), find_sized("counter", info, real)["handle"], info.size)
            for id, info in present_objects(
                "counter", self._info.counters, real, real.keys() - direct
            ).items()
        }

    def meters(self) -> dict[int, MeterLayout]:
        """Return indexed meters by id."""
        layouts = {}
        direct = {info.preamble.name for info in self._info.direct_meters}
        named = self._meters.keys() - direct
        for id, info in present_objects("meter", self._info.meters, self._meters, named).items():
            real = find_sized("meter", info, self._meters)
            check_same(f"meter {info.preamble.name!r}", "unit", _UNITS.get(info.spec.unit), real["unit"])
            layouts[id] = MeterLayout(id, alias_of(info), real["handle"], info.size, info.spec.type)
        return layouts

    def _direct_meter(
        self, what: str, info: p4i.DirectMeter | None, handle: int | None
    ) -> MeterLayout | None:
        if info is None:
            return None
        real = find_object("direct meter", info.preamble.name, self._meters)
        check_same(what, "direct meter", real["handle"], handle)
        check_same(f"direct meter {info.preamble.name!r}", "unit", _UNITS.get(info.spec.unit), real["unit"])
        return MeterLayout(info.preamble.id, alias_of(info), real["handle"], 0, info.spec.type)

    def registers(self) -> dict[int, RegisterLayout]:
        """Return registers by id."""
        by_name = items_by_name(self._program.registers)
        layouts = {}
        for id, info in present_objects("register", self._info.registers, by_name).items():
            real = find_sized("register", info, by_name)
            number = self._register_type(info.type_spec, real["bits"])
            if number is not None:
                check_same(f"register {info.preamble.name!r}", "width in bits", number.bits, real["bits"])
            layouts[id] = RegisterLayout(id, alias_of(info), real["handle"], info.size, number)
        return layouts

    def _register_type(self, spec: p4t.P4DataTypeSpec, bits: int) -> Number | StringCell | None:
        try:
            type = value_type(spec, self._info.type_info)
        except ProgramError:
            return None
        if isinstance(type, Text):
            return StringCell(bits, self.strings.setdefault(type.name, Strings(bits)))
        if isinstance(type, Number):
            return Number(bits, False) if type.translated else type
        return None

    def digests(self) -> dict[int, DigestLayout]:
        """Return digests by id.

        If a digest's type has no name, its name in the program differs from the p4info's, and its position in
        the p4info identifies it. If p4c has removed digests, each such digest of the program belongs to the
        first p4info digest left with equal widths.
        """
        in_program = self._program.digests
        by_name = items_by_name(in_program)
        digests = objects_by_id("digest", self._info.digests)
        if len(in_program) == len(digests):
            for info, real in zip(digests.values(), in_program, strict=True):
                by_name.setdefault(info.preamble.name, real)
        else:
            for real in (real for real in in_program if real["name"] == _DIGEST_WITHOUT_TYPE_NAME):
                for info in digests.values():
                    widths = value_type(info.type_spec, self._info.type_info).widths
                    if info.preamble.name not in by_name and widths == tuple(real["bits"]):
                        by_name[info.preamble.name] = real
                        break
            named = by_name.keys() - {_DIGEST_WITHOUT_TYPE_NAME}
            digests = present_objects("digest", self._info.digests, by_name, named)
        layouts = {}
        for id, info in digests.items():
            name = info.preamble.name
            real = by_name[name]
            type = value_type(info.type_spec, self._info.type_info, self._text_of)
            widths, bits = type.widths, tuple(real["bits"])
            if len(widths) == len(bits):
                widths = tuple(
                    there if here is None else here for here, there in zip(widths, bits, strict=True)
                )
            check_same(f"digest {name!r}", "widths in bits", widths, bits)
            layouts[id] = DigestLayout(id, alias_of(info), real["handle"], type, bits)
        return layouts

    def value_sets(self) -> dict[int, ValueSetLayout]:
        """Return parser value sets by id."""
        by_name = items_by_name(self._program.value_sets)
        layouts = {}
        for id, info in present_objects("value set", self._info.value_sets, by_name).items():
            real = find_object("value set", info.preamble.name, by_name)
            what = f"value set {info.preamble.name!r}"
            check_same(what, "widths in bits", [field.bitwidth for field in info.match], list(real["fields"]))
            of = f"value set {alias_of(info)!r}"
            keys = [
                KeyLayout(field.id, field.name, _match_of(field), field.bitwidth, position, of)
                for position, field in enumerate(info.match)
            ]
            _check_fields(what, keys)
            layouts[id] = ValueSetLayout(id, alias_of(info), real["handle"], info.size, tuple(keys))
        return layouts

    # -- packet headers

    def packet_header(self, name: str) -> PacketHeader:
        """Return the controller header "packet_in" or "packet_out"."""
        for info in self._info.controller_packet_metadata:
            if info.preamble.name == name:
                break
        else:
            return PacketHeader.none(name)
        what = f"controller header {name!r}"
        # The p4info names the header's type, the program its instances.
        headers = {header["name"]: header["fields"] for header in self._program.headers}
        fields = next((fields for fields in headers.values() if self._describes(info, fields)), None)
        if fields is None:
            names = [field.name for field in info.metadata]
            similar = (
                fields
                for fields in headers.values()
                if len(fields) == len(names)
                and all(is_field(given, real) for given, (real, _) in zip(names, fields, strict=True))
            )
            fields = headers.get(name) or next(similar, None)
            if fields is None:
                return PacketHeader.none(name)  # p4c removes a header that is neither read nor emitted
            check_same(what, "number of fields", len(info.metadata), len(fields))
            for position, (given, (real_name, bits)) in enumerate(zip(info.metadata, fields, strict=True)):
                if not is_field(given.name, real_name):
                    check_same(f"{what}, field {position + 1}", "name", given.name, real_name)
                self._same_width(f"{what}, field {given.name!r}", given, bits)
        if sum(bits for _, bits in fields) % 8:
            raise ProgramError(
                f"{what} has {sum(bits for _, bits in fields)} bits, not a whole number of bytes",
                remedy="pad the header to a whole byte",
            )
        widths = [bits for _, bits in fields]
        named = (
            (field.id, self._strings_of(field, bits))
            for field, bits in zip(info.metadata, widths, strict=True)
        )
        return PacketHeader.of(info, widths, {id: strings for id, strings in named if strings is not None})

    def _describes(self, info: p4i.ControllerPacketMetadata, fields: Sequence[tuple[str, int]]) -> bool:
        return len(info.metadata) == len(fields) and all(
            is_field(given.name, name) and (given.bitwidth == bits or self._translated(given))
            for given, (name, bits) in zip(info.metadata, fields, strict=True)
        )

    def _same_width(self, what: str, given: _Typed, bits: int) -> None:
        """Check a width, unless the type is translated: then its width in the p4info may differ."""
        if not self._translated(given):
            check_same(what, "width in bits", given.bitwidth, bits)

    def _translated(self, given: _Typed) -> bool:
        new = self._info.type_info.new_types
        return given.type_name.name in new and new[given.type_name.name].HasField("translated_type")

    def _strings_of(self, given: _Typed, bits: int) -> Strings | None:
        """Return the translation of a type to strings; None if controllers see its numbers."""
        name = given.type_name.name
        if not self._translated(given):
            return None
        if not self._info.type_info.new_types[name].translated_type.HasField("sdn_string"):
            return None
        return self.strings.setdefault(name, Strings(bits))

    def _text_of(self, name: str, number: int) -> bytes:
        strings = self.strings.get(name)
        return b"%d" % number if strings is None else strings.text_of(number)


def _match_of(field: p4i.MatchField) -> str:
    return _MATCH.get(field.match_type, "unsupported")


def _check_fields(what: str, keys: list[KeyLayout]) -> None:
    if len({key.id for key in keys}) != len(keys):
        ids = [key.id for key in keys]
        raise ProgramError(
            f"p4info: {what} has two match fields with id {max(ids, key=ids.count)}", remedy=REMEDY
        )

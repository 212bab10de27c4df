# SPDX-License-Identifier: Apache-2.0
"""Objects of a pipeline, resolved once, so that an update is decoded without a search by name."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, final

from finsy.proto import p4i, p4r, rpc_code

from emulation.p4runtime.pipeline.match import Key, KeyLayout
from emulation.p4runtime.pipeline.strings import StringCell, Strings
from emulation.p4runtime.pipeline.values import Number, ValueType, canonical, fitting, unsigned
from emulation.p4runtime.status import Refusal

__all__ = [
    "ActionLayout",
    "ArrayLayout",
    "DigestLayout",
    "MeterLayout",
    "Parameter",
    "ProfileLayout",
    "Rates",
    "RegisterLayout",
    "TableLayout",
    "ValueSetLayout",
    "meter_config",
]

_INVALID = rpc_code.INVALID_ARGUMENT

Rates = tuple[int, int, int, int]
"""Committed rate and burst, peak rate and burst of a meter, in packets or bytes; rates are per second."""


@final
@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an action; `strings` translates it if controllers see it as a string."""

    id: int
    name: str
    bits: int
    strings: Strings | None = None


@final
@dataclass(frozen=True, slots=True)
class ActionLayout:
    """An action of a table; `for_entries` and `for_default` say which entries may have it."""

    id: int
    name: str
    handle: int
    parameters: tuple[Parameter, ...]
    for_entries: bool
    for_default: bool

    def decode(self, action: p4r.Action) -> list[bytes]:
        """Return the parameter values in the program's order; a Refusal if they do not fit."""
        given = action.params
        parameters = self.parameters
        if len(given) == len(parameters):
            values = []
            for sent, parameter in zip(given, parameters, strict=True):
                if sent.param_id != parameter.id:
                    break
                value = None if parameter.strings else fitting(sent.value, parameter.bits)
                values.append(self._value(sent.value, parameter) if value is None else value)
            else:
                return values
        return self._decode_any_order(given)

    def _decode_any_order(self, given: Iterable[p4r.Action.Param]) -> list[bytes]:
        sent: dict[int, bytes] = {}
        for parameter in given:
            if parameter.param_id in sent:
                raise Refusal(
                    _INVALID, f"action {self.name!r}: parameter {parameter.param_id} is given twice"
                )
            sent[parameter.param_id] = parameter.value
        values = []
        for parameter in self.parameters:
            if parameter.id not in sent:
                raise Refusal(_INVALID, f"action {self.name!r}: parameter {parameter.name!r} has no value")
            values.append(self._value(sent.pop(parameter.id), parameter))
        if sent:
            raise Refusal(_INVALID, f"action {self.name!r} has no parameter with id {next(iter(sent))}")
        return values

    def _value(self, value: bytes, parameter: Parameter) -> bytes:
        what = f"action {self.name!r}, parameter {parameter.name!r}"
        if parameter.strings is not None:
            return parameter.strings.number(value, what)
        return unsigned(value, parameter.bits, what)

    def encode(self, action: p4r.Action, values: Sequence[bytes]) -> None:
        """Fill in the action message with parameter values in canonical form."""
        action.action_id = self.id
        for parameter, value in zip(self.parameters, values, strict=True):
            strings = parameter.strings
            sent = canonical(value) if strings is None else strings.text(value)
            action.params.add(param_id=parameter.id, value=sent)


@final
@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """An indexed counter of `size` cells, one an index; `handle` is the counter's number in the engine."""

    id: int
    name: str
    handle: int
    size: int


@final
@dataclass(frozen=True, slots=True)
class RegisterLayout:
    """A register. `type` is None if its cells are neither numbers nor strings: they cannot be accessed."""

    id: int
    name: str
    handle: int
    size: int
    type: Number | StringCell | None


@final
@dataclass(frozen=True, slots=True)
class MeterLayout:
    """An indexed meter of `size` cells, or a table's direct meter (size 0). `type`: a p4i.MeterSpec.Type."""

    id: int
    name: str
    handle: int
    size: int
    type: int

    def rates(self, config: p4r.MeterConfig) -> Rates:
        """Return the rates of a configuration; a Refusal if they do not suit the meter's type.

        The engine's two-rate meter serves every meter type, but has no excess burst.
        """
        what = f"meter {self.name!r}"
        rates = (config.cir, config.cburst, config.pir, config.pburst)
        if min(*rates, config.eburst) < 0:
            raise Refusal(
                _INVALID,
                f"{what}: cir, cburst, pir, pburst and eburst must be 0 or more, but are "
                f"{', '.join(map(str, (*rates, config.eburst)))}",
            )
        if self.type == p4i.MeterSpec.TWO_RATE_THREE_COLOR:
            if config.cir > config.pir:
                raise Refusal(_INVALID, f"{what}: cir {config.cir} is above pir {config.pir}")
        elif rates[:2] != rates[2:]:
            raise Refusal(
                _INVALID,
                f"{what} has one rate, so pir {config.pir} must equal cir {config.cir}, and pburst "
                f"{config.pburst} must equal cburst {config.cburst}",
            )
        if config.eburst:
            if self.type == p4i.MeterSpec.SINGLE_RATE_THREE_COLOR:
                raise Refusal(
                    rpc_code.UNIMPLEMENTED,
                    f"{what}: eburst is {config.eburst}, but excess bursts are not supported; give 0",
                )
            raise Refusal(
                _INVALID,
                f"{what}: eburst is {config.eburst}, but must be 0 for this meter type",
            )
        return rates

    def refuse_color_counts(self) -> Refusal:
        """Return the refusal of a request with MeterCounterData."""
        return Refusal(rpc_code.UNIMPLEMENTED, f"meter {self.name!r}: counters by colour are not supported")


def meter_config(rates: Rates) -> p4r.MeterConfig:
    """Return the MeterConfig of these rates, as a Read returns it."""
    cir, cburst, pir, pburst = rates
    return p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)


@final
@dataclass(frozen=True, slots=True)
class DigestLayout:
    """A digest; `handle` is its number in the engine, `widths` the bits of each leaf in the program."""

    id: int
    name: str
    handle: int
    type: ValueType
    widths: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class ValueSetLayout:
    """A parser's value set of at most `size` members."""

    id: int
    name: str
    handle: int
    size: int
    keys: tuple[KeyLayout, ...]


@final
@dataclass(frozen=True, slots=True)
class ProfileLayout:
    """An action profile, or with `selector` an action selector.

    Sizes count weights; with `by_members`, they count members. 0 means no limit. All tables of the
    profile have the same `actions`. `known_sets` caches decoded action sets by their serialised
    form: the switches of a pipeline have most sets in common.
    """

    id: int
    name: str
    handle: int
    selector: bool
    size: int
    max_group_size: int
    by_members: bool
    max_member_weight: int
    weights_disallowed: bool
    actions: Mapping[int, ActionLayout]
    known_sets: dict[bytes, Any] = field(default_factory=dict[bytes, Any], compare=False, repr=False)

    @property
    def what(self) -> str:
        """Name of the profile for messages."""
        return f"action {'selector' if self.selector else 'profile'} {self.name!r}"

    def action(self, sent: p4r.Action) -> tuple[ActionLayout, list[bytes]]:
        """Return the layout and parameter values of an entry's action; Refusal if entries may not have it."""
        action = self.actions.get(sent.action_id)
        if action is None:
            raise Refusal(_INVALID, f"{self.what} has no action with id {sent.action_id}")
        if not action.for_entries:
            raise Refusal(
                rpc_code.PERMISSION_DENIED, f"{self.what}: action {action.name!r} is for the default entry"
            )
        return action, action.decode(sent)


@final
@dataclass(frozen=True, slots=True)
class TableLayout:
    """A table of the pipeline: its P4Runtime definition and its handles in the engine.

    `profile` and `counter` are the ids of the table's action profile and direct counter, or 0. `initial`: the
    program gives the table entries that controllers may change. `ordered`: entries need a priority.
    """

    id: int
    name: str
    handle: int
    keys: tuple[KeyLayout, ...]
    actions: Mapping[int, ActionLayout]
    const: bool
    const_default: bool
    initial: bool
    initial_default: int
    profile: int
    counter: int
    meter: MeterLayout | None
    ageing: bool
    info: p4i.Table
    keys_by_id: Mapping[int, KeyLayout] = field(init=False)
    actions_by_handle: Mapping[int, ActionLayout] = field(init=False)
    wildcards: tuple[Key | None, ...] = field(init=False)
    ordered: bool = field(init=False)
    has_direct: bool = field(init=False)

    def __post_init__(self) -> None:
        derive = object.__setattr__
        derive(self, "keys_by_id", {key.id: key for key in self.keys})
        derive(self, "actions_by_handle", {action.handle: action for action in self.actions.values()})
        derive(self, "wildcards", tuple(key.wildcard for key in self.keys))
        derive(self, "has_direct", bool(self.counter or self.meter or self.ageing))
        derive(self, "ordered", any(key.match in ("ternary", "range", "optional") for key in self.keys))

    def decode_match(self, entry: p4r.TableEntry) -> list[Key]:
        """Return the engine's key of an entry; absent fields become wildcards, malformed fields a Refusal."""
        by_id = self.keys_by_id
        decoded: list[Key | None] = [None] * len(self.keys)
        for sent in entry.match:
            key = by_id.get(sent.field_id)
            if key is None:
                raise Refusal(_INVALID, f"table {self.name!r} has no match field with id {sent.field_id}")
            if decoded[key.position] is not None:
                raise Refusal(_INVALID, f"{key.what} is given twice")
            # Fast path of the common case; decode() reports anything that is wrong with the field.
            plain = key.match == "exact" and key.strings is None
            value = fitting(sent.exact.value, key.bits) if plain else None
            decoded[key.position] = key.decode(sent) if value is None else (value, b"", 0)
        if None in decoded:
            decoded = [
                wildcard if value is None else value
                for value, wildcard in zip(decoded, self.wildcards, strict=True)
            ]
            if None in decoded:
                missing = self.keys[decoded.index(None)]
                raise Refusal(_INVALID, f"{missing.what} is exact and must be given")
        return decoded  # pyright: ignore[reportReturnType]

    def decode_priority(self, entry: p4r.TableEntry) -> int:
        """Return the priority, which must be above 0 if entries can overlap and 0 if they cannot."""
        priority = entry.priority
        if self.ordered:
            if priority <= 0:
                raise Refusal(
                    _INVALID,
                    f"table {self.name!r}: priority is {priority}, but must be above 0 for ternary, range or "
                    "optional keys",
                )
        elif priority != 0:
            raise Refusal(
                _INVALID, f"table {self.name!r}: priority is {priority}, but must be 0 for exact and LPM keys"
            )
        return priority

    def action(self, action_id: int) -> ActionLayout:
        """Return the action with an id, as this table uses it."""
        action = self.actions.get(action_id)
        if action is None:
            raise Refusal(_INVALID, f"table {self.name!r} has no action with id {action_id}")
        return action

    def encode_key(self, keys: Sequence[Key], priority: int) -> p4r.TableEntry:
        """Return an entry with its key only."""
        # The program numbers its own entries even if the keys leave nothing to order.
        entry = p4r.TableEntry(table_id=self.id, priority=priority if self.ordered else 0)
        for key, value in zip(self.keys, keys, strict=True):
            key.encode(entry, value)
        return entry

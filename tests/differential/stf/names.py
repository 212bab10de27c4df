# SPDX-License-Identifier: Apache-2.0
"""Meaning of an STF file's names in a compiled program, and of its numbers in a table's keys.

A file may leave out the front of a name (`t` for `ingress.t`), writes stacks as `stack$1.field`, and a
validity bit as `header.valid` or `header.$valid$`.
"""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, final

from tests.differential.stf.language import Add, SetDefault, StfError

__all__ = ["Entry", "Key", "Match", "Names", "Table"]


@final
@dataclass(frozen=True, slots=True)
class Key:
    name: str
    kind: str  # exact, lpm, ternary, range
    bits: int


@final
@dataclass(frozen=True, slots=True)
class Match:
    """`extra` is a ternary key's mask or the upper end of a range, `prefix` the length of an lpm key."""

    value: int
    extra: int
    prefix: int


@final
@dataclass(frozen=True, slots=True)
class Table:
    name: str
    ordered: bool  # its entries have priorities
    keys: tuple[Key, ...]
    actions: dict[str, tuple[str, ...]]  # the names of each action's arguments
    profile: str | None = None  # the action profile that has its members


@final
@dataclass(frozen=True, slots=True)
class Entry:
    """`matches` is empty for a default action; the larger `priority` is the more important."""

    table: Table
    matches: tuple[Match, ...]
    priority: int
    action: str
    arguments: tuple[int, ...]
    others: tuple[tuple[str, tuple[int, ...]], ...] = ()  # calls of a group's further members


class Names:
    """The tables of one program in BMv2's JSON."""

    def __init__(self, bmv2_json: bytes) -> None:
        program: dict[str, Any] = json.loads(bmv2_json)
        types = {item["name"]: {f[0]: f[1] for f in item["fields"]} for item in program["header_types"]}
        headers = {item["name"]: types[item["header_type"]] for item in program["headers"]}
        actions = {item["id"]: item for item in program["actions"]}
        self.tables: dict[str, Table] = {}
        for table in (table for pipeline in program["pipelines"] for table in pipeline["tables"]):
            keys = tuple(_key(key, headers) for key in table["key"])
            calls = {
                actions[number]["name"]: tuple(p["name"] for p in actions[number]["runtime_data"])
                for number in table["action_ids"]
            }
            ordered = table["match_type"] in ("ternary", "range")
            self.tables[table["name"]] = Table(
                table["name"], ordered, keys, calls, table.get("action_profile")
            )
        self.counters = [item["name"] for item in program.get("counter_arrays", ())]

    def entry(self, statement: Add | SetDefault) -> Entry:
        """StfError names what the program does not have."""
        try:
            return self._entry(statement)
        except ValueError as ex:
            raise StfError(f"line {statement.line}: {ex}") from ex

    def _entry(self, statement: Add | SetDefault) -> Entry:
        table = self.tables[lookup("table", statement.table, self.tables)]
        action, arguments = _call(table, statement.action, statement.arguments)
        if isinstance(statement, SetDefault):
            return Entry(table, (), 0, action, arguments)
        if table.ordered and statement.priority is None:
            raise ValueError(f"table {table.name} needs a priority")
        written = {_key_name(name, table.keys): value for name, value in statement.keys}
        matches = tuple(_match(key, written.get(key.name)) for key in table.keys)
        others = tuple(_call(table, *call) for call in statement.others)
        return Entry(table, matches, statement.priority or 0, action, arguments, others)


def _call(table: Table, action: str, given: Iterable[tuple[str, str]]) -> tuple[str, tuple[int, ...]]:
    """Return the full name of an action, and its arguments in order."""
    action = lookup(f"action of {table.name}", action, table.actions)
    names = table.actions[action]
    values = {lookup(f"argument of {action}", name, names): number(value) for name, value in given}
    if missing := [name for name in names if name not in values]:
        raise ValueError(f"{action} needs {', '.join(missing)}")
    return action, tuple(values[name] for name in names)


def lookup(what: str, wanted: str, names: Collection[str]) -> str:
    """The one of `names` that is `wanted` or ends with it, whole components first."""
    for fits in (lambda n: n == wanted, lambda n: n.endswith("." + wanted), lambda n: n.endswith(wanted)):
        result = [name for name in names if fits(name)]
        if len(result) == 1:
            return result[0]
        if result:
            raise ValueError(f"{what} {wanted} may be {' or '.join(sorted(result))}")
    raise ValueError(f"{what} {wanted} is none of {', '.join(sorted(names)) or 'nothing'}")


def number(text: str) -> int:
    """A number without don't-care digits."""
    return int(text, 0) if not text.isdecimal() else int(text)


def _key(key: dict[str, Any], headers: dict[str, dict[str, int]]) -> Key:
    header, field = key["target"]
    bits = 1 if field == "$valid$" else headers[header][field]
    return Key(key.get("name") or f"{header}.{field}", key["match_type"], bits)


def _key_name(wanted: str, keys: Iterable[Key]) -> str:
    wanted = re.sub(r"\$(\d+)", r"[\1]", wanted)
    names = [key.name for key in keys]
    spellings = [wanted, wanted + "$", wanted + ".$valid$"]
    if wanted.rpartition(".")[2] == "valid":
        spellings.append(wanted.removesuffix("valid") + "$valid$")
    for spelling in spellings:
        if spelling in names:
            return spelling
    for spelling in spellings:
        if any(name.endswith("." + spelling) for name in names):
            return lookup("key", spelling, names)
    raise ValueError(f"key {wanted} is none of {', '.join(names) or 'nothing'}")


def _match(key: Key, text: str | None) -> Match:
    full = (1 << key.bits) - 1
    if text is None:
        return Match(0, full if key.kind == "range" else 0, 0)
    text, _, length = text.partition("/")
    value, mask = _digits(text, full)
    if value > full:
        raise ValueError(f"{text} is wider than key {key.name} of {key.bits} bits")
    if key.kind == "lpm":
        prefix = int(length) if length else mask.bit_count()
        if not length and mask != full & ~(full >> prefix):
            raise ValueError(f"{text} is no prefix of key {key.name}")
        return Match(value, 0, prefix)
    if key.kind == "ternary":
        return Match(value, mask, 0)
    if mask != full:
        raise ValueError(f"key {key.name} is {key.kind}: it takes no *")
    return Match(value, value if key.kind == "range" else 0, 0)


def _digits(text: str, full: int) -> tuple[int, int]:
    """Value and mask; the digits in front that are not written are zero, and matter."""
    if "*" not in text:
        return number(text), full
    base, digit = {"0x": (16, "F"), "0b": (2, "1"), "0o": (8, "7")}.get(text[:2].lower(), (0, ""))
    if not base:
        raise ValueError(f"{text}: a decimal number cannot have a *")
    open_bits = int(re.sub(r"\*", digit, re.sub(r"[^*]", "0", text[2:])), base)
    return int(text[2:].replace("*", "0"), base), full & ~open_bits

# SPDX-License-Identifier: Apache-2.0
"""Actions and tables of a random program."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import final

from tests.differential.shapes.expressions import Expressions, Operand, Scope, constant

__all__ = ["Action", "Table", "random_actions", "random_tables"]

_KINDS = ("exact", "exact", "ternary", "range", "optional")
_MOST_KEYS, _MOST_ENTRIES = 3, 4
_HASHES = ("crc16", "crc32", "csum16", "xor16", "identity")


@final
@dataclass(frozen=True, slots=True)
class Action:
    """An action with its parameters from the control plane."""

    name: str
    parameters: tuple[Operand, ...]
    body: str

    def declaration(self) -> str:
        parameters = ", ".join(f"bit<{place.bits}> {place.text}" for place in self.parameters)
        return f"    action {self.name}({parameters}) {{\n{self.body}    }}\n"

    def call(self, values: Expressions) -> str:
        """Return a call with literal arguments."""
        return f"{self.name}({', '.join(values.literal(place.bits) for place in self.parameters)})"


@final
@dataclass(frozen=True, slots=True)
class Table:
    """A table: its declarations, and the names of its actions."""

    name: str
    declaration: str
    actions: tuple[str, ...]


def random_actions(
    rng: random.Random, prefix: str, scope: Scope, statements: Callable[[Scope, int], str]
) -> list[Action]:
    """Return actions; `statements` makes so many statements in a scope."""
    actions: list[Action] = []
    for number in range(rng.randrange(1, 5)):
        widths = [rng.choice((1, 8, 9, 16, 32, 33, 48, 65, 128)) for _ in range(rng.randrange(3))]
        parameters = tuple(Operand(f"p{index}", bits) for index, bits in enumerate(widths))
        inside = scope.and_also(parameters, writable=False)
        actions.append(Action(f"{prefix}_a{number}", parameters, statements(inside, rng.randrange(1, 4))))
    return actions


def random_tables(
    rng: random.Random, prefix: str, scope: Scope, actions: list[Action], values: Expressions
) -> list[Table]:
    """Return tables over the actions, each to be applied once."""
    return [_table(rng, f"{prefix}_t{number}", scope, actions, values) for number in range(rng.randrange(4))]


def _table(rng: random.Random, name: str, scope: Scope, actions: list[Action], values: Expressions) -> Table:
    chosen = rng.sample(actions, rng.randrange(1, min(3, len(actions)) + 1))
    keys = list(_keys(rng, scope))
    lines = "".join(
        f'            {text}: {kind} @name("k{at}");\n' for at, (text, _, kind) in enumerate(keys)
    )
    before, properties = "", ""
    selector = rng.random() < 0.12
    if selector and keys:
        bits = rng.choice((8, 14, 16))
        algorithm = f"HashAlgorithm.{rng.choice(_HASHES[:2])}"
        before = f"    action_selector({algorithm}, 64, {bits}) {name}_s;\n"
        properties = f"        implementation = {name}_s;\n"
        source = rng.choice(scope.readable)
        lines += f"            {source.text}: selector;\n"
    elif rng.random() < 0.1 and keys:
        before = f"    action_profile(32) {name}_p;\n"
        properties = f"        implementation = {name}_p;\n"
    else:
        final_action = rng.choice(chosen)
        const = "const " if rng.random() < 0.3 else ""
        properties = f"        {const}default_action = {final_action.call(values)};\n"
        if keys and rng.random() < 0.25:
            properties += _entries(rng, keys, chosen, values)
        elif keys and rng.random() < 0.3:
            before = f"    direct_counter(CounterType.packets_and_bytes) {name}_c;\n"
            properties += f"        counters = {name}_c;\n"
    names = [action.name for action in chosen]
    listed = "".join(f"            {action};\n" for action in names)
    key = f"        key = {{\n{lines}        }}\n" if keys else ""
    properties = f"        actions = {{\n{listed}        }}\n{properties}        size = 64;\n"
    return Table(name, f"{before}    table {name} {{\n{key}{properties}    }}\n", tuple(names))


def _keys(rng: random.Random, scope: Scope) -> Iterator[tuple[str, int, str]]:
    """Yield text, width and match kind of each key; none for a table without a key."""
    count = rng.randrange(_MOST_KEYS + 1)
    kind = "lpm" if rng.random() < 0.2 else ""
    for _ in range(count):
        place = rng.choice(scope.readable)
        if rng.random() < 0.1 and scope.headers:
            yield f"{rng.choice(scope.headers)}.isValid()", 0, "exact"
        elif kind == "lpm" and place.bits % 8 == 0:  # PI counts a prefix from the first bit of a whole byte
            yield place.text, place.bits, "lpm"
            kind = "rest exact"
        elif kind:
            yield place.text, place.bits, "exact"
        else:
            yield place.text, place.bits, rng.choice(_KINDS)


def _entries(
    rng: random.Random, keys: list[tuple[str, int, str]], actions: list[Action], values: Expressions
) -> str:
    """Return `const entries` with distinct keys."""
    rows: dict[str, str] = {}
    for _ in range(rng.randrange(1, _MOST_ENTRIES + 1)):
        cells = [_cell(rng, bits, kind, values) for _, bits, kind in keys]
        key = cells[0] if len(cells) == 1 else f"({', '.join(cells)})"
        rows[key] = rng.choice(actions).call(values)
    lines = "".join(f"            {key}: {action};\n" for key, action in rows.items())
    return f"        const entries = {{\n{lines}        }}\n"


def _cell(rng: random.Random, bits: int, kind: str, values: Expressions) -> str:
    if bits == 0:
        return rng.choice(("true", "false"))
    top = (1 << bits) - 1
    match kind:
        case "lpm" if bits <= 64:  # p4c refuses prefixes of wider keys
            mask = top ^ top >> rng.randrange(bits + 1)
            return f"{constant(rng.getrandbits(bits) & mask, bits)} &&& {constant(mask, bits)}"
        case "ternary":
            mask = rng.getrandbits(bits)
            return f"{constant(rng.getrandbits(bits) & mask, bits)} &&& {constant(mask, bits)}"
        case "range":
            low, high = sorted((rng.getrandbits(bits), rng.getrandbits(bits)))
            return f"{constant(low, bits)} .. {constant(high, bits)}"
        case "optional" if rng.random() < 0.3:
            return "_"
        case _:
            return values.literal(bits)

# SPDX-License-Identifier: Apache-2.0
"""Headers, metadata and the parser of a random program."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import final

from tests.differential.shapes.expressions import WIDTHS, Operand, constant

__all__ = ["FIELD_LIST", "Data", "Header", "random_data"]

FIELD_LIST = 1
"""Index of the field list that clones and further passes preserve."""

_FIRST_BITS = 14 * 8  # the kernel carries no shorter frame
_MOST_HEADERS, _MOST_FIELDS = 5, 6
_STACK_SIZE = 3


@final
@dataclass(frozen=True, slots=True)
class Header:
    """A header: its name in `headers_t`, its type, and the names and widths of its fields."""

    name: str
    type: str
    fields: tuple[tuple[str, int], ...]

    def places(self, instance: str = "") -> tuple[Operand, ...]:
        """Return the fields of the header, or of another instance of its type."""
        return tuple(Operand(f"{instance or 'hdr.' + self.name}.{name}", bits) for name, bits in self.fields)

    def declaration(self) -> str:
        fields = "".join(f"    bit<{bits}> {name};\n" for name, bits in self.fields)
        return f"header {self.type} {{\n{fields}}}\n"


@final
@dataclass(frozen=True, slots=True)
class Data:
    """The headers, the first of them in every frame; the stack, if any; the metadata; the parser."""

    headers: tuple[Header, ...]
    stack: Header | None
    metadata: tuple[Operand, ...]
    parser: str
    value_set: bool

    @property
    def first(self) -> Header:
        return self.headers[0]

    @property
    def elements(self) -> tuple[str, ...]:
        """Elements of the stack."""
        return tuple(f"hdr.stack[{index}]" for index in range(_STACK_SIZE)) if self.stack else ()

    @property
    def names(self) -> tuple[str, ...]:
        """Headers whose validity can be asked for, elements of the stack included."""
        return (*(f"hdr.{header.name}" for header in self.headers), *self.elements)

    def declarations(self) -> str:
        types = "".join(header.declaration() + "\n" for header in self.headers)
        if self.stack:
            types += self.stack.declaration() + "\n"
        members = "".join(f"    {header.type} {header.name};\n" for header in self.headers)
        if self.stack:
            members += f"    {self.stack.type}[{_STACK_SIZE}] stack;\n"
        kept = "".join(
            (f"    @field_list({FIELD_LIST})\n" if index % 2 else "")
            + f"    bit<{place.bits}> {place.text.partition('.')[2]};\n"
            for index, place in enumerate(self.metadata)
        )
        rounds = f"    @field_list({FIELD_LIST})\n    bit<8> rounds;\n"
        return f"{types}struct headers_t {{\n{members}}}\n\nstruct meta_t {{\n{rounds}{kept}}}\n"


def random_data(rng: random.Random) -> Data:
    """Return headers, metadata and a parser that walks them in their order, some left out."""
    count = rng.randrange(2, _MOST_HEADERS + 1)
    headers = tuple(_header(rng, f"h{number}", _FIRST_BITS if number == 0 else 8) for number in range(count))
    stack = None
    if rng.random() < 0.5:
        more = rng.randrange(1, 8)
        stack = Header("stack", "stack_t", (("more", more), ("rest", 8 - more), *_fields(rng, 8, "s", 2)))
    metadata = tuple(Operand(f"meta.m{index}", rng.choice(WIDTHS)) for index in range(rng.randrange(1, 6)))
    value_set = rng.random() < 0.3
    parser = "".join(_states(rng, headers, stack, metadata, value_set))
    return Data(headers, stack, metadata, parser, value_set)


def _header(rng: random.Random, name: str, least_bits: int) -> Header:
    return Header(name, f"{name}_t", _fields(rng, least_bits, "f", _MOST_FIELDS))


def _fields(rng: random.Random, least_bits: int, prefix: str, most: int) -> tuple[tuple[str, int], ...]:
    widths = [rng.choice(WIDTHS) for _ in range(rng.randrange(1, most + 1))]
    if sum(widths) < least_bits:
        widths.append(least_bits - sum(widths))
    if sum(widths) % 8:
        widths.append(8 - sum(widths) % 8)
    rng.shuffle(widths)
    return tuple((f"{prefix}{index}", bits) for index, bits in enumerate(widths))


def _states(
    rng: random.Random,
    headers: tuple[Header, ...],
    stack: Header | None,
    metadata: tuple[Operand, ...],
    value_set: bool,
) -> Iterator[str]:
    """Yield the states of the parser: each extracts a header and goes on to a later state."""
    targets = [f"parse_{header.name}" for header in headers[1:]] + (["parse_stack"] if stack else [])
    if value_set:
        yield "    value_set<bit<8>>(4) chosen;\n"
    for number, header in enumerate(headers):
        name = "start" if number == 0 else f"parse_{header.name}"
        later = [*targets[number:], "accept"]
        body = f"        packet.extract(hdr.{header.name});\n"
        if metadata and rng.random() < 0.3:
            place, source = rng.choice(metadata), rng.choice(header.places())
            body += f"        {place.text} = (bit<{place.bits}>){source.text};\n"
        body += _transition(rng, header, later, value_set and number == 0)
        yield f"    state {name} {{\n{body}    }}\n"
    if stack:
        cases = f"            0: accept;\n            default: {rng.choice(('parse_stack', 'accept'))};\n"
        again = f"            {rng.randrange(1, 1 << stack.fields[0][1])}: parse_stack;\n"
        select = f"        transition select(hdr.stack.last.more) {{\n{again}{cases}        }}\n"
        yield f"    state parse_stack {{\n        packet.extract(hdr.stack.next);\n{select}    }}\n"


def _transition(rng: random.Random, header: Header, later: list[str], value_set: bool) -> str:
    if len(later) == 1 or rng.random() < 0.1:
        return f"        transition {rng.choice(later)};\n"
    if value_set:
        cases = f"            chosen: {rng.choice(later)};\n            default: {rng.choice(later)};\n"
        return f"        transition select((bit<8>){header.places()[0].text}) {{\n{cases}        }}\n"
    if rng.random() < 0.2:
        key, bits = "packet.lookahead<bit<8>>()", 8
    else:
        place = rng.choice(header.places())
        bits = min(place.bits, rng.choice((1, 2, 4, 8, 16)))
        key = place.text if bits == place.bits else f"{place.text}[{bits - 1}:0]"
    cases = ""
    for _ in range(rng.randrange(1, 4)):
        value = constant(rng.getrandbits(bits), bits)
        kind = rng.random()
        if kind < 0.25:
            # BMv2 compares with all bits of the value, also with those that the mask leaves out; of a mask
            # of 0 p4c makes a `default`, and BMv2 takes the last of several.
            mask = rng.getrandbits(bits) | 1
            value = f"{constant(rng.getrandbits(bits) & mask, bits)} &&& {constant(mask, bits)}"
        elif kind < 0.4 and bits > 1:
            low, high = sorted(rng.getrandbits(bits) for _ in range(2))
            value = f"{constant(low, bits)} .. {constant(high, bits)}"
        cases += f"            {value}: {rng.choice(later)};\n"
    cases += f"            default: {rng.choice(later)};\n"
    return f"        transition select({key}) {{\n{cases}        }}\n"

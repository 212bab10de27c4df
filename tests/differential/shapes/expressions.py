# SPDX-License-Identifier: Apache-2.0
"""Random P4 expressions whose value the language defines: nothing is read that was never set."""

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import final

__all__ = ["WIDTHS", "Expressions", "Operand", "Scope", "constant"]

WIDTHS = (1, 3, 4, 7, 8, 9, 12, 16, 19, 24, 31, 32, 33, 48, 63, 64, 65, 96, 128)
"""Widths in bits of variables and fields."""

_SHIFT_BITS = 8
_MOST_MULTIPLIED = 65  # bits; BMv2 multiplies wider numbers digit by digit


@final
@dataclass(frozen=True, slots=True)
class Operand:
    """Something that is read and written: its text and its width in bits."""

    text: str
    bits: int


@final
@dataclass(frozen=True, slots=True)
class Scope:
    """Names that are in scope at a place of the program.

    `readable` have a value; `writable` may be assigned. `valid` are headers known to be valid, `headers`
    all whose validity can be asked for. `functions` take two values of their width and return a third.
    """

    readable: tuple[Operand, ...]
    writable: tuple[Operand, ...]
    headers: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    functions: tuple[Operand, ...] = ()

    def and_also(self, places: Iterable[Operand], *, writable: bool = True) -> "Scope":
        """Return the scope with further places."""
        more = tuple(places)
        written = (*self.writable, *more) if writable else self.writable
        return replace(self, readable=(*self.readable, *more), writable=written)


def constant(value: int, bits: int) -> str:
    """Return a literal of type bit<bits>."""
    return f"{bits}w{value}"


@final
@dataclass(slots=True)
class Expressions:
    """Makes expressions of a given type from what a scope has."""

    rng: random.Random
    scope: Scope
    _depth: int = field(default=0)

    @contextmanager
    def within(self, scope: Scope) -> Iterator[None]:
        """Use another scope inside the block."""
        before, self.scope = self.scope, scope
        try:
            yield
        finally:
            self.scope = before

    def value(self, bits: int, depth: int = 3) -> str:
        """Return an expression of type bit<bits>."""
        if depth <= 0 or self.rng.random() < 0.25:
            return self._leaf(bits)
        return self.rng.choice(_VALUES)(self, bits, depth - 1)

    def truth(self, depth: int = 2) -> str:
        """Return an expression of type bool."""
        rng = self.rng
        kind = rng.random()
        if depth <= 0 or kind < 0.1:
            if self.scope.headers and rng.random() < 0.5:
                return f"{rng.choice(self.scope.headers)}.isValid()"
            return rng.choice((*self.scope.flags, "true", "false"))
        if kind < 0.25:
            return f"!({self.truth(depth - 1)})"
        if kind < 0.4:
            return f"({self.truth(depth - 1)} {rng.choice(('&&', '||', '==', '!='))} {self.truth(depth - 1)})"
        bits = self._width()
        left, right = self.value(bits, depth - 1), self.value(bits, depth - 1)
        compare = rng.choice(("==", "!=", "<", "<=", ">", ">="))
        if bits > 1 and rng.random() < 0.3:
            return f"((int<{bits}>)({left}) {compare} (int<{bits}>)({right}))"
        return f"({left} {compare} {right})"

    def literal(self, bits: int) -> str:
        """Return a literal, often a corner of the range."""
        top, rng = (1 << bits) - 1, self.rng
        corners = (0, 1, 2, 5, top, top - 1, top >> 1, 1 << rng.randrange(bits), rng.getrandbits(bits))
        return constant(rng.choice(corners) & top, bits)

    def _width(self) -> int:
        places = self.scope.readable
        return self.rng.choice(places).bits if places else self.rng.choice(WIDTHS)

    def _leaf(self, bits: int) -> str:
        exact = [place for place in self.scope.readable if place.bits == bits]
        if exact and self.rng.random() < 0.75:
            return self.rng.choice(exact).text
        if self.scope.readable and self.rng.random() < 0.6:
            return f"(bit<{bits}>){self.rng.choice(self.scope.readable).text}"
        return self.literal(bits)

    # -- one way to make a value each

    def _binary(self, bits: int, depth: int) -> str:
        operator = self.rng.choice(("+", "-", "&", "|", "^", "|+|", "|-|", "*"))
        if operator == "*" and bits > _MOST_MULTIPLIED:
            operator = "+"
        return f"({self.value(bits, depth)} {operator} {self.value(bits, depth)})"

    def _signed(self, bits: int, depth: int) -> str:
        if bits == 1:
            return self._binary(bits, depth)
        operator = self.rng.choice(("+", "-", "&", "|", "^", "|+|", "|-|"))
        left, right = self.value(bits, depth), self.value(bits, depth)
        return f"(bit<{bits}>)((int<{bits}>)({left}) {operator} (int<{bits}>)({right}))"

    def _signed_shift(self, bits: int, depth: int) -> str:
        if bits == 1:
            return self._binary(bits, depth)
        return f"(bit<{bits}>)((int<{bits}>)({self.value(bits, depth)}) >> {self._shift(depth)})"

    def _shifted(self, bits: int, depth: int) -> str:
        return f"({self.value(bits, depth)} {self.rng.choice(('<<', '>>'))} {self._shift(depth)})"

    def _shift(self, depth: int) -> str:
        if self.rng.random() < 0.6:
            return constant(self.rng.choice((0, 1, 2, 7, 8, 31, 63, 64, 65, 130, 255)), _SHIFT_BITS)
        return self.value(_SHIFT_BITS, depth)

    def _unary(self, bits: int, depth: int) -> str:
        return f"{self.rng.choice(('~', '-'))}({self.value(bits, depth)})"

    def _slice(self, bits: int, depth: int) -> str:
        wider = [place for place in self.scope.readable if place.bits > bits]
        if not wider:
            return self._unary(bits, depth)
        place = self.rng.choice(wider)
        low = self.rng.randrange(place.bits - bits + 1)
        return f"{place.text}[{low + bits - 1}:{low}]"

    def _joined(self, bits: int, depth: int) -> str:
        if bits == 1:
            return self._unary(bits, depth)
        low = self.rng.randrange(1, bits)
        return f"({self.value(bits - low, depth)} ++ {self.value(low, depth)})"

    def _chosen(self, bits: int, depth: int) -> str:
        return f"({self.truth(depth)} ? {self.value(bits, depth)} : {self.value(bits, depth)})"

    def _cast(self, bits: int, depth: int) -> str:
        other = self.rng.choice(WIDTHS)
        value = self.value(other, depth)
        if bits > 1 and other > 1 and self.rng.random() < 0.3:
            return f"(bit<{bits}>)(int<{bits}>)(int<{other}>)({value})"
        return f"(bit<{bits}>)({value})"

    def _flag(self, bits: int, depth: int) -> str:
        return f"(bit<{bits}>)(bit<1>)({self.truth(depth)})"

    def _called(self, bits: int, depth: int) -> str:
        fitting = [function for function in self.scope.functions if function.bits == bits]
        if not fitting:
            return self._binary(bits, depth)
        return f"{self.rng.choice(fitting).text}({self.value(bits, depth)}, {self.value(bits, depth)})"


_VALUES: tuple[Callable[[Expressions, int, int], str], ...] = (
    Expressions._binary,
    Expressions._binary,
    Expressions._binary,
    Expressions._signed,
    Expressions._signed_shift,
    Expressions._shifted,
    Expressions._unary,
    Expressions._slice,
    Expressions._joined,
    Expressions._chosen,
    Expressions._cast,
    Expressions._flag,
    Expressions._called,
)

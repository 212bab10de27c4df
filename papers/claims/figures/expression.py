# SPDX-License-Identifier: Apache-2.0
"""Expressions over figures, for a claim's `value:`, such as `steps.completion_us / spines.completion_us`.

Every name is the name of a figure. A name may have dots, hyphens and indices (`takeovers.npu[0].spare`,
`mine.registers.longest[npu0:3]`), so an operator needs spaces around it. Only arithmetic, comparisons, logic
and `FUNCTIONS` are evaluated.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from math import sqrt
from statistics import mean, median
from typing import Any, final

from topologies.errors import RailyardError

__all__ = ["FUNCTIONS", "Expression"]

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "len": len,
    "max": max,
    "mean": mean,
    "median": median,
    "min": min,
    "round": round,
    "sqrt": sqrt,
    "starts": lambda text, prefix: str(text).startswith(prefix),
    "sum": sum,
}
"""Functions of expressions, by name. Expressions also have `each("*.completion_us")`, a list of figures."""

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.USub: operator.neg,
    ast.Not: operator.not_,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, items: item in items,
}

_TOKEN = re.compile(
    r"""(?P<text>"[^"]*"|'[^']*')"""
    r"""|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.-]))"""
    r"""|(?P<name>\w+(?:[.-]\w+|\[\w[\w.-]*(?::\d+)?\])*)(?P<call>\s*\()?"""
)
_WORDS = ("and", "or", "not", "in", "if", "else")


def _known(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id in {*FUNCTIONS, "each"}


@final
class Expression:
    """An expression, parsed and checked; `names` are the figures that it reads.

    Raises:
        RailyardError: The text is no expression.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._names: dict[str, str] = {}
        try:
            self._root = ast.parse(_TOKEN.sub(self._bound, text).strip(), mode="eval").body
            self._check(self._root)
        except (SyntaxError, ValueError):
            raise RailyardError(
                f"{text!r} is not an expression", remedy="write figures, numbers, + - * / and comparisons"
            ) from None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of figures, in the order of the text."""
        return tuple(self._names.values())

    def of(self, figure: Callable[[str], Any], each: Callable[[str], list[Any]]) -> Any:
        """Return the value.

        Args:
            figure: returns a figure, given its name.
            each: returns the figures whose names match a pattern.

        Raises:
            RailyardError: An operator or function cannot take its values.
        """
        functions = {**FUNCTIONS, "each": each}
        try:
            return self._value(self._root, figure, functions)
        except (ArithmeticError, LookupError, TypeError, ValueError) as ex:
            raise RailyardError(
                f"{self.text}: {type(ex).__name__}: {ex}", remedy="correct the expression"
            ) from None

    def _bound(self, match: re.Match[str]) -> str:
        name = match["name"]
        if name is None or name in _WORDS or (match["call"] and (name in FUNCTIONS or name == "each")):
            return match[0]
        symbol = f"_{len(self._names)}"
        self._names[symbol] = name
        return symbol + (match["call"] or "")

    def _check(self, node: ast.AST) -> None:
        allowed = (
            ast.Constant, ast.Name, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.List,
            ast.Call, ast.And, ast.Or, ast.Load, *_OPERATORS,
        )  # fmt: skip
        for part in ast.walk(node):
            if not isinstance(part, allowed):
                raise ValueError
            if isinstance(part, ast.Call) and (part.keywords or not _known(part.func)):
                raise ValueError
            if isinstance(part, ast.Name) and part.id not in {*self._names, *FUNCTIONS, "each"}:
                raise ValueError

    def _value(self, node: ast.expr, figure: Callable[[str], Any], functions: Mapping[str, Any]) -> Any:
        def of(part: ast.expr) -> Any:
            return self._value(part, figure, functions)

        match node:
            case ast.Constant(value):
                return value
            case ast.Name(name):
                return figure(self._names[name])
            case ast.List(items):
                return [of(item) for item in items]
            case ast.BinOp(left, how, right):
                return _OPERATORS[type(how)](of(left), of(right))
            case ast.UnaryOp(how, item):
                return _OPERATORS[type(how)](of(item))
            case ast.BoolOp(ast.And(), items):
                return all(of(item) for item in items)
            case ast.BoolOp(_, items):
                return any(of(item) for item in items)
            case ast.IfExp(test, then, other):
                return of(then) if of(test) else of(other)
            case ast.Compare(left, hows, rights):
                values = [of(left), *map(of, rights)]
                pairs = zip(hows, values, values[1:], strict=False)
                return all(_OPERATORS[type(how)](low, high) for how, low, high in pairs)
            case ast.Call(ast.Name(name), items):
                return functions[name](*map(of, items))
            case _:
                raise TypeError(ast.dump(node))

# SPDX-License-Identifier: Apache-2.0
"""Expressions over figures, for a claim's `value:`, such as `steps.completion_us / spines.completion_us`.

Every name is the name of a figure. A name may have dots, hyphens and indices (`takeovers.npu[0].spare`,
`mine.registers.longest[npu0:3]`), so an operator needs spaces around it. Only arithmetic, comparisons, logic
and `FUNCTIONS` are evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from functools import partial
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

_ALLOWED = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.List, ast.Call, ast.IfExp, ast.Compare,
    ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub,
    ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Mod, ast.Pow,
    ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In,
)  # fmt: skip
"""Nodes of Python's syntax tree that an expression may have: none reaches attributes or builtins."""

_TOKEN = re.compile(
    r"""(?P<text>"[^"]*"|'[^']*')"""
    r"""|(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.-]))"""
    r"""|(?P<name>\w+(?:[.-]\w+|\[\w[\w.-]*(?::\d+)?\])*)(?P<call>\s*\()?"""
)
_WORDS = ("and", "or", "not", "in", "if", "else")
_FUNCTION_NAMES = {*FUNCTIONS, "each"}
_FIGURE = "_figure"  # function in the Python text that returns the figure with a name


@final
class Expression:
    """An expression, parsed and checked; `names` are the figures that it reads, in the order of the text.

    Raises:
        RailyardError: The text is no expression.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        names: list[str] = []
        try:
            self._tree = ast.parse(_TOKEN.sub(partial(_python, names), text).strip(), mode="eval")
            _check(self._tree)
        except (SyntaxError, ValueError):
            raise RailyardError(
                f"{text!r} is not an expression", remedy="write figures, numbers, + - * / and comparisons"
            ) from None
        self.names = tuple(names)

    def of(self, figure: Callable[[str], Any], each: Callable[[str], list[Any]]) -> Any:
        """Return the value.

        Args:
            figure: returns a figure, given its name.
            each: returns the figures whose names match a pattern.

        Raises:
            RailyardError: An operator or function cannot take its values.
        """
        known = {**FUNCTIONS, "each": each, _FIGURE: figure, "__builtins__": {}}
        try:
            value = eval(compile(self._tree, "<expression>", "eval"), known)
        except (ArithmeticError, LookupError, TypeError, ValueError) as ex:
            raise RailyardError(
                f"{self.text}: {type(ex).__name__}: {ex}", remedy="correct the expression"
            ) from None
        return bool(value) if isinstance(self._tree.body, ast.BoolOp) else value


def _python(names: list[str], match: re.Match[str]) -> str:
    """Return a token as Python: a figure's name, which is added to `names`, becomes a call of `_FIGURE`."""
    name, call = match["name"], match["call"] or ""
    if name is None or name in _WORDS or (call and name in _FUNCTION_NAMES):
        return match[0]
    names.append(name)
    return f"{_FIGURE}({name!r}){call}"


def _check(tree: ast.AST) -> None:
    """Raise a ValueError unless all parts of the tree are allowed."""
    for part in ast.walk(tree):
        unknown = isinstance(part, ast.Name) and part.id not in {*_FUNCTION_NAMES, _FIGURE}
        odd_call = isinstance(part, ast.Call) and (part.keywords or not isinstance(part.func, ast.Name))
        if unknown or odd_call or not isinstance(part, _ALLOWED):
            raise ValueError

# SPDX-License-Identifier: Apache-2.0
"""Functions named in a file of claims: `module:function` of an installed package, or FILE.py:function."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from topologies.errors import RailyardError
from topologies.plugins import python_file

__all__ = ["called", "function_of"]

_REMEDY = "write module:function or FILE.py:function"


def function_of(reference: str) -> Callable[..., Any]:
    """Return the function of a reference; RailyardError if there is none."""
    if python_file.is_reference(reference):
        function = python_file.load(reference)
    else:
        module, _, name = reference.partition(":")
        try:
            function = getattr(import_module(module), name, None)
        except ImportError as ex:
            raise RailyardError(f"{reference} cannot be loaded: {ex}", remedy=_REMEDY) from None
    if not callable(function):
        raise RailyardError(f"{reference} is not a function", remedy=_REMEDY)
    return function


def called(reference: str, *arguments: Any, **options: Any) -> Any:
    """Call a function by its reference; an exception of a user's file becomes an error with its line."""
    function = function_of(reference)
    if python_file.is_reference(reference):
        return python_file.guarded(reference, lambda: function(*arguments, **options))
    return function(*arguments, **options)

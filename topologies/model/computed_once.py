# SPDX-License-Identifier: Apache-2.0
"""Decorator to cache the results of a function in its first argument, a fabric."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Protocol, TypeVar, TypeVarTuple, Unpack, cast

__all__ = ["Caching", "computed_once"]


class Caching(Protocol):
    """A value with a cache of results computed from it, such as a fabric or a path finder."""

    @property
    def cache(self) -> dict[Hashable, object]:
        """Results, by function and arguments; only `computed_once` reads and writes them."""
        ...


Owner = TypeVar("Owner", bound=Caching)
Arguments = TypeVarTuple("Arguments")
Result = TypeVar("Result")

_ABSENT = object()


def computed_once(
    compute: Callable[[Owner, Unpack[Arguments]], Result],
) -> Callable[[Owner, Unpack[Arguments]], Result]:
    """Decorate a function of a fabric and hashable arguments, to compute each result once.

    The first argument holds the results in its `cache`, which lives as long as the object; copies and
    pickles start with an empty cache. The result may depend on nothing but the arguments. The decorated
    function or method takes positional arguments only.
    """

    @wraps(compute)
    def look_up(owner: Owner, *arguments: *Arguments) -> Result:
        key = (compute, *arguments)
        result = owner.cache.get(key, _ABSENT)
        if result is _ABSENT:
            result = owner.cache[key] = compute(owner, *arguments)
        return cast(Result, result)

    return look_up

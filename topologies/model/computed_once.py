# SPDX-License-Identifier: Apache-2.0
"""A decorator that keeps the results of functions in the fabric that they depend on."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Protocol, TypeVar, TypeVarTuple, Unpack, cast

__all__ = ["Caching", "computed_once"]


class Caching(Protocol):
    """A value with a cache of what was computed from it: a fabric, or the finder of its paths."""

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
    """Make a function of a fabric and hashable arguments compute each result once, then return the same one.

    The first argument keeps the results, so they live as long as it does; copies and pickles start without
    them. The result may depend on the arguments alone. A function or a method may be decorated. All
    arguments are given by position.
    """

    @wraps(compute)
    def look_up(owner: Owner, *arguments: *Arguments) -> Result:
        key = (compute, *arguments)
        result = owner.cache.get(key, _ABSENT)
        if result is _ABSENT:
            result = owner.cache[key] = compute(owner, *arguments)
        return cast(Result, result)

    return look_up

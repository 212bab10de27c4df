# SPDX-License-Identifier: Apache-2.0
"""Decorators to cache the results of a function in its first argument, a fabric."""

from collections.abc import Callable, Hashable
from functools import wraps
from typing import Protocol, Self, TypeVar, TypeVarTuple, Unpack, cast

__all__ = ["Caching", "computed_for_any_circuits", "computed_once"]


class Caching(Protocol):
    """A value with a cache of results computed from it, such as a fabric or a path finder."""

    @property
    def cache(self) -> dict[Hashable, object]:
        """Results, by function and arguments; only `computed_once` reads and writes them."""
        ...


class WithCircuits(Caching, Protocol):
    """A fabric that shares results with the fabrics that differ from it only in circuits."""

    @property
    def origin(self) -> Self:
        """Fabric with the shared results of all fabrics that differ only in circuits."""
        ...


Owner = TypeVar("Owner", bound=Caching)
OpticalOwner = TypeVar("OpticalOwner", bound=WithCircuits)
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


def computed_for_any_circuits(
    compute: Callable[[OpticalOwner, Unpack[Arguments]], Result],
) -> Callable[[OpticalOwner, Unpack[Arguments]], Result]:
    """Decorate a function as `computed_once` does, if its result does not depend on the present circuits.

    A fabric shares the results with all fabrics that differ only in circuits, if these circuits join switches
    along one dimension of one tier and level (`topologies.transform.circuits.with_maps`).
    """
    once = computed_once(compute)

    @wraps(compute)
    def look_up(fabric: OpticalOwner, *arguments: *Arguments) -> Result:
        return once(fabric.origin, *arguments)

    return look_up

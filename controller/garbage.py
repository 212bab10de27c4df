# SPDX-License-Identifier: Apache-2.0
"""Pause Python's cyclic garbage collector during work with millions of new acyclic objects.

The collector would scan these objects repeatedly and free nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["earlier_objects_left_out", "garbage_collection_paused"]


# An element for each `earlier_objects_left_out` that has not ended. gc.get_freeze_count() would tell too, but
# it visits every frozen object.
_left_out: list[None] = []


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector.

    Afterwards, only full collections scan the objects that were created during the pause, unless
    `earlier_objects_left_out` is active.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not _left_out:
                # freeze() and unfreeze() together move all objects to the oldest generation.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@contextmanager
def earlier_objects_left_out() -> Iterator[None]:
    """Exclude all objects that exist now from garbage collection; on exit, collect all garbage created since.

    A plan lives for the whole run. Without this, every full collection during the run would scan the plan.
    A second exclusion inside an exclusion has no effect.
    """
    if not _left_out:
        gc.freeze()
    _left_out.append(None)
    try:
        yield
    finally:
        _left_out.pop()
        gc.collect()
        if not _left_out:
            gc.unfreeze()

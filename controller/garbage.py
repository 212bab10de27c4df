# SPDX-License-Identifier: Apache-2.0
"""Pauses of Python's cyclic garbage collector, for work that allocates millions of acyclic objects.

The collector would scan these objects repeatedly and free nothing.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["earlier_objects_left_out", "garbage_collection_paused"]


# An element for each `earlier_objects_left_out` under way: gc.get_freeze_count() would count all objects.
_left_out: list[None] = []


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector; it looks at what was made meanwhile in full collections only."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            if not _left_out:
                # Both together move all objects to the oldest generation.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


@contextmanager
def earlier_objects_left_out() -> Iterator[None]:
    """Leave all objects that exist now out of collections, and collect the later garbage at the end.

    A plan stays for the whole run, and every full collection during the run would scan it.
    """
    gc.freeze()
    _left_out.append(None)
    try:
        yield
    finally:
        _left_out.pop()
        gc.collect()
        gc.unfreeze()

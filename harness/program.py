# SPDX-License-Identifier: Apache-2.0
"""Hash of the program: results with equal inputs and an equal hash are equal."""

from __future__ import annotations

import hashlib
import importlib.util
from functools import cache
from pathlib import Path

from harness.files import PROGRAMS

__all__ = ["program_digest"]

_ROOMS = ("topologies", "controller", "emulation", "harness")


@cache
def program_digest(*rooms: str) -> str:
    """Return the hash of all that a result may depend on: our code, the engine, the P4 programs.

    `rooms` are further folders of code beside those that a run uses.
    """
    root = Path(__file__).parents[1]
    paths = [path for room in (*_ROOMS, *rooms) for path in sorted((root / room).rglob("*.py"))]
    paths += sorted(PROGRAMS.glob("*.json")) + sorted(PROGRAMS.glob("*.txtpb"))
    engine = importlib.util.find_spec("emulation._engine")
    if engine is not None and engine.origin is not None:
        paths.append(Path(engine.origin))
    return _hash(b"".join(_hash(path.read_bytes()).encode() for path in paths))


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()

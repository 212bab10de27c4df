# SPDX-License-Identifier: Apache-2.0
"""Hash of Railyard's code and P4 programs: runs with an equal hash and equal inputs have equal results."""

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
    """Return a hash of Railyard's Python code, the compiled engine and the compiled P4 programs.

    Args:
        rooms: Further folders of Python code to hash, beside the four floors that every run uses.
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

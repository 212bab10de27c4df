# SPDX-License-Identifier: Apache-2.0
"""Statements about results, printed by check.py of those experiments whose checks are Python code."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["say"]


def say(checks: Mapping[str, bool]) -> int:
    """Print what is true and what is not; return the exit code, 1 when something is not true."""
    for text, holds in checks.items():
        print(f"{text}: {'yes' if holds else 'NO'}")
    return 0 if all(checks.values()) else 1

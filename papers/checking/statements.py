# SPDX-License-Identifier: Apache-2.0
"""Print statements about results, for experiments checked by Python code."""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["say"]


def say(checks: Mapping[str, bool]) -> int:
    """Print each statement with yes or NO; return the exit code, 1 if a statement does not hold."""
    for text, holds in checks.items():
        print(f"{text}: {'yes' if holds else 'NO'}")
    return 0 if all(checks.values()) else 1

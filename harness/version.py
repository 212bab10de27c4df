# SPDX-License-Identifier: Apache-2.0
"""Railyard's version, as results, bundles and `railyard --version` show it."""

from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["UNKNOWN", "railyard_version"]

UNKNOWN = "unknown"


@cache
def railyard_version() -> str:
    """Return the version of the installed package `railyard`; `unknown` if it is not installed."""
    try:
        return version("railyard")
    except PackageNotFoundError:
        return UNKNOWN

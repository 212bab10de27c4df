# SPDX-License-Identifier: Apache-2.0
"""Mininet as Debian ships it: a package of the system's Python, which no virtual environment sees."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from emulation.errors import TestbedError

__all__ = ["load"]

_PLACE = Path("/usr/lib/python3/dist-packages/mininet")


def load(module: str) -> ModuleType:
    """A module of Mininet, as "mininet.net"; TestbedError when it is not installed.

    The package alone is taken from the system's Python, nothing else that is installed there.
    """
    if "mininet" not in sys.modules and importlib.util.find_spec("mininet") is None:
        spec = importlib.util.spec_from_file_location(
            "mininet", _PLACE / "__init__.py", submodule_search_locations=[str(_PLACE)]
        )
        if spec is None or spec.loader is None or not _PLACE.is_dir():
            raise TestbedError(
                "Mininet is not installed", remedy="`make setup` installs it, or `apt-get install mininet`"
            )
        package = importlib.util.module_from_spec(spec)
        sys.modules["mininet"] = package
        spec.loader.exec_module(package)
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise TestbedError(
            f"{module} of Mininet cannot be loaded: {error}", remedy="install Debian's package mininet anew"
        ) from error

# SPDX-License-Identifier: Apache-2.0
"""Values of a user's Python file, named FILE.py:NAME; errors name the line of the file that raised."""

import sys
import traceback
from collections.abc import Callable, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isclass, ismodule, isroutine
from pathlib import Path
from types import ModuleType
from typing import Any
from zlib import crc32

from topologies.errors import RailyardError, TopologyError

__all__ = ["call", "is_reference", "load"]


def is_reference(text: str) -> bool:
    """Return whether a text has the form FILE.py:NAME."""
    file, colon, name = text.rpartition(":")
    return bool(colon) and file.endswith(".py") and name.isidentifier()


def load(reference: str) -> Any:
    """Return the value named by FILE.py:NAME; TopologyError if the file cannot be run or lacks the name."""
    file, _, name = reference.rpartition(":")
    if not is_reference(reference):
        raise TopologyError(
            f"{reference!r} does not have the form FILE.py:NAME",
            remedy="give a Python file, a colon and a name in the file",
        )
    module = _module(Path(file))
    if not hasattr(module, name):
        own = ", ".join(key for key, value in vars(module).items() if _is_own(module, key, value))
        raise TopologyError(
            f"{file} has no {name!r}", remedy=f"use one of its names: {own or 'there are none'}"
        )
    return getattr(module, name)


def call(reference: str, parameters: Mapping[str, Any] | None = None) -> Any:
    """Call the function FILE.py:NAME and return its result; TopologyError names the line that raised."""
    function = load(reference)
    if not callable(function):
        raise TopologyError(f"{reference} is {function!r}, not a function", remedy="name a function")
    return guarded(reference, lambda: function(**(parameters or {})))


def guarded(reference: str, action: Callable[[], Any]) -> Any:
    """Run an action that calls code of FILE.py:NAME, and return its result.

    An exception becomes a TopologyError with file and line; a RailyardError passes unchanged.
    """
    file = reference.rpartition(":")[0]
    try:
        return action()
    except RailyardError:
        raise
    except Exception as ex:
        raise _located(file, ex) from ex


def _module(path: Path) -> ModuleType:
    """Return the module of a file; a process runs each version of the file once."""
    try:
        resolved = path.resolve(strict=True)
        version = resolved.stat().st_mtime_ns
    except OSError as ex:
        raise TopologyError(
            f"{path} cannot be read: {ex.strerror}", remedy="give the path of a Python file"
        ) from None
    name = f"railyard_user_{crc32(f'{resolved} {version}'.encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise TopologyError(f"{path} is not a Python file", remedy="give a file whose name ends in .py")
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as ex:
        del sys.modules[name]
        raise _located(str(path), ex) from ex
    return module


def _is_own(module: ModuleType, name: str, value: object) -> bool:
    """Return whether a module defines a public name itself, rather than importing it."""
    if name.startswith("_") or ismodule(value):
        return False
    return not (isroutine(value) or isclass(value)) or value.__module__ == module.__name__


def _located(file: str, ex: Exception) -> TopologyError:
    """Return an error with the innermost line of the file in the traceback of an exception."""
    if isinstance(ex, SyntaxError) and ex.filename and Path(ex.filename).resolve() == Path(file).resolve():
        return TopologyError(f"{file}:{ex.lineno}: SyntaxError: {ex.msg}", remedy="correct the line")
    frames = [
        frame
        for frame in traceback.extract_tb(ex.__traceback__)
        if Path(frame.filename).resolve() == Path(file).resolve()
    ]
    location = f"{file}:{frames[-1].lineno}" if frames else file
    if isinstance(ex, ModuleNotFoundError) and Path(file).with_name(f"{ex.name}.py").is_file():
        return TopologyError(
            f"{location}: {ex.name}.py beside the file is not imported, because the file is loaded alone",
            remedy=f"move what it needs of {ex.name}.py into it, or install {ex.name} as a package",
        )
    return TopologyError(
        f"{location}: {type(ex).__name__}: {ex}", remedy="correct the file or the parameters"
    )

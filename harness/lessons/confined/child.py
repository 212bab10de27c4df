# SPDX-License-Identifier: Apache-2.0
"""Run a student's function in this process: `python -I child.py`, with a request as JSON on standard input.

The process writes its answer to the file descriptor named in the request: {"values": [...]}, {"error": TEXT}
or {"memory": true}. The output of the student's code is no part of the answer.
"""

import ctypes
import json
import os
import resource
import signal
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

# With `-I` Python does not search the folder of this file for modules.
sys.path.insert(0, str(Path(__file__).parent))

from walls import raise_walls  # type: ignore[import-not-found]

_PR_SET_PDEATHSIG = 1
# Longest call that an error quotes, in characters.
_SHOWN = 200


def main() -> None:
    """Read the request, confine this process, call the student's function and write the answer."""
    request = json.load(sys.stdin)
    answer = int(request["answer"])
    _end_with_parent()
    sys.path[0] = request["folder"]
    _limit(request)
    walls = raise_walls(request["readable"], connections=request["connections"])
    during: list[str] = []
    try:
        values = _values(request, during)
    except MemoryError:
        result: dict[str, Any] = {"memory": True}
    except BaseException as ex:
        result = {"error": _sentence(ex, request["file"], during)}
    else:
        result = {"values": values}
    try:
        text = json.dumps({**result, "walls": walls})
    except (TypeError, ValueError, RecursionError) as ex:
        text = json.dumps({"error": f": {request['function']} returns a value that JSON cannot hold: {ex}"})
    except MemoryError:
        text = json.dumps({"memory": True})
    with os.fdopen(answer, "w") as file:
        file.write(text)
    # Exit at once: the process does not wait for threads of the student's code.
    sys.stdout.flush()
    os._exit(0)


def _end_with_parent() -> None:
    """Let the kernel kill this process when its parent thread ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _limit(request: dict[str, Any]) -> None:
    seconds, memory = request["seconds"], request["memory_mb"] << 20
    _set(resource.RLIMIT_CPU, seconds, seconds + 1)
    _set(resource.RLIMIT_AS, memory, memory)
    _set(resource.RLIMIT_FSIZE, request["answer_bytes"], request["answer_bytes"])
    _set(resource.RLIMIT_CORE, 0, 0)
    if request["connections"] is None:
        # This limit does not apply to root; the walls do, and refuse new processes as well.
        _set(resource.RLIMIT_NPROC, 0, 0)


def _set(what: int, soft: int, hard: int) -> None:
    _, highest = resource.getrlimit(what)
    if highest != resource.RLIM_INFINITY:
        soft, hard = min(soft, highest), min(hard, highest)
    resource.setrlimit(what, (soft, hard))


def _values(request: dict[str, Any], during: list[str]) -> list[Any]:
    """Return the value of each call; `during` then has the call that raised an exception, if one did."""
    module = _load(request["file"])
    function = getattr(module, request["function"], None)
    if not callable(function):
        raise NameError(f"the file has no function {request['function']}")
    values = []
    for arguments in request["calls"]:
        # The student's code may change the arguments.
        during[:] = [_shown(request["function"], arguments)]
        values.append(function(*arguments))
    during.clear()
    return values


def _shown(function: str, arguments: list[Any]) -> str:
    """Return a call as text, or '' if it would be too long to read."""
    text = f"{function}({', '.join(map(repr, arguments))})"
    return text if len(text) <= _SHOWN else ""


def _load(file: str) -> ModuleType:
    spec = spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{file} cannot be loaded as a Python file")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _sentence(ex: BaseException, file: str, during: list[str]) -> str:
    """Return the exception in words, with the last line of the student's file in its traceback, and call."""
    lines = [frame.lineno for frame in traceback.extract_tb(ex.__traceback__) if frame.filename == file]
    at = ex.lineno if isinstance(ex, SyntaxError) else lines[-1] if lines else None
    where = f" line {at}" if at else ""
    # The text of a SyntaxError repeats file and line.
    text = ex.msg if isinstance(ex, SyntaxError) else str(ex)
    if isinstance(ex, ModuleNotFoundError):
        text += "; a check takes no other Python file of your folder, and installed packages only"
    call = f", in {during[0]}" if during and during[0] else ""
    return f"{where}: {type(ex).__name__}: {text[:300]}{call}"


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""A pytest plugin: run the tests on the engine in the file that RAILYARD_ENGINE names."""

import importlib.util
import os
import sys

import emulation

_NAME = "emulation._engine"


def _load(path: str) -> None:
    spec = importlib.util.spec_from_file_location(_NAME, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no extension module; `make sanitize` or `make portable` builds it")
    module = importlib.util.module_from_spec(spec)
    sys.modules[_NAME] = module
    spec.loader.exec_module(module)
    emulation.__dict__["_engine"] = module


_load(os.environ["RAILYARD_ENGINE"])

# SPDX-License-Identifier: Apache-2.0
"""Tests marked bmv2 compare the engine with BMv2, so they are skipped where BMv2 cannot run."""

import os
import shutil
import subprocess
from functools import cache

import pytest

_GET_BMV2 = (
    "install the P4 language project's Debian or Ubuntu package p4lang-bmv2, as the Vagrantfile does, "
    "or build https://github.com/p4lang/behavioral-model with P4Runtime support"
)


def _why_not() -> str:
    needed = ("simple_switch_grpc", "simple_switch", "simple_switch_CLI")
    if missing := [name for name in needed if shutil.which(name) is None]:
        return f"BMv2's {', '.join(missing)} not on the PATH; {_GET_BMV2}"
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "setpriv"))):
        return "BMv2 needs a network namespace: run as root, with iproute2 and util-linux installed"
    return _why_no_cli()


@cache
def _why_no_cli() -> str:
    # A script: it starts only where the Python it finds has the Thrift that BMv2 was built with.
    asked = subprocess.run(["simple_switch_CLI", "--help"], capture_output=True, text=True, check=False)
    if asked.returncode:
        why = (asked.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"BMv2's simple_switch_CLI does not start: {why}; give its Python the package thrift"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marked = [item for item in items if item.get_closest_marker("bmv2")]
    reason = _why_not() if marked else ""
    for item in marked:
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))

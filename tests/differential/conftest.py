# SPDX-License-Identifier: Apache-2.0
"""Tests marked bmv2 compare the engine with BMv2, so they are skipped where BMv2 cannot run."""

import os
import shutil

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
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = _why_not()
    for item in items:
        if reason and item.get_closest_marker("bmv2"):
            item.add_marker(pytest.mark.skip(reason=reason))

# SPDX-License-Identifier: Apache-2.0
"""Every test of this folder compares the engine with BMv2, so it is skipped where BMv2 cannot run."""

import os
import shutil
from pathlib import Path

import pytest

_GET_BMV2 = (
    "install the P4 language project's Debian or Ubuntu package p4lang-bmv2, as the Vagrantfile does, "
    "or build https://github.com/p4lang/behavioral-model with P4Runtime support"
)


def _why_not() -> str:
    if shutil.which("simple_switch_grpc") is None:
        return f"BMv2's simple_switch_grpc is not on the PATH; {_GET_BMV2}"
    if os.geteuid() != 0 or not all(map(shutil.which, ("ip", "setpriv"))):
        return "BMv2 needs a network namespace: run as root, with iproute2 and util-linux installed"
    return ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here, reason = Path(__file__).parent, _why_not()
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.bmv2)
            if reason:
                item.add_marker(pytest.mark.skip(reason=reason))

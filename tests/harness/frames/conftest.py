# SPDX-License-Identifier: Apache-2.0
"""A mesh of 16 NPUs, and its plan."""

import pytest

from controller.plan.plan import Plan
from controller.planner import make_plan
from topologies import Fabric, full_mesh


@pytest.fixture(scope="module")
def mesh() -> Fabric:
    return full_mesh((4, 4))


@pytest.fixture(scope="module")
def plan(mesh: Fabric) -> Plan:
    return make_plan(mesh)

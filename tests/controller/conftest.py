# SPDX-License-Identifier: Apache-2.0
import pytest

from controller import Plan, make_plan
from topologies import Fabric, ub_rack


@pytest.fixture(scope="session")
def rack() -> Fabric:
    return ub_rack()


@pytest.fixture(scope="session")
def rack_plan(rack: Fabric) -> Plan:
    return make_plan(rack)


@pytest.fixture(scope="session")
def shortest_plan(rack: Fabric) -> Plan:
    return make_plan(rack, strategy="shortest")

# SPDX-License-Identifier: Apache-2.0
"""Counts of what P4Runtime controllers ask of a node."""

from controller.plan.updates import Update
from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from harness.run.boot import booted
from topologies import full_mesh


def test_the_testbed_counts_what_controllers_ask_of_a_node():
    mesh = full_mesh((2,))
    testbed = EmbeddedTestbed(mesh)
    with booted(testbed, make_plan(mesh)) as up:
        before = testbed.requests("npu0")
        up.client.write("npu0", [Update("modify", up.client.read("npu0", "linear")[0])] * 2)
        after = testbed.requests("npu0")
        assert (before.pipelines, after.pipelines) == (1, 1)
        assert after.updates == before.updates + 2
        assert testbed.requests("npu1") == before

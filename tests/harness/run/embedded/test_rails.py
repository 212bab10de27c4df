# SPDX-License-Identifier: Apache-2.0
"""Runs over rails on the embedded testbed: the compiled programs, PXN, and what each link carried."""

from collections.abc import Callable
from pathlib import Path

import pytest

from emulation.traffic.frames.layers import LPH, NTH, Ether
from harness.frames.walk import walk
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from topologies import HOST_PORT, End

ELEMENTS = 65536
# Bytes from each GPU to each other: an eighth of four-byte elements.
PIECE = ELEMENTS * 4 // 8
HEAD = f"""\
name: small
collective: {{kind: all-to-all, elements: {ELEMENTS}, payload_bytes: 1024}}
routing: {{strategy: shortest}}
"""

INSIDES = ("mesh", "switch")


def ready(write: Callable[[str], Path], topology: str, head: str = HEAD) -> Prepared:
    return prepare(*load(write(f"{head}topology: {{{topology}}}\n")))[0]


def pieces(carried: int) -> int:
    """Return the pieces of payload in bytes carried, a tenth of which are headers and acknowledgements."""
    return round(carried / PIECE / 1.1)


@pytest.mark.parametrize("inside", INSIDES)
def test_an_all_to_all_over_rails_alone(write: Callable[[str], Path], inside: str) -> None:
    """Each NIC carries what its domain's four GPUs send to the one GPU of its rank in the other domain."""
    run = ready(write, f"name: rail-only, domains: 2, hb_size: 4, inside: {inside}")
    seen = observe(run, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (8, "")
    assert seen.traffic.dropped_by_switch == 0
    for name, both in seen.link_bytes.items():
        link = run.fabric.link(name)
        if {"rail0", "rail1", "rail2", "rail3"} & {link.a.node, link.b.node}:
            assert [pieces(carried) for carried in both] == [4, 4], name
        elif inside == "mesh":  # for each other, and for who has the other's rank in the other domain
            assert [pieces(carried) for carried in both] == [2, 2], name
        else:
            assert [pieces(carried) for carried in both] == [6, 6], name


@pytest.mark.parametrize(
    "topology",
    [
        "name: rail-only, domains: 4, hb_size: 2, radix: 4",
        "name: rail-only, domains: 8, hb_size: 2, radix: 4",
        "name: rail-optimised, domains: 4, hb_size: 2, radix: 4",
        "name: rail-optimised, domains: 2, hb_size: 4, radix: 8, inside: switch",
        "name: any-to-any, domains: 2, hb_size: 4, radix: 4",
    ],
)
@pytest.mark.parametrize("strategy", ["shortest", "all-path"])
def test_an_allreduce_is_right_on_every_fabric(
    write: Callable[[str], Path], topology: str, strategy: str
) -> None:
    head = (
        "name: small\ncollective: {algorithm: direct, elements: 16384, payload_bytes: 1024}\n"
        f"routing: {{strategy: {strategy}}}\n"
    )
    run = ready(write, topology, head)
    seen = observe(run, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (len(run.members), "")
    assert seen.traffic.dropped_by_switch == 0


@pytest.mark.parametrize("inside", INSIDES)
def test_a_rail_switch_counts_and_drops_what_is_for_a_foreign_rail(
    write: Callable[[str], Path], inside: str
) -> None:
    plan = ready(write, f"name: rail-only, domains: 2, hb_size: 4, inside: {inside}").plan
    dcna = plan.fabric.node("gpu5").address
    frame = Ether() / LPH() / NTH(dcna=dcna)
    by_nic = End("rail0", plan.fabric.port_to("rail0", "gpu0"))
    journey = walk(plan, bytes(frame), by_nic)
    assert not journey.arrived
    assert journey.end == "rail0 drops it: it is for a foreign rail"
    # From the GPU itself it goes by its neighbour.
    journey = walk(plan, bytes(frame), End("gpu0", HOST_PORT))
    inner = ["hbs0"] if inside == "switch" else []
    assert journey.arrived
    assert [hop.node for hop in journey.hops] == ["gpu0", *inner, "gpu1", "rail1", "gpu5"]

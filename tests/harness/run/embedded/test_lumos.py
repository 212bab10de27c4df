# SPDX-License-Identifier: Apache-2.0
"""Runs over Pods and optical circuits on the embedded testbed: data, what circuits carried, circuits cut."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load

# Four Pods of two leaves with four accelerators each; Pods 0 and 2, and 1 and 3, have two circuits a spine.
HEAD = """\
name: small
collective: {{kind: all-to-all, elements: {elements}, payload_bytes: 1024}}
routing: {{strategy: {strategy}}}
topology: {{name: lumos, accelerators: 4, hb_size: 4{more}}}
"""


def ready(
    write: Callable[[str], Path],
    elements: int,
    *,
    strategy: str = "shortest",
    more: str = "",
    faults: str = "",
) -> Prepared:
    head = HEAD.format(elements=elements, strategy=strategy, more=more)
    return prepare(*load(write(head + faults)))[0]


@pytest.mark.long("all-path")
@pytest.mark.parametrize("strategy", ["shortest", "all-path"])
def test_an_all_to_all_is_right_and_parallel_circuits_share_it(
    write: Callable[[str], Path], strategy: str
) -> None:
    run = ready(write, 65536, strategy=strategy)
    seen = observe(run, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (32, "")
    assert seen.traffic.dropped_by_switch == 0
    bundles = {}
    for switch in (name for name in run.fabric.neighbours("leaf0.0") if name.startswith("spine")):
        links = run.fabric.links_between(switch, switch.replace("spine0", "spine2"))
        bundles[switch] = [sum(seen.link_bytes[link.name]) for link in links]
    for carried in bundles.values():
        assert len(carried) == 2
        assert max(carried) < 1.03 * min(carried)
    # Both spines of a Pod have as many circuits to the other.
    assert sum(bundles["spine0.0"]) == pytest.approx(sum(bundles["spine0.1"]), rel=0.03)


@pytest.mark.long("both")
@pytest.mark.parametrize("cut", [["ocs0p1:0-6"], ["ocs0p1:0-6", "ocs0p1:2-4"]], ids=["one", "both"])
def test_data_is_right_when_circuits_are_cut_on_the_way(write: Callable[[str], Path], cut: list[str]) -> None:
    faults = "link: {detect_us: 1}\nfaults:\n" + "".join(
        f'  - {{at_us: 3, link: "{name}"}}\n' for name in cut
    )
    run = ready(write, 32768, faults=faults)
    assert set(cut) <= {link.name for link in run.fabric.links_between("spine0.0", "spine2.0")}
    seen = observe(run, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (32, "")
    whole = observe(ready(write, 32768), 1)
    for name in cut:
        assert 0 < sum(seen.link_bytes[name]) < sum(whole.link_bytes[name])


@pytest.mark.parametrize(
    "more",
    [
        ", pods: 3, leaves: 1, spines: 2, wiring: uniform",
        ", pods: 2, leaves: 2, spines: 1, inside: switch, hb_size: 8",
    ],
)
def test_an_allreduce_is_right_on_other_shapes(write: Callable[[str], Path], more: str) -> None:
    topology = (
        f"topology: {{name: lumos, accelerators: 4{more if 'hb_size' in more else more + ', hb_size: 4'}}}"
    )
    text = (
        f"name: small\ncollective: {{algorithm: direct, elements: 8192, payload_bytes: 1024}}\n{topology}\n"
    )
    run = prepare(*load(write(text)))[0]
    seen = observe(run, 1)
    assert (seen.correct_nodes, seen.first_wrong) == (len(run.members), "")
    assert seen.traffic.dropped_by_switch == 0

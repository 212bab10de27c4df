# SPDX-License-Identifier: Apache-2.0
"""Random collectives in switches on the engine: the right result, or a loss that names itself."""

import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from harness.run.observation.values import Observation
from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.loader import load
from tests.harness.run.in_switches.unruly import UnrulyHosts

FABRICS = (
    "{name: hpn, segments: 1, hosts: 3, rails: 2, aggs: 2}",
    "{name: hpn, segments: 2, hosts: 2, rails: 2, aggs: 2}",
    "{name: rail-optimised, domains: 3, hb_size: 2}",
    "{name: rail-optimised, domains: 2, hb_size: 4}",
    "{name: fat-tree, ports: 4}",
)
KINDS = ("allreduce", "allreduce", "reduce", "broadcast", "reduce-scatter", "all-gather")
NAMED = re.compile(r"has no result of block|gave up on rank|cut off")
SEEDS = 500
SHORT = (0, 3, 11, 14, 22)


def collective_of(random: Random, members: list[str]) -> str:
    """Draw a collective among members."""
    kind = random.choice(KINDS)
    keys = {
        "kind": kind,
        "algorithm": "switch-tree",
        "elements": max(len(members), random.choice((1, 64, 65, 700, 3000))),
        "dtype": random.choice(("int32", "int32", "int64", "float32")),
        "members": f"[{', '.join(members)}]",
    }
    if random.random() < 0.8:
        keys["slots"] = random.choice((1, 2, 4, 16))
    if kind in ("broadcast", "reduce"):
        keys["root"] = random.randrange(len(members))
    if kind in ("allreduce", "reduce", "reduce-scatter"):
        keys["operation"] = random.choice(("sum", "sum", "maximum", "minimum"))
    return f"{{{', '.join(f'{key}: {value}' for key, value in keys.items())}}}"


def fault_of(random: Random, links: list[str], switches: list[str]) -> str:
    """Draw a fault: loss to 5 %, a delay, a link or a switch that fails, for good or for a while."""
    at_us = round(random.uniform(0.01, 6), 2)
    kind = random.random()
    if kind < 0.5:
        percent = random.choice((1, 3, 5))
        return f"  - {{at_us: {at_us}, link: {random.choice(links)}, event: loss, percent: {percent}}}\n"
    if kind < 0.6:
        add_ns = random.choice((200, 3000))
        return f"  - {{at_us: {at_us}, link: {random.choice(links)}, event: delay, add_ns: {add_ns}}}\n"
    target = f"link: {random.choice(links)}" if kind < 0.8 else f"switch: {random.choice(switches)}"
    fault = f"  - {{at_us: {at_us}, {target}, event: down}}\n"
    if random.random() < 0.3:
        fault += f"  - {{at_us: {round(at_us + random.uniform(1, 40), 2)}, {target}, event: up}}\n"
    return fault


def scenario_of(seed: int, path: Path) -> Random:
    """Write a random scenario; return the random generator by which hosts disturb frames."""
    random = Random(seed)
    topology = random.choice(FABRICS)
    header = f"name: drawn\ntopology: {topology}\n"
    path.write_text(header)
    (ready,) = prepare(*load(path))
    fabric = ready.fabric
    npus = list(ready.members)
    switches = [node.name for node in fabric.switches]
    links = [link.name for link in fabric.links if {link.a.node, link.b.node} & set(switches)]
    count = random.randint(4, len(npus))
    members = random.sample(npus, count)
    groups = [members] if random.random() < 0.6 else [members[: count // 2], members[count // 2 :]]
    text = header + "transport: {initial_rto_us: 20, min_rto_us: 4}\njobs:\n"
    for number, group in enumerate(groups):
        at_us = random.choice((0, 0.5, 2)) * number
        text += f"  - {{name: j{number}, at_us: {at_us}, collective: {collective_of(random, group)}}}\n"
    faults = "".join(fault_of(random, links, switches) for _ in range(random.randint(0, 4)))
    path.write_text(text + (f"faults:\n{faults}" if faults else ""))
    return random


def seen(seed: int, path: Path) -> Observation:
    random = scenario_of(seed, path)
    choice = UnrulyHosts(random.choice((0, 0.02, 0.1)))
    return run(prepare(*load(path)), seed, choice=choice).runs["run"].observation


def verdict(seed: int, path: Path) -> str:
    """Return "right", or "named" for a loss that the run names after a link or a switch has failed.

    AssertionError for wrong data without a name, and for a loss although nothing failed.
    """
    observation = seen(seed, path)
    why = observation.first_wrong
    if not why:
        assert observation.correct_nodes == observation.nodes
        return "right"
    scenario = path.read_text()
    assert NAMED.search(why), f"seed {seed}: {why}\n{scenario}"
    assert "event: down" in scenario, f"seed {seed}: {why}\n{scenario}"
    return "named"


@pytest.mark.parametrize("seed", SHORT)
def test_a_handful(seed: int, tmp_path: Path) -> None:
    assert verdict(seed, tmp_path / "drawn.yaml") in ("right", "named")


@pytest.mark.long
def test_all_scenarios(tmp_path: Path) -> None:
    counts = Counter(verdict(seed, tmp_path / "drawn.yaml") for seed in range(SEEDS))
    assert counts["right"] > 0.8 * SEEDS, counts

# SPDX-License-Identifier: Apache-2.0
"""Connections that a scenario asks for: what is refused, which paths they get, what they load."""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from controller.path_probing import PathProbe
from harness.errors import ScenarioError
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from papers.hpn.figures.paths import idle_downlinks, port_imbalance
from topologies import RailyardError

Write = Callable[[str], Path]

HEAD = """\
name: small
seed: 3
topology: {name: hpn, segments: 4, hosts: 2, rails: 2, aggs: 3}
collective: {kind: allreduce, algorithm: ring, elements: 4096, payload_bytes: 256}
routing: {strategy: hashed, peers: job}
jobs:
  - {name: even, collective: {members: [gpu0, gpu4, gpu8, gpu12]}}
  - {name: odd, collective: {members: [gpu2, gpu6, gpu10, gpu14]}}
"""


def prepared(write: Write, connections: str, head: str = HEAD) -> Prepared:
    return prepare(*load(write(f"{head}transport: {{window: 16, connections: {connections}}}\n")))[0]


def uplinks(ready: Prepared) -> Counter[tuple[str, str]]:
    """Count the connections that each uplink of a ToR carries."""
    search, result = PathProbe(ready.plan), Counter[tuple[str, str]]()
    for job in ready.jobs:
        assert job.connections is not None
        for (source, target), lbs in job.connections.lbs.items():
            by_path = search.lbs_by_path(job.members[source], job.members[target])
            asked = {lb: path for path, some in by_path.items() for lb in some}
            result.update((asked[lb][1], asked[lb][2]) for lb in lbs)
    return result


def of_pairs(ready: Prepared) -> list[tuple[int, ...]]:
    return [lbs for job in ready.jobs if job.connections for lbs in job.connections.lbs.values()]


def test_a_search_for_all_paths_loads_all_uplinks_alike(write: Write):
    ready = prepared(write, "{paths: search, count: 0}")
    assert {len(lbs) for lbs in of_pairs(ready)} == {6}
    # Eight hops, each with a connection on every uplink of its two ToRs.
    assert set(uplinks(ready).values()) == {2}
    assert len(uplinks(ready)) == 4 * 2 * 3


@pytest.mark.parametrize(
    ("connections", "count"), [("{}", 4), ("{paths: random, count: 3}", 3), ("{paths: five-tuple}", 2)]
)
def test_there_are_as_many_as_asked_for_and_ports_take_turns(write: Write, connections: str, count: int):
    ready = prepared(write, connections)
    for lbs in of_pairs(ready):
        assert len(set(lbs)) == count
        ports = [lb >> 1 & 1 for lb in lbs]
        assert all(item != other for item, other in pairwise(ports))
    assert of_pairs(ready) == of_pairs(prepared(write, connections))
    other = prepared(write, connections, HEAD.replace("seed: 3", "seed: 4"))
    assert of_pairs(ready) != of_pairs(other)


def test_jobs_of_equal_ranks_draw_for_themselves(write: Write):
    ready = prepared(write, "{paths: random, count: 8}")
    even, odd = (job.connections.lbs for job in ready.jobs if job.connections)
    assert even.keys() == odd.keys()
    assert all(even[pair] != odd[pair] for pair in even)


@pytest.mark.parametrize(
    ("connections", "told"),
    [
        ("{paths: five-tuple, count: 2}", "makes one connection for each port"),
        ("{paths: random, count: 0}", "give a number"),
        ("{paths: serch}", "search"),
        ("{choose: most}", "least-unfinished"),
    ],
)
def test_what_cannot_be_is_refused_by_line(write: Write, connections: str, told: str):
    with pytest.raises(ScenarioError, match=told) as caught:
        prepared(write, connections)
    assert ":9:" in str(caught.value)


def test_circuits_are_refused_by_line(write: Write):
    head = (
        "name: small\ntopology: {name: lumos, pods: 2, leaves: 2, accelerators: 8}\n"
        "routing: {strategy: shortest, peers: job}\n"
        "collective: {kind: all-gather, algorithm: direct, members: 4, elements: 4096}\n"
    )
    with pytest.raises(RailyardError, match="has circuits") as caught:
        prepared(write, "{}", head)
    assert ":5:" in str(caught.value)


def test_data_are_right_and_the_search_is_no_slower(write: Write):
    times = {}
    for name, connections in {
        "search": "{paths: search, count: 0}",
        "five-tuple": "{paths: five-tuple, choose: random}",
    }.items():
        seen = observe(prepared(write, connections), 3)
        assert (seen.correct_nodes, seen.nodes, seen.traffic.retransmitted) == (8, 8, 0)
        times[name] = seen.completion_ps
    assert times["search"] < times["five-tuple"]


@pytest.mark.long
def test_the_same_hash_idles_half_the_links_down_where_there_is_one_plane(write: Write):
    idle = {}
    for planes in (1, 2):
        head = HEAD.replace("aggs: 3", f"aggs: 2, planes: {planes}") + "control: {hash: identical}\n"
        ready = prepared(write, "{paths: search, count: 0}", head)
        seen = observe(ready, 3)
        assert seen.correct_nodes == seen.nodes
        idle[planes] = idle_downlinks(ready, seen)
        assert port_imbalance(ready, seen) < 1.1
    assert idle == {1: 0.5, 2: 0.0}

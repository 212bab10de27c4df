# SPDX-License-Identifier: Apache-2.0
"""JSON form of graphs: read, written, refused; the schema agrees with the reader."""

import json
from pathlib import Path
from random import Random
from typing import Any

import jsonschema
import pytest

import emulation
from emulation.errors import GraphError
from emulation.traffic.graph.document import line_of, read_graph, to_document, write_graph
from tests.emulation.traffic.graph.random_graphs import random_graph

_SCHEMA = Path(emulation.__file__).parent / "traffic" / "graph" / "graph.schema.json"

SEND = {"id": "s", "send": 8, "from": "a", "to": "b"}


@pytest.mark.parametrize("seed", range(10))
def test_a_graph_is_read_as_it_was_written(seed: int, tmp_path: Path) -> None:
    graph = random_graph(Random(seed), ["a", "b", "c"], 40)
    write_graph(graph, tmp_path / "graph.json")
    document = json.loads((tmp_path / "graph.json").read_text())
    jsonschema.validate(document, json.loads(_SCHEMA.read_text()))
    assert read_graph(document) == graph


@pytest.mark.parametrize(
    ("rows", "place", "key", "why"),
    [
        ([{**SEND, "send": 0}], 0, "send", "0 bytes"),
        ([{**SEND, "send": -4}], 0, "send", "-4 bytes"),
        ([{**SEND, "send": 2.5}], 0, "send", "send is 2.5"),
        ([{**SEND, "to": "a"}], 0, "to", "a cannot send to itself"),
        ([{"id": "s", "send": 8, "from": "a"}], 0, "to", "to is None"),
        ([SEND, SEND], 1, "id", "two operations are called 's'"),
        ([SEND, {**SEND, "id": "t", "after": ["u"]}], 1, "after", "no operation is called 'u'"),
        ([{**SEND, "aftr": []}], 0, "aftr", "unknown key 'aftr'"),
        ([{**SEND, "at_us": -1}], 0, "at_us", "at_us is -1"),
        ([{**SEND, "read": 2}], 0, "read", "position 2"),
        ([{**SEND, "read": "s"}], 0, "read", "'s' puts no data on a"),
        ([{**SEND, "combine": "add"}], 0, "combine", "'add' is not known"),
        ([{**SEND, "send": 6, "combine": "reduce"}], 0, "send", "6 bytes to add up"),
        ([SEND, {"compute_us": 1, "on": "c", "after": "s"}], 1, "after", "c does not see the end"),
        ([{"id": "r", "receive": 0, "on": "b", "from": "a", "tag": 1}], 0, "tag", "once more than is sent"),
        (
            [
                {**SEND, "tag": 1},
                {**SEND, "id": "t", "tag": 1},
                {"receive": 0, "on": "b", "from": "a", "tag": 1},
            ],
            1,
            "tag",
            "no receive of b takes the send 't'",
        ),
        ([{**SEND, "tag": 1}, {"receive": 4, "on": "b", "from": "a", "tag": 1}], 1, "receive", "has 8"),
        ([{"id": "x"}], 0, "id", "does nothing"),
        ([SEND, {"id": "c", "copy": 16, "on": "b", "read": "s"}], 1, "copy", "16 bytes of 's', which has 8"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_with_its_operation_and_key(
    rows: list[Any], place: int, key: str, why: str
) -> None:
    with pytest.raises(GraphError) as caught:
        read_graph({"operations": rows})
    assert why in str(caught.value)
    assert (caught.value.operation, caught.value.key) == (place, key)


def test_a_cycle_is_named() -> None:
    rows = [
        {"id": "x", "compute_us": 1, "on": "a", "after": ["back"]},
        {"id": "out", "send": 8, "from": "a", "to": "b", "after": ["x"]},
        {"id": "back", "send": 8, "from": "b", "to": "a", "after": ["out"]},
        SEND,
    ]
    with pytest.raises(GraphError, match="in a cycle: x, back, out") as caught:
        read_graph({"operations": rows})
    assert caught.value.operation == 0


def test_two_receives_that_wait_for_each_other_are_a_cycle() -> None:
    rows = [
        {"id": "a", "send": 8, "from": "m", "to": "n", "tag": 1, "after": ["ra"]},
        {"id": "ra", "receive": 0, "on": "m", "from": "n", "tag": 2},
        {"id": "b", "send": 8, "from": "n", "to": "m", "tag": 2, "after": ["rb"]},
        {"id": "rb", "receive": 0, "on": "n", "from": "m", "tag": 1},
    ]
    with pytest.raises(GraphError, match="in a cycle"):
        read_graph({"operations": rows})


def test_signals_tell_other_members_of_an_end() -> None:
    rows = [SEND, *({"id": f"c{n}", "compute_us": 1, "on": "c", "after": ["s"]} for n in range(2))]
    graph = read_graph({"signals": True, "operations": rows})
    assert [operation.id for operation in graph.operations] == ["s", "s>c", "c0", "c1"]
    signal = graph.operations[1]
    assert (signal.member, signal.peer, signal.size, signal.after) == ("b", "c", 4, ("s",))
    assert graph.operations[2].after == ("s>c",)


def test_lines_of_keys() -> None:
    text = '{\n"operations": [\n{"id": "a{",\n "send": 1}, {"id": "b"},\n\n{"id": "c",\n\n"send": 0}]}'
    assert [line_of(text, 0, "send"), line_of(text, 1, "id"), line_of(text, 2, "send")] == [4, 4, 8]
    assert line_of(text, 2, "nothing") == 6
    value = '{"operations": [\n {"id": "after",\n  "after": ["x"]}]}'
    assert line_of(value, 0, "after") == 3  # the key, and not a name that reads the same
    assert json.loads(text)


def test_a_document_of_another_format_is_refused() -> None:
    with pytest.raises(GraphError, match="version 2"):
        read_graph({"version": 2, "operations": [SEND]})
    with pytest.raises(GraphError, match="has no list of operations"):
        read_graph({"name": "x"})
    assert to_document(read_graph({"operations": [SEND]}))["operations"] == [SEND]

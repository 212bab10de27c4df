# SPDX-License-Identifier: Apache-2.0
"""Words behind the verbs of the command line: what they name, what is refused, and their completion."""

import pytest

from emulation.errors import TestbedError
from harness.frames.craft import Order
from harness.shell.arguments import completions, frame_order, links_of, words_of
from tests.emulation.mininet.tapped import doubled
from topologies import TopologyError
from topologies.families.full_mesh import full_mesh


def test_a_link_has_a_name_or_two_ends() -> None:
    assert links_of(full_mesh([2, 2]), ["npu0-npu1"]) == ["npu0-npu1"]
    assert links_of(full_mesh([2, 2]), ["npu1", "npu0"]) == ["npu0-npu1"]
    assert links_of(doubled(), ["npu0", "npu1"]) == ["npu0-npu1", "twin"]


def test_what_names_no_link_is_refused_with_those_that_exist() -> None:
    with pytest.raises(
        TestbedError, match="no link joins npu0 and npu3; name a neighbour of npu0: npu1, npu2"
    ):
        links_of(full_mesh([2, 2]), ["npu0", "npu3"])
    with pytest.raises(TopologyError, match="npu9"):
        links_of(full_mesh([2, 2]), ["npu0", "npu9"])


def test_a_frame_is_described_as_by_the_command() -> None:
    order = frame_order("npu0 npu3 --bucket 5 --route npu1,- --psn 9 --payload-bytes 3 --set srh.ptr=1")
    assert order == Order(
        "npu0", "npu3", "data", ("npu1", "-"), bucket=5, psn=9, payload=b"\0\1\2", changes=("srh.ptr=1",)
    )
    assert frame_order("npu0 npu3 --ack").kind == "ack"
    notice = frame_order("npu0 npu3 --notice npu0-npu1 --up")
    assert (notice.kind, notice.link, notice.up) == ("notice", "npu0-npu1", True)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("npu0", "got 1; type craft SOURCE DESTINATION"),
        ("npu0 npu1 --bucket x", "invalid int value: 'x'; craft"),
        ("npu0 npu1 --speed 3", "unrecognized arguments: --speed 3; craft"),
        ("npu0 'npu1", "close every quotation mark"),
    ],
)
def test_a_frame_that_is_described_wrongly_is_refused(line: str, says: str) -> None:
    with pytest.raises(TestbedError) as refused:
        frame_order(line)
    assert says in str(refused.value)


def test_too_many_words_are_refused_with_the_usage() -> None:
    with pytest.raises(TestbedError, match="got 3; type cut LINK"):
        words_of("a b c", "cut LINK", 1, 2)


@pytest.mark.parametrize(
    ("line", "begin", "expected"),
    [
        ("cut ", 4, ["npu0", "npu0-npu1", "npu0-npu2", "spare"]),
        ("cut npu0", 4, ["npu0", "npu0-npu1", "npu0-npu2"]),
        ("cut npu0-", 9, ["npu1", "npu2"]),
        ("cut npu0-npu2", 9, ["npu2"]),
        ("path npu0 s", 10, ["spare"]),
        ("cut x", 4, []),
    ],
)
def test_words_are_completed_also_behind_a_dash(line: str, begin: int, expected: list[str]) -> None:
    words = ["npu0", "npu0-npu1", "npu0-npu2", "spare"]
    assert completions(line, begin, len(line), words) == expected

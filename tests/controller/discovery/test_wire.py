# SPDX-License-Identifier: Apache-2.0
"""Bytes of requests, and answers that are cut short or lie."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from controller.discovery.wire import Hops, read_answer, request
from controller.errors import PlanError

# An answer on a path of one hop: the node with GUID 5 has 7 ports; the request went from port 4 to port 2.
STATE = "00 01 01 01"
ANSWER = bytes.fromhex(
    "ffffffffffff 020000000000 88b5"
    "0046 00af 0000 0000 0000 0009 7fff 0000" + STATE + "00000002"
    "01000000 0012 002a 0000000000000000 0000000000000005"
    "00040100 01080007 00010000 04080000 00000003 021c0100 00020004 00000000" + "00" * 16
)


def test_bytes_of_a_request() -> None:
    frame = request(0x2A, [3, 1, 14, 7, 9], [0, 2, 4, 6, 8])
    # 60 bytes: 3 flits, the last of 20 bytes
    link = "88b5 0046 0053 0000 0000 0000 0009 7fff 0000 0011 0500"
    paths = "070e 0103 0000 0009 0604 0200 0000 0008"
    unit = "0100 0100 0006 002a 0000 0000 0000 0000 0000 0000 0000 0000"
    assert frame[12:] == bytes.fromhex(link + paths + unit)


@pytest.mark.parametrize(("hops", "word"), [(Hops.BITS_4, "00000321"), (Hops.BITS_16, "00020001")])
def test_the_first_hop_is_in_the_least_significant_bits(hops: Hops, word: str) -> None:
    assert request(0, [1, 2, 3], [0, 0, 0], hops)[34:38].hex() == word


def test_the_root_is_asked_without_a_path() -> None:
    frame = request(0, [], [])
    assert frame[30:34] == bytes.fromhex("00010000")
    assert len(frame) == 14 + 20 + 24


@pytest.mark.parametrize(
    ("path", "back", "hops", "message"),
    [
        ([1] * 17, [0] * 17, Hops.BITS_8, "the path has 17 hops; with 8 bits a hop, 16 fit"),
        ([1] * 9, [0] * 9, Hops.BITS_16, "with 16 bits a hop, 8 fit"),
        ([16], [0], Hops.BITS_4, "port 16 does not fit in a hop of 4 bits"),
        ([1], [256], Hops.BITS_8, "port 256 does not fit in a hop of 8 bits"),
        ([1], [], Hops.BITS_8, "the path has 1 hops, but the path back has 0"),
    ],
)
def test_paths_that_do_not_fit(path: list[int], back: list[int], hops: Hops, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        request(0, path, back, hops)


def test_an_answer_is_read() -> None:
    answer = read_answer(ANSWER)
    assert answer is not None
    assert (answer.number, answer.guid, answer.class_code) == (42, 5, 3)
    assert (answer.ports, answer.port, answer.sent_by) == (7, 2, 4)


@given(st.integers(0, len(ANSWER) - 1))
def test_an_answer_cut_short_is_none(length: int) -> None:
    assert read_answer(ANSWER[:length]) is None


@settings(max_examples=300)
@given(st.binary(min_size=20, max_size=120))
def test_any_bytes_are_an_answer_or_none(body: bytes) -> None:
    answer = read_answer(ANSWER[:30] + body)
    assert answer is None or 0 <= answer.port < 1 << 16


@pytest.mark.parametrize(
    ("place", "value"),
    [(13, 0xB6), (15, 0x47), (25, 0x08), (31, 0x03), (31, 0x11), (40, 1), (41, 1), (38, 2), (63, 0)],
    ids=["type", "cfg", "nlp", "hop type", "return path", "request", "status", "version", "TLV length"],
)
def test_a_frame_that_is_no_answer(place: int, value: int) -> None:
    frame = bytearray(ANSWER)
    frame[place] = value
    assert read_answer(bytes(frame)) is None

# SPDX-License-Identifier: Apache-2.0
"""Frames of memory operations against the Scapy layers, and what operations do to a memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.errors import EmulationError
from emulation.traffic.frames.layers import LPH, MOH, NTH, TPH, Ether
from emulation.traffic.frames.values import VL_RESPONSE, Opcode, Operation, Status, mac
from emulation.traffic.memory.memory import Memory, operands
from emulation.traffic.memory.wire import HEADER_BYTES, MAX_BYTES, MemoryFields, read_frame, write_frame

CNA = st.integers(0, 0xFFFF)
PSN = st.integers(0, 0xFFFFFF)


@given(
    fields=st.builds(
        MemoryFields,
        response=st.booleans(),
        scna=CNA,
        dcna=CNA,
        lb=st.integers(0, 255),
        psn=PSN,
        oldest=PSN,
        operation=st.sampled_from(Operation).map(int),
        status=st.sampled_from(Status).map(int),
        length=st.integers(0, 0xFFFF),
        address=st.integers(0, (1 << 64) - 1),
        data=st.binary(max_size=100) | st.just(bytes(MAX_BYTES)),
    ),
    padding=st.integers(0, 20),
)
def test_a_frame_is_the_layers_bytes_and_is_read_back(fields: MemoryFields, padding: int):
    frame = write_frame(fields)
    layers = (
        Ether(dst=mac(fields.dcna), src=mac(fields.scna))
        / LPH(lb_mode=1, vl=VL_RESPONSE if fields.response else 0)
        / NTH(scna=fields.scna, dcna=fields.dcna, lb=fields.lb, sl=int(fields.response))
        / TPH(
            opcode=Opcode.RESPONSE if fields.response else Opcode.REQUEST,
            psn=fields.psn,
            ack_psn=fields.oldest,
        )
        / MOH(operation=fields.operation, status=fields.status, length=fields.length, address=fields.address)
        / fields.data
    )
    assert frame == bytes(layers)
    assert read_frame(frame + bytes(padding)) == fields
    assert Ether(frame)[MOH].address == fields.address


@pytest.mark.parametrize(
    ("at", "value", "word"),
    [(12, 0, "ethertype"), (15, 7, "cfg"), (17, 0, "length"), (25, 8, "management"), (26, 1, "opcode")],
)
def test_a_damaged_frame_is_junk(at: int, value: int, word: str):
    frame = write_frame(MemoryFields(False, 1, 2, 3, 4, 4, Operation.STORE, 0, 0, 64, b"12345678"))
    assert read_frame(frame[:at] + bytes([value]) + frame[at + 1 :]) == word
    assert read_frame(frame[: HEADER_BYTES - 1]) == "short"


def test_atomics_return_the_value_before_and_sums_wrap():
    memory = Memory(32)
    top = (1 << 64) - 1
    assert memory.execute(Operation.FETCH_ADD, 8, 0, operands(top)) == (Status.DONE, operands(0))
    assert memory.execute(Operation.FETCH_ADD, 8, 0, operands(3)) == (Status.DONE, operands(top))
    assert memory.execute(Operation.COMPARE_SWAP, 8, 0, operands(7, 9)) == (Status.DONE, operands(2))
    assert memory.execute(Operation.COMPARE_SWAP, 8, 0, operands(2, 9)) == (Status.DONE, operands(2))
    assert memory.execute(Operation.STORE, 16, 0, b"abc") == (Status.DONE, b"")
    assert memory.execute(Operation.LOAD, 8, 11, b"") == (Status.DONE, operands(9) + b"abc")


@pytest.mark.parametrize(
    ("operation", "address", "length", "data", "status"),
    [
        (Operation.LOAD, 30, 3, b"", Status.OUTSIDE),
        (Operation.STORE, 31, 0, b"ab", Status.OUTSIDE),
        (Operation.FETCH_ADD, 32, 0, operands(1), Status.OUTSIDE),
        (Operation.FETCH_ADD, 4, 0, operands(1), Status.UNALIGNED),
        (Operation.FETCH_ADD, 8, 0, operands(1, 2), Status.UNALIGNED),
        (Operation.COMPARE_SWAP, 8, 0, operands(1), Status.UNALIGNED),
    ],
)
def test_an_impossible_operation_changes_nothing(
    operation: Operation, address: int, length: int, data: bytes, status: Status
):
    memory = Memory(32)
    assert memory.execute(operation, address, length, data) == (status, b"")
    assert memory.content == bytes(32)


def test_a_memory_has_a_size_in_range():
    with pytest.raises(EmulationError, match="a memory cannot have -1 bytes"):
        Memory(-1)

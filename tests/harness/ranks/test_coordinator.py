"""Programs of ranks on a fabric in virtual time: results, clocks, order, failures."""

import numpy as np
import pytest

from emulation.traffic.frames.values import Combine, ElementType
from harness.ranks.calls import Call
from harness.ranks.coordinator import LAUNCH_PS, NOTICE_PS
from tests.harness.ranks.programs import collective, ready_on, run_ranks

TYPES = {
    ElementType.INT32: np.int32,
    ElementType.FLOAT32: np.float32,
    ElementType.INT64: np.int64,
    ElementType.FLOAT64: np.float64,
    ElementType.INT8: np.int8,
    ElementType.UINT8: np.uint8,
    ElementType.FLOAT16: np.float16,
}
OPERATIONS = {
    Combine.REDUCE: np.add,
    Combine.PRODUCT: np.multiply,
    Combine.MINIMUM: np.minimum,
    Combine.MAXIMUM: np.maximum,
    Combine.AND: np.bitwise_and,
    Combine.OR: np.bitwise_or,
    Combine.XOR: np.bitwise_xor,
}


def drawn(rank, dtype, elements=37):
    generator = np.random.default_rng(rank)
    if np.issubdtype(dtype, np.integer):
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, elements, dtype, endpoint=True)
    return generator.integers(-3, 4, elements).astype(dtype)  # exact in every order of additions


def test_allreduce_of_every_type_and_operation_equals_numpy():
    cases = [
        (kind, dtype, combine, ufunc)
        for kind, dtype in TYPES.items()
        for combine, ufunc in OPERATIONS.items()
        if np.issubdtype(dtype, np.integer) or combine < Combine.AND
    ]

    def program(process):
        return [
            np.frombuffer(
                collective(
                    process, "all_reduce", drawn(process.rank, dtype).tobytes(), dtype=kind, op=combine
                ),
                dtype,
            )
            for kind, dtype, combine, _ in cases
        ]

    results, _ = run_ranks(program)
    for number, (_, dtype, _, ufunc) in enumerate(cases):
        with np.errstate(over="ignore"):
            right = drawn(0, dtype)
            for rank in range(1, 4):
                right = ufunc(right, drawn(rank, dtype)).astype(dtype)
        for result in results:
            assert np.array_equal(result[number], right), cases[number]


def test_bfloat16_is_rounded_to_the_nearest_after_each_addition():
    def program(process):
        # 1 + 2^-8 + 2^-8: each addition of 2^-8 ends halfway and goes to the even neighbour, 1.
        value = np.array([1.0 if process.rank == 0 else 2.0**-8], np.float32).view(np.uint32) >> 16
        data = value.astype(np.uint16).tobytes()
        return collective(process, "all_reduce", data, dtype=ElementType.BFLOAT16)

    results, _ = run_ranks(program, ranks=3)
    assert [np.frombuffer(result, np.uint16)[0] for result in results] == [0x3F80] * 3


@pytest.mark.parametrize("block", [1, 8, 1000, 40_000])
def test_blocks_of_any_size_arrive_where_they_belong(block):
    def blocks(rank):
        return [bytes([16 * rank + other]) * block for other in range(4)]

    def program(process):
        own = blocks(process.rank)
        everyone = collective(process, "all_gather", own[0], block)
        scattered = collective(process, "reduce_scatter", b"".join(own), block, op=Combine.MAXIMUM)
        rooted = collective(process, "broadcast", own[1] if process.rank == 2 else b"", block, root=2)
        gathered = collective(process, "gather", own[2], block, root=3)
        given = collective(process, "scatter", b"".join(own) if process.rank == 1 else b"", block, root=1)
        reduced = collective(process, "reduce", own[0], block, root=1, op=Combine.MAXIMUM)
        return everyone, scattered, rooted, gathered, given, reduced

    results, _ = run_ranks(program)
    for rank, (everyone, scattered, rooted, gathered, given, reduced) in enumerate(results):
        assert everyone == b"".join(blocks(other)[0] for other in range(4))
        assert scattered == blocks(3)[rank]
        assert rooted == blocks(2)[1]
        assert gathered == (b"".join(blocks(other)[2] for other in range(4)) if rank == 3 else b"")
        assert given == blocks(1)[rank]
        assert reduced == (blocks(3)[0] if rank == 1 else b"")


def test_uneven_exchange_brings_every_block():
    def size(source, target):
        return (source * 5 + target * 11) % 7 * 613  # some are empty

    def program(process):
        rank = process.rank
        data = b"".join(bytes([16 * rank + target]) * size(rank, target) for target in range(4))
        call = Call(
            "all_to_all",
            data,
            sent=tuple(size(rank, target) for target in range(4)),
            received=tuple(size(source, rank) for source in range(4)),
        )
        return process.wait(process.begin("call", "all", (0, 1, 2, 3), call), None)[0]

    results, _ = run_ranks(program)
    for rank, result in enumerate(results):
        assert result == b"".join(bytes([16 * source + rank]) * size(source, rank) for source in range(4))


def test_contradicting_sizes_of_an_exchange_are_named():
    def program(process):
        call = Call("all_to_all", bytes(8), sent=(4, 4), received=(4, 4 + 4 * process.rank))
        process.wait(process.begin("call", "all", (0, 1), call), None)

    results, _ = run_ranks(program, ranks=2)
    assert all("member 1 sends 4 bytes to member 1, which expects 8" in str(error) for error in results)


def test_a_collective_begins_when_its_last_member_calls():
    late_ps = 10**9

    def program(process):
        process.clock.add_ps(late_ps * (process.rank == 3))
        collective(process, "all_reduce", bytes(4096))
        return process.clock.now_ps()

    results, coordinator = run_ranks(program)
    assert all(end > late_ps + LAUNCH_PS for end in results)
    assert {work.begun_ps for rank in coordinator.ranks for work in rank.all_works} == {late_ps + LAUNCH_PS}


def test_records_of_ended_works_hold_neither_data_nor_agents():
    def program(process):
        for _ in range(3):
            collective(process, "all_reduce", bytes(4096))
        call = Call("all_to_all", bytes(8), sent=(4, 4, 0, 0), received=(4, 4 + 4 * process.rank, 0, 0))
        process.wait(process.begin("call", "all", (0, 1, 2, 3), call), None)

    _, coordinator = run_ranks(program)
    works = [work for rank in coordinator.ranks for work in rank.all_works]
    assert len(works) == 16
    assert {(work.call.data, work.pending) for work in works} == {(b"", None)}
    assert {work.call.block for work in works if work.call.kind == "all_reduce"} == {4096}


def test_groups_at_a_time_contend_on_a_link():
    def alone(process):
        if process.rank < 2:
            collective(process, "all_gather", bytes(1 << 20), members=(0, 1))
        return process.clock.now_ps()

    def both(process):
        if process.rank < 2:
            members = (0, 1)
            works = [
                process.begin("call", name, members, Call("all_gather", bytes(1 << 20), 1 << 20))
                for name in ("first", "second")
            ]
            for work in works:
                process.wait(work, None)
        return process.clock.now_ps()

    single, _ = run_ranks(alone, ready=ready_on((4,), routing={"strategy": "shortest"}))
    double, _ = run_ranks(both, ready=ready_on((4,), routing={"strategy": "shortest"}))
    assert 1.8 < (double[0] - LAUNCH_PS) / (single[0] - LAUNCH_PS) < 2.2


def test_a_run_repeats_to_the_picosecond():
    def program(process):
        generator = np.random.default_rng(process.rank)
        for _ in range(4):
            process.clock.add_ps(int(generator.integers(10**8)))
            collective(process, "all_reduce", bytes(10_000))
            pair = (process.rank // 2 * 2, process.rank // 2 * 2 + 1)
            collective(process, "all_gather", bytes(3000), members=pair)
        return process.clock.now_ps()

    first, second = (run_ranks(program) for _ in range(2))
    assert first[0] == second[0]
    spans = [
        [[(work.begun_ps, work.ended_ps) for work in rank.all_works] for rank in coordinator.ranks]
        for _, coordinator in (first, second)
    ]
    assert spans[0] == spans[1]


def test_messages_of_a_pair_keep_their_order_and_their_tags():
    def program(process):
        members = (0, 1)
        if process.rank == 0:
            for tag, text in ((0, b"first"), (1, b"other"), (0, b"again")):
                process.wait(process.begin("send", "w", members, Call("send", text, 5), 1, tag), None)
            return None
        call = Call("send", b"", 5)
        works = [
            process.begin("receive", "w", members, call, source, tag)
            for source, tag in ((0, 0), (-1, 0), (0, 1))
        ]
        return [process.wait(work, None) for work in works]

    results, _ = run_ranks(program, ranks=2)
    assert results[1] == [(b"first", 0), (b"again", 0), (b"other", 0)]


def test_a_wait_for_a_key_takes_virtual_time():
    def program(process):
        if process.rank == 0:
            process.clock.add_ps(10**9)
            process.store("set", ["key"], [b"value"])
        else:
            assert process.store("get", ["key"]) == [b"value"]
        return process.clock.now_ps()

    results, _ = run_ranks(program, ranks=2)
    assert results == [10**9 + LAUNCH_PS] * 2


def test_a_timeout_passes_in_virtual_time_and_names_who_is_missing():
    def program(process):
        if process.rank == 2:
            process.clock.add_ps(10**13)
            process.store("check", ["nothing"])
            return None
        work = process.begin("call", "all", (0, 1, 2), Call("barrier", bytes(8), 8))
        process.wait(work, 10**12)

    results, _ = run_ranks(program, ranks=3)
    assert "barrier has no result within its timeout of 1 s: rank 2 has not called it" in str(results[0])


def test_a_lost_rank_is_named_to_the_others():
    lost_ps = 10**8

    def program(process):
        for _ in range(1000):
            collective(process, "all_reduce", bytes(1 << 16))

    results, coordinator = run_ranks(program, lost={2: lost_ps})
    for rank in (0, 1, 3):
        assert "rank 2 (npu2) is lost" in str(results[rank])
        assert lost_ps < coordinator.ranks[rank].clock_ps <= lost_ps + NOTICE_PS + 10**7
    assert "is lost" in coordinator.ranks[2].outcome


def test_calls_that_differ_are_named():
    def program(process):
        kind = "broadcast" if process.rank else "all_reduce"
        collective(process, kind, bytes(8))

    results, _ = run_ranks(program, ranks=2)
    assert all("rank 0 all_reduce of 8 bytes" in str(error) or "broadcast" in str(error) for error in results)

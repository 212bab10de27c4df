# SPDX-License-Identifier: Apache-2.0
"""Memory operations under loss, duplication and reordering: every operation takes effect once."""

from collections import Counter

import pytest

from emulation.errors import EmulationError
from emulation.traffic.memory.agent import MemoryAgent, Program, make_memory_agents
from emulation.traffic.memory.borrower import Mix
from emulation.traffic.memory.extents import Directory, allocate
from emulation.traffic.memory.memory import ATOMIC_BYTES
from emulation.traffic.memory.requester import RequesterParameters
from emulation.traffic.memory.responder import Responder
from tests.emulation.traffic.conftest import MemoryWire

US = 10**6
LENT = 1 << 14
BORROWERS = (0, 1, 2, 3)
LENDERS = (3, 4, 5)  # node 3 borrows, and lends to its neighbours


def pool(
    *,
    copies: int = 1,
    counters: int = 2,
    operations: int = 300,
    seed: int = 1,
    lenders: tuple[int, ...] = LENDERS,
    parameters: RequesterParameters | None = None,
    mix: Mix | None = None,
) -> tuple[list[MemoryAgent], Directory]:
    directory = allocate(
        BORROWERS,
        lenders,
        page_bytes=512,
        pages=3,
        copies=copies,
        lent_bytes=LENT,
        counters=counters,
        counter_lender=lenders[-1],
    )
    program = Program(operations, mix or Mix(), seed, parameters or RequesterParameters())
    agents = make_memory_agents(BORROWERS, lenders, directory, program, lent_bytes=LENT)
    assert sorted(agents) == list(range(6))
    return [agents[address] for address in sorted(agents)], directory


def carry(agents: list[MemoryAgent], **fortune: object) -> None:
    MemoryWire(agents, **fortune).run()  # type: ignore[arg-type]


def faults(agents: list[MemoryAgent], directory: Directory) -> list[str]:
    """Return everything that is not as it must be after a run."""
    faults = [str(agent.failed) for agent in agents if agent.failed]
    counted: Counter[int] = Counter()
    values: dict[int, list[int]] = {}
    for agent in agents[: len(BORROWERS)]:
        borrower = agent.borrower
        assert borrower is not None
        faults += [borrower.report.first_wrong] * (borrower.report.wrong > 0)
        for page, image in enumerate(_pages(borrower.image, directory.page_bytes)):
            for lender, first in borrower.living(page):
                if agents[lender].memory.content[first : first + len(image)] != image:
                    faults.append(f"page {page} of {agent.address} on {lender}")
        for counter, seen in borrower.report.counted.items():
            counted[counter] += len(seen)
            values.setdefault(counter, []).extend(seen)
        following = agents[(agent.address + 1) % len(BORROWERS)]
        if following.received.get(agent.address, []) != borrower.report.sent:
            faults.append(f"messages of {agent.address}")
    for counter, seen in values.items():
        if sorted(seen) != list(range(len(seen))):
            faults.append(f"counter {counter} returned a value twice")
        at = counter * ATOMIC_BYTES
        word = agents[directory.counter_lender].memory.content[at : at + ATOMIC_BYTES]
        if int.from_bytes(word, "little") != counted[counter]:
            faults.append(f"counter {counter} is {int.from_bytes(word, 'little')}, not {counted[counter]}")
    return faults


def _pages(image: bytes, size: int) -> list[bytes]:
    return [image[at : at + size] for at in range(0, len(image), size)]


@pytest.mark.parametrize("copies", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_every_operation_takes_effect_once(seed: int, copies: int):
    first_psn = 0xFFFF80 if seed % 2 else 0  # sequence numbers wrap
    parameters = RequesterParameters(window=(1, 4, 64)[seed % 3], first_psn=first_psn)
    agents, directory = pool(copies=copies, seed=seed, parameters=parameters)
    carry(agents, seed=seed, loss=0.05, duplication=0.1, jitter_ps=10 * US)
    assert faults(agents, directory) == []
    assert all(agent.done for agent in agents)
    for agent in agents[: len(BORROWERS)]:
        assert agent.borrower is not None
        assert agent.borrower.report.operations == 300
        assert set(agent.borrower.report.counted) == {0, 1}
        assert len(agent.borrower.report.sent) > 5
    total = agents[0].stats
    for agent in agents[1:]:
        total = total + agent.stats
    assert total.retransmitted > 50
    assert total.duplicates > 100
    assert total.acks_received > 50  # late responses
    assert total.sent == total.received


def test_without_the_record_atomics_take_effect_twice(monkeypatch: pytest.MonkeyPatch):
    """The checks above find it."""
    monkeypatch.setattr(Responder, "_record", property(lambda _: {}, lambda _, value: None), raising=False)
    agents, directory = pool()
    carry(agents, loss=0.05, duplication=0.1, jitter_ps=10 * US)
    assert any("FETCH_ADD" in fault for fault in faults(agents, directory))
    assert any("counter" in fault for fault in faults(agents, directory))


def test_without_losses_nothing_is_repeated_and_the_record_stays_small():
    agents, directory = pool(parameters=RequesterParameters(window=4))
    carry(agents)
    assert faults(agents, directory) == []
    assert sum(agent.stats.retransmitted + agent.stats.duplicates for agent in agents) == 0
    recorded = [responder.recorded for agent in agents for responder in agent._responders.values()]  # pyright: ignore[reportPrivateUsage]
    assert 0 < max(recorded) <= 4


@pytest.mark.parametrize("dead", [3, 4])
def test_a_lender_that_is_silent_is_given_up_and_its_pages_go_on_with_their_other_copies(dead: int):
    borrowers_alive = [agent for agent in BORROWERS if agent != dead]
    agents, directory = pool(copies=2, mix=Mix(message=0))
    carry(agents, dead=frozenset({dead}), loss=0.02)
    assert not [fault for fault in faults(agents, directory) if f"of {dead} " not in fault]
    for address in borrowers_alive:
        borrower = agents[address].borrower
        assert borrower is not None
        assert borrower.done
        assert borrower.report.lost_lenders == [dead]
        assert borrower.report.moved_pages > 0


def test_a_borrower_says_which_page_or_counter_is_gone():
    agents, _ = pool(copies=1)
    carry(agents, dead=frozenset({4}))
    failed = [str(agent.failed) for agent in agents if agent.failed]
    assert len(failed) == 1
    assert "no copy of page" in failed[0]
    agents, _ = pool(copies=2)
    carry(agents, dead=frozenset({5}))
    failed = [str(agent.failed) for agent in agents if agent.failed]
    assert "has no lender left" in failed[0] or "shared counters are gone" in failed[0]


def test_pages_are_spread_evenly_over_lenders_other_than_their_borrower():
    directory = allocate(
        range(8), (0, 8, 9), page_bytes=64, pages=6, copies=2, lent_bytes=1 << 20, counters=3
    )
    assert directory.used[0] == 7 * 6 * 2 * 64 // 3 + 3 * ATOMIC_BYTES
    for borrower, pages in directory.pages.items():
        for page in pages:
            lenders = [lender for lender, _ in page.copies]
            assert len(set(lenders)) == 2
            assert borrower not in lenders
    places = [copy for pages in directory.pages.values() for page in pages for copy in page.copies]
    assert len(set(places)) == len(places) == 8 * 6 * 2


@pytest.mark.parametrize(
    ("lenders", "copies", "lent", "words"),
    [
        ((0, 1), 2, 1 << 20, "2 copies of a page need as many lenders"),
        ((8, 9), 1, 100, "bytes, but it lends 100"),
    ],
)
def test_impossible_pools_are_refused(lenders: tuple[int, ...], copies: int, lent: int, words: str):
    with pytest.raises(EmulationError, match=words):
        allocate(range(2), lenders, page_bytes=64, pages=6, copies=copies, lent_bytes=lent)

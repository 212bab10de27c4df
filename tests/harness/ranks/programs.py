"""Programs of ranks in threads of the test's process, on a fabric in virtual time."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

from emulation.traffic.frames.values import Combine, ElementType
from harness.ranks.calls import Call, Kind
from harness.ranks.coordinator import Coordinator
from harness.ranks.session import opened
from harness.run.prepare import Prepared, prepare
from harness.scenario.document import Document
from harness.scenario.loader import read
from railyard.torch.clock import Clock
from railyard.torch.process import RankProcess

Program = Callable[[RankProcess], object]


def ready_on(dims: tuple[int, ...] = (4,), **keys: Any) -> Prepared:
    topology = {"name": "full-mesh", "dims": dims}
    scenario, document = read(Document.of_values({"name": "ranks", "topology": topology, **keys}))
    return prepare(scenario, document)[0]


def run_ranks(
    program: Program, ranks: int = 4, ready: Prepared | None = None, lost: Mapping[int, int] | None = None
) -> tuple[list[Any], Coordinator]:
    """Run a program in a thread for each rank; return results or exceptions by rank, and the coordinator."""
    ready = ready or ready_on((ranks,))
    nodes = tuple(node.name for node in ready.fabric.nodes if node.kind.member)[:ranks]
    pairs = [socket.socketpair() for _ in nodes]
    results: list[Any] = [None] * ranks

    def work(rank: int) -> None:
        process = RankProcess(rank, ranks, Connection(pairs[rank][1].detach()), Clock(None))
        try:
            results[rank] = program(process)
            process.end()
        except RuntimeError as error:
            results[rank] = error
            process.end(str(error))
        except (EOFError, OSError) as error:
            results[rank] = error

    with opened(ready, nodes, 1) as session:
        threads = [threading.Thread(target=work, args=(rank,), daemon=True) for rank in range(ranks)]
        here = [Connection(pair[0].detach()) for pair in pairs]
        coordinator = Coordinator(
            session, nodes, here, lost=lost, stop_process=lambda rank: here[rank].close()
        )
        for thread in threads:
            thread.start()
        coordinator.run()
        for thread in threads:
            thread.join()
    return results, coordinator


def collective(
    process: RankProcess,
    kind: Kind,
    data: bytes,
    block: int | None = None,
    members: tuple[int, ...] | None = None,
    **keys: Any,
) -> bytes:
    """Call a collective and wait for its result."""
    ranks = members or tuple(range(process.size))
    call = Call(kind, data, len(data) if block is None else block, **keys)
    work = process.begin("call", f"group {ranks}", ranks, call)
    return process.wait(work, None)[0]


__all__ = ["Combine", "ElementType", "collective", "ready_on", "run_ranks"]

# SPDX-License-Identifier: Apache-2.0
"""Processes of ranks, forked from a process that has loaded PyTorch, so that it is loaded only once.

railyard.torch.launch runs `python -m railyard.torch.worker SETTINGS`, in which SETTINGS is JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import runpy
import signal
import sys
import traceback
from contextlib import nullcontext, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from railyard.torch.clock import Clock
    from railyard.torch.process import RankProcess

__all__ = ["become_rank", "main"]

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Fork the processes of all ranks, write their ids to the file descriptor `pids`, and wait for them."""
    settings = json.loads(sys.argv[1])
    _end_with_parent()
    import torch
    import torch._dynamo  # every optimizer and DDP needs it; load this slow module before the fork
    import torch.nn.parallel

    import railyard.torch

    railyard.torch.register()
    torch.set_num_threads(1)
    connections: list[int] = settings["connections"]
    ids: list[int] = []
    running: set[int] = set()

    def end_all(*_: object) -> None:
        for child in running:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGTERM, end_all)
    for rank, descriptor in enumerate(connections):
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.close(settings["pids"])
            for other in connections:
                if other != descriptor:
                    os.close(other)
            os._exit(_rank(rank, len(connections), descriptor, settings))
        ids.append(child)
        running.add(child)
    for descriptor in connections:
        os.close(descriptor)
    os.write(settings["pids"], json.dumps(ids).encode())
    os.close(settings["pids"])
    failed = False
    while running:
        child, status = os.wait()
        running.discard(child)
        failed |= status != 0
    sys.exit(failed)


def _end_with_parent() -> None:
    """Make the kernel kill this process when its parent dies."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def become_rank(
    rank: int, size: int, connection: Connection, clock: Clock, restart: int = 0, max_restarts: int = 0
) -> RankProcess:
    """Make this process a rank on the fabric behind `connection`, and set the variables of torchrun.

    `size` is the number of ranks of the run, and `clock` the rank's virtual time. `restart` counts earlier
    starts of all ranks; `max_restarts` is the number of failures after which all ranks start again.
    """
    from torch.optim.optimizer import register_optimizer_step_post_hook

    from railyard.torch.process import RankProcess, set_current
    from railyard.torch.store import install

    os.environ.update(
        RANK=str(rank),
        LOCAL_RANK=str(rank),
        GROUP_RANK="0",
        ROLE_RANK=str(rank),
        WORLD_SIZE=str(size),
        LOCAL_WORLD_SIZE=str(size),
        ROLE_WORLD_SIZE=str(size),
        GROUP_WORLD_SIZE="1",
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT="29500",
        TORCHELASTIC_RUN_ID="railyard",
        TORCHELASTIC_RESTART_COUNT=str(restart),
        TORCHELASTIC_MAX_RESTARTS=str(max_restarts),
    )
    process = RankProcess(rank, size, connection, clock)
    set_current(process)
    install(process)
    register_optimizer_step_post_hook(lambda *_: process.note("step", {}))
    return process


def _rank(rank: int, size: int, descriptor: int, settings: dict[str, Any]) -> int:
    """Run the script in a rank's process, and return the exit status."""
    from railyard.torch.clock import Clock, counting

    _end_with_parent()
    clock = Clock(settings["tflops"], settings["scale"])
    restart = settings["restart"], settings["max_restarts"]
    clock.advance_to(settings["begin_ps"])
    process = become_rank(rank, size, Connection(descriptor), clock, *restart)
    sys.argv = [settings["script"], *settings["arguments"]]
    sys.path.insert(0, str(Path(settings["script"]).resolve().parent))
    why = ""
    status = 0
    try:
        with nullcontext() if settings["tflops"] is None else counting(clock):
            runpy.run_path(settings["script"], run_name="__main__")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
        why = f"exit code {status}" if status else ""
    except BaseException as error:
        traceback.print_exc()
        why, status = f"{type(error).__name__}: {error}", 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    try:
        process.end(why)
    except OSError:
        status = status or 1
    return status


if __name__ == "__main__":
    main()

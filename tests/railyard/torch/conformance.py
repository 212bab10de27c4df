# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: E402
"""Run PyTorch's own tests of `torch.distributed` for the backends railyard and gloo, and compare.

    python -m tests.railyard.torch.conformance --out conformance.json [TEST...]

The tests are `torch.testing._internal.distributed.distributed_test` as installed. They are loaded as for
gloo, so that tests kept for gloo run for railyard, too: a group that a test wants from gloo is one of
railyard. Each rank of each test is a fork of this process. One part of the tests is replaced for both
backends alike: the barrier by files, in which a process sleeps. On a fabric a rank that sleeps holds up
virtual time, so the barrier is one of keys of the ranks' store.
"""

import argparse
import json
import multiprocessing.connection
import os
import signal
import socket
import sys
import tempfile
import time
import traceback
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

RANKS = 4
LONGEST_SECONDS = 60
LOUD = "LOUD" in os.environ

os.environ |= {
    "BACKEND": "gloo",
    "WORLD_SIZE": str(RANKS),
    "OMP_NUM_THREADS": "1",
    "GLOO_SOCKET_IFNAME": "lo",
}
os.environ.setdefault("TEMP_DIR", tempfile.gettempdir())

import torch
import torch._dynamo
import torch.distributed as dist
from torch.testing._internal import common_distributed as common
from torch.testing._internal.distributed import distributed_test as pytorch

import railyard.torch
from harness.ranks.coordinator import Coordinator
from harness.ranks.session import opened
from harness.run.prepare import prepare
from harness.scenario.document import Document
from harness.scenario.loader import read
from railyard.torch.clock import Clock
from railyard.torch.worker import become_rank

__all__ = ["names", "run"]

SKIPPED = {skip.exit_code: skip.message for skip in common.TEST_SKIPS.values()}
BACKENDS = ("gloo", "railyard")
_SYNCED = [0]


class Tests(pytorch.TestDistBackend, pytorch.DistributedTest._DistTestBase):
    """PyTorch's tests, of which `_run` runs one as a rank."""

    def _barrier(self, *_, wait_for=None, **__):
        store = dist.distributed_c10d._get_default_store()
        size = int(os.environ["WORLD_SIZE"]) if wait_for is None else wait_for
        _SYNCED[0] += 1
        if store.add(f"synced/{_SYNCED[0]}", 1) == size:
            store.set(f"all synced/{_SYNCED[0]}", "")
        store.wait([f"all synced/{_SYNCED[0]}"], timedelta(seconds=30))


def names():
    """Return the names of all tests."""
    return sorted(name for name in dir(Tests) if name.startswith("test_"))


def run(backend, name):
    """Run a test in processes of its own; return its verdict and the reason for it."""
    reading, writing = os.pipe()
    case = os.fork()
    if case == 0:
        os.close(reading)
        os.setsid()
        try:
            answer = _case(backend, name)
        except BaseException:
            answer = "failed", f"the case itself: {traceback.format_exc()}"
        os.write(writing, json.dumps(answer).encode()[-60_000:])
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        ready = multiprocessing.connection.wait([pipe], LONGEST_SECONDS)
        text = pipe.read() if ready else ""
    with suppress(ProcessLookupError):
        os.killpg(case, signal.SIGKILL)
    os.waitpid(case, 0)
    return json.loads(text) if text else ("failed", f"no end in {LONGEST_SECONDS} s")


def _case(backend, name):
    with tempfile.TemporaryDirectory() as folder:
        for part in ("barrier", "test_dir", "init_dir"):
            (Path(folder) / part).mkdir()
        os.environ["TEMP_DIR"] = folder
        shared = Path(folder) / "store"
        os.environ["INIT_METHOD"] = f"file://{shared}2"
        sockets = [socket.socketpair() for _ in range(RANKS)]
        pipes = [multiprocessing.Pipe() for _ in range(RANKS)]
        ids = []
        for rank in range(RANKS):
            child = os.fork()
            if child == 0:
                for other, (here, there) in enumerate(sockets):
                    here.close()
                    if other != rank:
                        there.close()
                _rank(backend, name, rank, sockets[rank][1], pipes[rank][1], shared, folder)
            ids.append(child)
        for _, there in sockets:
            there.close()
        for _, there in pipes:
            there.close()
        if backend == "railyard":
            _serve([Connection(here.detach()) for here, _ in sockets])
        codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in ids]
        errors = [_received(here) for here, _ in pipes]
        if LOUD:
            for file in sorted(Path(folder).glob("log*")):
                sys.stderr.write(file.read_text(errors="replace"))
    test = getattr(Tests, name)
    if codes[0] in SKIPPED:
        return "skipped", SKIPPED[codes[0]]
    if any(codes) and name != "test_ddp_has_finalized":
        return "failed", f"exit codes {codes}\n" + "\n".join(filter(None, errors))
    assert callable(test)
    return "passed", ""


def _received(pipe):
    with suppress(EOFError, OSError):
        while pipe.poll():
            text = pipe.recv()
            if isinstance(text, str):
                return text
    return ""


def _rank(backend, name, rank, connection, pipe, shared, folder):
    code = 1
    log = os.open(Path(folder) / f"log{rank}", os.O_WRONLY | os.O_CREAT)
    os.dup2(log, 1)
    os.dup2(log, 2)
    process = None
    try:
        if backend == "railyard":
            process = become_rank(rank, RANKS, Connection(connection.detach()), Clock(None))
            dist.init_process_group = _for_gloo(dist.init_process_group)
            dist.new_group = _for_gloo(dist.new_group)
        Tests._run(rank, name, str(shared), pipe)
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        pipe.send(traceback.format_exc())
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        if process is not None:
            with suppress(OSError):
                process.end("" if code == 0 else f"exit code {code}")
        os._exit(code)


def _for_gloo(make):
    def instead(*arguments, **named):
        if named.get("backend") == "gloo":
            named["backend"] = "railyard"
        return make(*arguments, **named)

    return instead


def _serve(connections):
    topology = {"name": "full-mesh", "dims": [RANKS]}
    scenario, document = read(Document.of_values({"name": "conformance", "topology": topology}))
    ready = prepare(scenario, document)[0]
    nodes = [f"npu{rank}" for rank in range(RANKS)]
    with opened(ready, nodes, 1) as session:
        Coordinator(session, nodes, connections).run()


def main():
    """Run tests for both backends and write verdicts and reasons."""
    parser = argparse.ArgumentParser()
    parser.add_argument("tests", nargs="*")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--backend", choices=BACKENDS, action="append")
    given = parser.parse_args()
    railyard.torch.register()
    for kind in ("ddp", "subgroup", "plugin"):
        common.DistTestCases.backend_feature[kind].add("railyard")
    torch.set_num_threads(1)
    backends = given.backend or BACKENDS
    verdicts = {}
    for name in given.tests or names():
        verdicts[name] = {}
        for backend in backends:
            begun = time.monotonic()
            verdict, why = run(backend, name)
            verdicts[name][backend] = {"verdict": verdict, "why": why}
            print(f"{backend:<9} {verdict:<8} {time.monotonic() - begun:5.1f} s  {name}", flush=True)
            if verdict == "failed":
                print("    " + "\n    ".join(why.strip().splitlines()[-6:]), flush=True)
        if given.out:
            given.out.write_text(json.dumps(verdicts, indent=1) + "\n", encoding="utf-8")
    for backend in backends:
        print(backend, dict(Counter(each[backend]["verdict"] for each in verdicts.values())))


if __name__ == "__main__":
    main()

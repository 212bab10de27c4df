# SPDX-License-Identifier: Apache-2.0
"""Kill a run over machines at random moments, and look for what is left on any of them.

`python -m tests.emulation.mininet.cluster.kills --seed 1 --kills 30`, as root. Half of the kills strike
`railyard run --machines`, half `railyard up --machines`. Each picks a moment and a victim by the seed: the
command itself, a machine's sshd with its connections, its part, or the parent of its hosts.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.emulation.mininet.cluster.lab import Lab
from tests.emulation.mininet.commands import ROOT

__all__ = ["VICTIMS", "kill_at_random", "main"]

VICTIMS = ("command", "sshd", "emulation.mininet.cluster.part", "emulation.mininet.agents.generators")
_ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
_SECONDS = 900.0

_SCENARIO = """\
name: killed
topology: {name: full-mesh, dims: [2, 2]}
collective: {kind: allreduce, algorithm: bidirectional-dimension-order, elements: 24576, payload_bytes: 4096}
transport: {window: 32, initial_rto_us: 100, min_rto_us: 100}
"""


def kill_at_random(lab: Lab, chance: random.Random, verb: str, longest: float) -> str:
    """Start a command, kill a part of it after up to `longest` seconds, and return what happened in words.

    AssertionError: something is left on a machine once `railyard clean` has run, or `up` ends well although
    something that it needs was killed.
    """
    file = lab.file()
    bed = ["--testbed", "mininet", "--switch", "builtin", "--machines", str(file)]
    if verb == "run":
        scenario = lab.folder / "scenario.yaml"
        scenario.write_text(_SCENARIO)
        # Slow enough for kills to strike while agents send.
        words = ["run", str(scenario), *bed, "--dilation", "5000000", "--out", str(lab.folder / "out")]
    else:
        words = ["up", "full-mesh", "--dims", "2x2", *bed]
    moment, victim = chance.uniform(0, longest), chance.choice(VICTIMS)
    machine = chance.choice(lab.names)
    with (lab.folder / "said").open("wb") as said:
        process = subprocess.Popen(
            lab.in_control([sys.executable, "-m", "railyard", *words]),
            env=_ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
        )  # fmt: skip
        time.sleep(moment)
        struck = _strike(lab, process, victim, machine)
        if not struck:
            process.kill()
        process.wait(_SECONDS)
    # A run may have ended well before the moment came.
    assert process.returncode != 0 or verb == "run", "the command did not notice"
    if victim == "sshd" and struck:
        lab.start_sshd(machine)
    left = lab.left_settled()
    assert left == [], f"before railyard clean: {left}"
    clean = subprocess.run(
        lab.in_control([sys.executable, "-m", "railyard", "clean"]),
        env=_ENVIRONMENT, capture_output=True, text=True, timeout=_SECONDS, check=False,
    )  # fmt: skip
    assert clean.returncode == 0, clean.stdout + clean.stderr
    left = lab.everything_left()
    assert left == [], left
    what = victim if struck else f"command, for want of {victim},"
    return f"{verb}: {what} of machine {machine} after {moment:.1f} s, code {process.returncode}"


def _strike(lab: Lab, process: subprocess.Popen[bytes], victim: str, machine: str) -> bool:
    """Kill a victim; return whether it was there."""
    if victim == "command":
        process.kill()
        return True
    if victim == "sshd":
        lab.kill_sshd(machine)
        return True
    try:
        os.kill(lab.process(machine, victim), signal.SIGKILL)
    except (LookupError, ProcessLookupError):
        return False
    return True


def main() -> None:
    """Kill as often as the arguments say, and print each kill."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--longest", type=float, default=25.0, help="latest moment of a kill in seconds")
    given = parser.parse_args()
    chance = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as folder, Lab(Path(folder), 2) as lab:
        for number in range(given.kills):
            verb = ("run", "up")[number % 2]
            print(number + 1, kill_at_random(lab, chance, verb, given.longest), flush=True)


if __name__ == "__main__":
    main()

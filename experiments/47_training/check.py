# SPDX-License-Identifier: Apache-2.0
"""Trains a transformer with PyTorch on three fabrics and under faults; steps beside the training model.

Needs PyTorch; without it nothing is compared. Prints two tables; exit code 1 if a loss differs, or the time
of a step leaves its interval.
"""

import argparse
import importlib.util
import json
import math
import re
import statistics
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from papers.checking.statements import heading, say
from papers.training.interconnect import Interconnect, Leg, Use, mesh
from papers.training.iteration import Assumptions, iteration
from papers.training.placement import Placement
from papers.training.workload import Axis, Layout, Model

HERE = Path(__file__).parent
RANKS, STEPS, LAYERS, HIDDEN, TOKENS = 64, 20, 4, 128, 64
TFLOPS, LAUNCH_US = 20.0, 1.0

# A step over what the model says, declared before the run; the README has the reasons.
DECLARED: Final = {"rack": (0.97, 1.08), "hpn": (1.0, 1.3), "rail-only": (1.0, 1.3)}

# The share of a frame that is payload: 1,024 bytes, the headers of data and a source route of 8 bytes.
PAYLOAD_SHARE = 1024 / (1024 + DATA_HEADER_BYTES + 8)

# Gbit/s of a GPU to its domain and to the network: rates of links in `railyard show`, times their number.
DOMAIN: Final = {"hpn": 7 * 457.143, "rail-only": 7 * 342.857}
NETWORK: Final = {"hpn": 2 * 200.0, "rail-only": 200.0}
RACK_LINK = 400.0

# Variants of each fabric in which a fault strikes in step 7.
FAULTS: Final = {
    "rack": ("cut", "slow", "adaptive", "flapping"),
    "hpn": ("cut", "tor", "slow"),
    "rail-only": ("domain", "slow"),
}


class Run(NamedTuple):
    """A run: exit code, losses by step, times of steps, time of the AllReduce of the loss, both in us."""

    code: int
    losses: list[str]
    took_us: list[float]
    latency_us: float
    outcomes: list[str]


def run(name: str, folder: Path, *options: str, words: tuple[str, ...] = ()) -> Run:
    """Train on a scenario of this folder."""
    command = [sys.executable, "-m", "railyard", "torchrun", "--tflops", str(TFLOPS)]
    command += ["--launch-us", str(LAUNCH_US), "--out", str(folder), *options]
    command += [str(HERE / f"{name}.yaml"), str(HERE / "train.py"), *words]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if not (folder / "training.json").exists():
        sys.exit(ended.stderr)
    training: dict[str, Any] = json.loads((folder / "training.json").read_text())
    ranks = training["ranks"]
    small = [
        operation["ended_us"] - operation["begun_us"]
        for operation in training["operations"]
        if operation["kind"] == "all_reduce" and operation["bytes"] == 4 and operation["rank"] == 0
    ]
    return Run(
        ended.returncode,
        re.findall(r"^loss (\S+)$", ended.stdout, flags=re.MULTILINE),
        [step["took_us"] for step in ranks[0]["steps"]],
        statistics.median(small) if small else 0.0,
        [rank["outcome"] for rank in ranks],
    )


def interconnect_of(name: str) -> Interconnect:
    """Return the interconnect of a fabric for the model; lanes are of 1 Gbit/s."""
    if name == "rack":
        return mesh((8, 8), RACK_LINK)
    ways = {"x": ((Leg("domain", Use.port),),), "y": ((Leg("network", Use.port),),)}
    lanes = {"domain": DOMAIN[name], "network": NETWORK[name]}
    return Interconnect(name, lanes, ways, {"x": 8, "y": 8})


def predicted_us(name: str, latency_us: float) -> float:
    """Return the time of a step by the model: the iteration, and what starts the last bucket and the loss.

    `latency_us` is that of the AllReduce of four bytes, the only figure taken from a run.
    """
    model = Model("small", "small", LAYERS, HIDDEN, 4 * HIDDEN, 4, 4, "train.py")
    group = (("x", 8), ("y", 8))
    groups = {axis: group if axis is Axis.dp else () for axis in Axis}
    placement = Placement(Layout(tp=1, sp=1, pp=1, dp=RANKS), tuple(Axis), groups, group, ())
    given = Assumptions(
        pflops=TFLOPS / 1000, lane_gbps=PAYLOAD_SHARE, latency_us=latency_us / 4, tokens_per_npu=TOKENS
    )
    whole = iteration(model, interconnect_of(name), placement, TOKENS, RANKS, given)
    return whole.seconds * 1e6 + 2 * LAUNCH_US + latency_us


def close(losses: list[str], others: list[str]) -> bool:
    """Return whether losses, as hexadecimal floats, are as many and equal to a part in 100,000."""
    values, wanted = ([float.fromhex(loss) for loss in some] for some in (losses, others))
    return len(values) == len(wanted) and all(map(partial(math.isclose, rel_tol=1e-5), values, wanted))


def fabrics(folder: Path, checks: dict[str, bool]) -> None:
    """Compare steps on three fabrics with the model."""
    print(heading("fabric", "a step, µs", "by the model, µs", "ratio"))
    losses = {}
    for name in ("rack", "hpn", "rail-only"):
        result = run(name, folder / name, "--variant", "healthy", words=("--steps", "6"))
        losses[name] = result.losses
        step, model = statistics.median(result.took_us[2:]), predicted_us(name, result.latency_us)
        print(f"| {name} | {step:.2f} | {model:.2f} | {step / model:.3f} |", flush=True)
        low, high = DECLARED[name]
        checks[f"{name}: a step takes {low} to {high} of what the model says"] = low <= step / model <= high
    checks["losses of the three fabrics are equal to a part in 100,000"] = all(
        len(some) == 6 and close(some, losses["rack"]) for some in losses.values()
    )


def faults(folder: Path, checks: dict[str, bool]) -> None:
    """Compare runs under faults with the healthy run of the same fabric."""
    steps = ("step 6, µs", "step 7", "step 8", "steps 9 to 20, sum")
    print()
    print(heading("fabric", "variant", "losses equal the healthy run's", *steps, words=2))
    words = ("--steps", str(STEPS))
    for fabric, variants in FAULTS.items():
        healthy = None
        for variant in ("healthy", *variants):
            result = run(fabric, folder / f"{fabric}-{variant}", "--variant", variant, words=words)
            healthy = healthy or result
            equal = sum(here == there for here, there in zip(result.losses, healthy.losses, strict=False))
            times = (result.took_us[5], *result.took_us[6:8], sum(result.took_us[8:]))
            took = " | ".join(f"{value:.2f}" for value in times)
            print(f"| {fabric} | {variant} | {equal} of {STEPS} | {took} |", flush=True)
            checks[f"{fabric}, {variant}: all losses equal bit for bit"] = result.code == 0 and equal == STEPS
            if variant != "healthy":
                checks[f"{fabric}, {variant}: step 7 takes longer"] = result.took_us[6] > healthy.took_us[6]


def lost_npu(folder: Path, checks: dict[str, bool]) -> None:
    """Lose an NPU of 32 in step 7, and go on from the checkpoint on 32 others."""
    words = ("--steps", str(STEPS))
    whole = run("rack", folder / "half", "--variant", "half", words=words)
    words = (*words, "--checkpoint", str(folder / "checkpoint.pt"))
    lost = run("rack", folder / "lost", "--variant", "lost", words=words)
    named = sum("rank 9 (npu9) is lost" in outcome for outcome in lost.outcomes)
    moved = run("rack", folder / "moved", "--variant", "moved", words=words)
    print(
        f"\nnpu9 of 32 lost: {len(lost.losses)} steps done, rank 9 named by {named - 1} of 31 others; "
        f"{len(moved.losses)} steps on other boards"
    )
    checks["lost: the run fails in step 7, and every rank names rank 9"] = (
        lost.code == 1 and len(lost.losses) == 6 and named == 32
    )
    checks["lost: losses until then equal bit for bit"] = lost.losses == whole.losses[:6]
    # The first step of a run has one bucket in place of four, so a sum has its terms in another order.
    checks["moved: each further step is done once, losses equal to a part in 100,000"] = (
        moved.code == 0 and len(whole.losses) == STEPS and close(moved.losses, whole.losses[6:])
    )


def main() -> int:
    """Run all; 0 without PyTorch."""
    argparse.ArgumentParser(description=str(__doc__).partition("\n")[0]).parse_args()
    if importlib.util.find_spec("torch") is None:
        print("skipped: needs PyTorch: `pip install 'railyard[torch]'`")
        return 0
    checks: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as name:
        fabrics(Path(name), checks)
        faults(Path(name), checks)
        lost_npu(Path(name), checks)
    return say(checks)


if __name__ == "__main__":
    sys.exit(main())

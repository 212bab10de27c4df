"""Runs all measurements, engine and BMv2 in turn so that a noisy machine is noisy for both."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench import bmv2, engine
from bench.rack import rack_figures
from bench.subject import rack_plan, transit
from emulation.embedded import EmbeddedTestbed
from lab.boot import booted

Figures = dict[str, float | str]

PAYLOAD_BYTES = 1024


def measure(rounds: int, payload_bytes: int) -> Figures:
    plan = rack_plan()
    ours: list[float] = []
    copies: list[float] = []
    theirs: list[float] = []
    with ExitStack() as stack:
        up = stack.enter_context(booted(EmbeddedTestbed(plan.fabric), plan))
        chosen = transit(up.testbed, plan, payload_bytes)
        absent = bmv2.missing()
        folder = Path(stack.enter_context(TemporaryDirectory()))
        other = None if absent else stack.enter_context(bmv2.Bmv2Bench(plan, chosen, folder))
        for number in range(rounds):
            print(f"round {number + 1} of {rounds}", file=sys.stderr)
            ours.append(engine.packet_hops_per_core_second(up.testbed, chosen))
            copies.append(engine.packet_hops_per_core_second(up.testbed, chosen, copy_only=True))
            if other is not None:
                theirs.append(other.packet_hops_per_core_second())
    figures: Figures = {
        "packet_hops_per_core_second": round(median(ours)),
        "packet_hops_per_core_second_least": round(min(ours)),
        "copies_per_core_second": round(median(copies)),
        "frame_bytes": len(chosen.frame),
        "rounds": rounds,
        **rack_figures(),
    }
    if theirs:
        figures["bmv2_version"] = bmv2.version()
        figures["bmv2_packet_hops_per_core_second"] = round(median(theirs))
        figures["bmv2_packet_hops_per_core_second_most"] = round(max(theirs))
        figures["ratio_to_bmv2"] = round(median(ours) / median(theirs), 1)
    else:
        print(f"BMv2 is not measured: {absent}", file=sys.stderr)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--payload-bytes", type=int, default=PAYLOAD_BYTES)
    arguments = parser.parse_args()
    figures = measure(arguments.rounds, arguments.payload_bytes)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text(json.dumps(figures, indent=2, sort_keys=True) + "\n")
    for name, figure in sorted(figures.items()):
        print(f"{name:40} {figure:>14,}" if isinstance(figure, int | float) else f"{name:40} {figure:>14}")
    print(f"written: {arguments.out}")


if __name__ == "__main__":
    main()

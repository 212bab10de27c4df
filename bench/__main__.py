"""Runs all measurements, the built-in switch and BMv2 in turn so that a noisy machine is noisy for both.

Writes build/bench.json and, where BMv2 was measured too, the tables and pictures of
docs/testbeds/performance.md. With --only, the figures of the other part stay as they are in both.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.progress import track

from bench import lab
from bench.boot import SWITCHES, boot_figures
from bench.figures import Comparison, Series
from bench.lab_report import LabResult, lab_text
from bench.report import GUIDE, Result, write_guide, write_json, write_lab_guide, write_lab_json
from bench.switch import bmv2, engine, veth
from bench.switch.subject import rack_plan, transit
from emulation.embedded.testbed import EmbeddedTestbed
from harness.run.boot import booted

HOP_PAYLOAD_BYTES = 1024
SMALL_FRAME_BYTES = 100
TARGETS = {"hops": 50.0, "veth": 4.0, "boot": 5.0, "memory": 10.0}

_Values = defaultdict[str, list[float]]


def _hops(rounds: int, compared: bool, console: Console) -> tuple[_Values, list[Series], Series, int]:
    """In process; and beside it BMv2 on veth links, by the processor time of its process."""
    values: _Values = defaultdict(list)
    parts: list[list[float]] = []
    floor: list[float] = []
    plan = rack_plan()
    with ExitStack() as stack:
        testbed = EmbeddedTestbed(plan.fabric)
        stack.enter_context(booted(testbed, plan))
        chosen = transit(testbed, plan, HOP_PAYLOAD_BYTES)
        small = transit(testbed, plan, SMALL_FRAME_BYTES - len(transit(testbed, plan, 0).frame))
        folder = Path(stack.enter_context(TemporaryDirectory()))
        other = stack.enter_context(bmv2.Bmv2Bench(plan, chosen, folder)) if compared else None
        for _ in track(range(rounds), "packet-hops", console=console):
            values["ours"].append(engine.packet_hops_per_core_second(testbed, chosen))
            parts.append(engine.hop_parts_ns(testbed, small))
            floor.append(engine.only_copies_ns(small.frame))
            if other is not None:
                values["bmv2"].append(other.packet_hops_per_core_second())
    return values, [Series(part) for part in zip(*parts, strict=True)], Series(floor), len(chosen.frame)


def _veth(rounds: int, compared: bool, console: Console) -> dict[tuple[str, int, str], list[float]]:
    result: dict[tuple[str, int, str], list[float]] = defaultdict(list)
    for _ in track(range(rounds), "veth", console=console):
        for size in veth.FRAME_BYTES:
            for which in ("switchd", *(("bmv2",) if compared else ())):
                for name, value in veth.veth_rate(which, size).items():
                    result[which, size, name].append(value)
    return result


def _boot(rounds: int, compared: bool, console: Console) -> dict[tuple[str, str], list[float]]:
    result: dict[tuple[str, str], list[float]] = defaultdict(list)
    for _ in track(range(rounds), "boot", console=console):
        for which in ("engine", *(("bmv2",) if compared else ())):
            for name, value in boot_figures(which).items():
                result[which, name].append(value)
    return result


def measure(rounds: int, console: Console) -> Result:
    absent = bmv2.missing()
    if absent:
        console.print(f"BMv2 is not measured: {absent}")
    compared = not absent
    hops, parts, floor, hop_bytes = _hops(rounds, compared, console)
    rates = _veth(rounds, compared, console) if compared else {}
    boots = _boot(rounds, compared, console)

    def beside(values: list[float] | None) -> Series | None:
        return Series(values) if values else None

    comparisons = [
        Comparison(
            f"in process, {hop_bytes}-byte frames",
            "packet-hops a core-second",
            Series(hops["ours"]),
            beside(hops.get("bmv2")),
            True,
            TARGETS["hops"],
        )
    ]
    for size in veth.FRAME_BYTES if rates else ():
        series = {which: Series(rates[which, size, "frames_a_second"]) for which in veth.SWITCHES}
        comparisons.append(
            Comparison(
                f"veth, {size}-byte frames",
                "frames a second",
                series["switchd"],
                series["bmv2"],
                True,
                TARGETS["veth"],
            )
        )
        cost = {which: Series(rates[which, size, "switch_cpu_ns_a_frame"]) for which in veth.SWITCHES}
        comparisons.append(
            Comparison(
                f"veth, {size}-byte frames, processor", "ns a frame", cost["switchd"], cost["bmv2"], False
            )
        )
    for name, title, unit, target in (
        ("boot_seconds", f"boot of {SWITCHES} switches", "seconds", TARGETS["boot"]),
        ("filled_seconds", f"boot and all entries of {SWITCHES} switches", "seconds", None),
        ("mib_per_switch", f"memory of {SWITCHES} switches with entries", "MiB a switch", TARGETS["memory"]),
    ):
        comparisons.append(
            Comparison(
                title, unit, Series(boots["engine", name]), beside(boots.get(("bmv2", name))), False, target
            )
        )
    entries = boots["engine", "table_entries"][0]
    lost = {key: sum(values) for key, values in rates.items() if key[2] == "lost" and sum(values)}
    notes = {
        "entries": f"The {SWITCHES} switches hold {entries:,.0f} entries together.",
        "lost": "Frames lost on the veth links: "
        + (
            ", ".join(f"{which} at {size} bytes {count:.0f}" for (which, size, _), count in lost.items())
            or "none"
        )
        + ".",
    }
    return Result(rounds, bmv2.version() if compared else "", comparisons, parts, floor, notes)


def measure_lab(rounds: int, fabric: str, folder: Path, console: Console) -> LabResult:
    """`folder` gets the report's pictures, by kind of switch."""
    absent = bmv2.missing()
    if absent:
        console.print(f"BMv2 is not measured: {absent}")
    kinds = ["builtin", *([] if absent else ["bmv2"])]
    starts: dict[str, dict[str, list[float]]] = {kind: defaultdict(list) for kind in kinds}
    for _ in track(range(rounds), "lab: start", console=console):
        for kind in kinds:
            for name, value in lab.start_figures(kind, fabric).items():
                starts[kind][name].append(value)
    runs = {
        kind: lab.run_figures(kind, fabric, folder / kind)
        for kind in track(["embedded", *kinds], "lab: runs", console=console)
    }
    series = {kind: {name: Series(item) for name, item in start.items()} for kind, start in starts.items()}
    return LabResult(fabric, "" if absent else bmv2.version(), series, runs)


def _switch(rounds: int, out: Path, console: Console) -> None:
    result = measure(rounds, console)
    write_json(result, out)
    for comparison in result.comparisons:
        print(comparison.row().strip("| ").replace(" | ", "   "))
    print(f"written: {out}")
    if result.bmv2_version:
        write_guide(result)
        print(f"written: {GUIDE}")
    else:
        print(f"left as it is, for want of BMv2: {GUIDE}")


def _lab(rounds: int, fabric: str, out: Path, console: Console) -> None:
    absent = lab.missing()
    if absent:
        print(f"the lab in real time is not measured: {absent}")
        return
    with TemporaryDirectory() as folder:
        result = measure_lab(rounds, fabric, Path(folder), console)
        print(lab_text(result))
        if fabric != lab.RACK:
            print(f"not the rack: left as they are: {out}, {GUIDE}")
            return
        write_lab_json(result, out)
        print(f"written: {out}")
        if result.bmv2_version:
            write_lab_guide(result, Path(folder, "bmv2", "picture.svg"))
            print(f"written: {GUIDE}")
        else:
            print(f"left as it is, for want of BMv2: {GUIDE}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=(__doc__ or "").strip())
    parser.add_argument("--out", type=Path, default=Path("build/bench.json"))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("switch", "lab"), help="one part; the other's figures stay")
    parser.add_argument(
        "--dims", default=lab.RACK, help="lab: on a full mesh, as 2x4, to try it; then nothing is written"
    )
    arguments = parser.parse_args()
    console = Console(stderr=True)
    if arguments.only != "lab":
        _switch(arguments.rounds, arguments.out, console)
    if arguments.only != "switch":
        _lab(arguments.rounds, arguments.dims, arguments.out, console)


if __name__ == "__main__":
    main()

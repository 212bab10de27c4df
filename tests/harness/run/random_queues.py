# SPDX-License-Identifier: Apache-2.0
"""Random scenarios whose queues lose or pause: `python -m tests.harness.run.random_queues --seeds 1-300`.

Each run must end with right data. It may give up, and say on whom, only if a link stays down. A deadlock may
end it only if frames that end a pause can be lost, and no watchdog ends the pause.
"""

import argparse
import random
import sys
from typing import Any

from harness.run.prepare import prepare
from harness.run.runner import run
from harness.scenario.document import Document
from harness.scenario.loader import read
from topologies.errors import RailyardError

__all__ = ["judge", "scenario_of"]

MESH = ("shortest", "all-path", "adaptive", "oblivious", "bitmap", "reps", "mixed")
CLOS = ("hashed", "oblivious", "bitmap", "reps", "mixed")
# Topologies with the strategies that they have, a link that an endpoint sends on, and one between switches.
FABRICS: tuple[tuple[dict[str, Any], tuple[str, ...], tuple[str, ...]], ...] = (
    ({"name": "full-mesh", "dims": [8]}, MESH, ("npu0-npu1", "npu2-npu5", "npu3-npu7")),
    ({"name": "full-mesh", "dims": [3, 3]}, MESH, ("npu0-npu1", "npu1-npu4", "npu6-npu8")),
    (
        {"name": "hpn", "segments": 2, "hosts": 2, "rails": 2, "aggs": 4},
        CLOS,
        ("gpu0-tor0.0.0", "gpu2-tor0.0.1", "tor0.0.0-agg0.0"),
    ),
    (
        {"name": "rail-optimised", "domains": 8, "hb_size": 2, "radix": 8, "uplinks": 4, "spines": 4},
        ("shortest", "hashed"),
        ("gpu0-rail0l0", "gpu2-rail0l0", "gpu9-rail1l1"),
    ),
)


def scenario_of(seed: int) -> dict[str, Any]:
    """Return the scenario of a seed."""
    draw = random.Random(seed)
    topology, strategies, links = draw.choice(FABRICS)
    queues = _queues(draw)
    link: dict[str, Any] = {"queues": queues, "detect_us": draw.choice([0.5, 10])}
    if draw.random() < 0.5:
        first = draw.choice([2, 8])
        link["ecn"] = {"first_frames": first, "last_frames": 4 * first, "percent": draw.choice([10, 100])}
    transport: dict[str, Any] = {
        "congestion": draw.choice(["fixed", "nscc", "rccc", "nscc+rccc", "swift", "dcqcn"]),
        "ack_every": draw.choice([1, 1, 4]),
        "window": draw.choice([4, 16, 64]),
        "min_rto_us": draw.choice([10, 50]),
        "initial_rto_us": 50,
    }
    if transport["congestion"] == "fixed" and queues["data"].get("trim"):
        # A large window fills links with trimmed headers, which leave first: data take milliseconds.
        transport["window"] = 4
    return {
        "name": f"queues-{seed}",
        "topology": topology,
        "collective": {
            "kind": draw.choice(["reduce", "reduce", "all-to-all", "all-to-all", "allreduce", "all-gather"]),
            "elements": draw.choice([8192, 16384, 32768]) * 9,
            "payload_bytes": draw.choice([256, 1024, 4096]),
        },
        "routing": {"strategy": draw.choice(strategies), "peers": "job"},
        "link": link,
        "control": {"processing_us": draw.choice([0.5, 5])},
        "transport": transport,
        "faults": _faults(draw, links, "pfc" in queues["data"]),
    }


def _queues(draw: random.Random) -> dict[str, Any]:
    data: dict[str, Any] = {}
    if draw.random() < 0.35:
        data["pfc"] = {"xoff_bytes": draw.choice([4096, 8192, 32768])}
        if draw.random() < 0.5:
            data["pfc"] |= {"watchdog_us": draw.choice([1, 10]), "restore_us": draw.choice([0, 20])}
    else:
        limit = draw.choice(["frames", "bytes"])
        data[limit] = draw.choice([2, 4, 16]) if limit == "frames" else draw.choice([8192, 16384])
        data["trim"] = draw.random() < 0.5
    queues = {"data": data}
    if draw.random() < 0.4:
        queues["response"] = {"bytes": draw.choice([1024, 16384])}
    return queues


def _faults(draw: random.Random, links: tuple[str, ...], pauses: bool) -> list[dict[str, Any]]:
    faults = []
    for link in draw.sample(links, draw.randrange(0, 3)):
        at_us = round(draw.uniform(0.1, 30), 2)
        direction = "->".join(link.split("-"))
        kinds: list[dict[str, Any]] = [
            {"direction": direction, "event": "loss", "percent": draw.choice([1, 5])},
            {"link": link, "event": "rate", "percent": draw.choice([10, 50])},
            {"link": link, "event": "flap", "period_us": draw.choice([4, 40]), "count": 3},
            {"link": link, "event": "down"},
        ]
        if pauses:
            kinds.append({"direction": direction, "event": "storm", "period_us": 20, "count": 5})
        faults.append({"at_us": at_us, **draw.choice(kinds)})
    return sorted(faults, key=lambda fault: fault["at_us"])


def judge(scenario: dict[str, Any]) -> str:
    """Run a scenario; return what is wrong with the outcome, or nothing."""
    prepared = prepare(*read(Document.of_values(scenario)))
    try:
        (done,) = run(prepared, 1).runs.values()
    except RailyardError as ex:
        return f"raised {ex}"
    seen = done.observation
    if seen.correct_nodes == seen.nodes:
        return ""
    events = {fault["event"] for fault in scenario["faults"]}
    if seen.first_wrong and "down" in events:
        return ""
    pauses = scenario["link"]["queues"]["data"].get("pfc")
    if seen.deadlock and "loss" in events and pauses and "watchdog_us" not in pauses:
        return ""
    return f"{seen.correct_nodes} of {seen.nodes} are right: {seen.first_wrong}"


def main() -> int:
    """Run the seeds of the command line; print those at fault."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", default="1-300")
    first, last = (int(number) for number in parser.parse_args().seeds.split("-"))
    wrong = 0
    for seed in range(first, last + 1):
        verdict = judge(scenario_of(seed))
        wrong += bool(verdict)
        print(seed, verdict or "good", flush=True)
    print(f"{last - first + 1} scenarios, {wrong} at fault")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's training model: Table 1, lanes out of the rack (§6.3, Fig. 20), linearity at scale (Fig. 22).

The paper does not give the speed of an NPU, the rate of a lane, or the overlap of computation and
collectives. For Fig. 20 the model has two readings, each with its own verdict: collectives inside a rack
borrow idle uplinks, or they do not. Both readings have the same interval, which was chosen after first runs
of the model. The model of collectives is compared with the emulator.
"""

from __future__ import annotations

from harness.files import EXPERIMENTS
from papers.claims import Measured, Progress, Values
from papers.training.calibration import CASES, compare
from papers.training.interconnect import interconnect
from papers.training.iteration import Assumptions, linearity
from papers.training.study import READINGS, load, run
from papers.training.workload import MODELS, table_1


def training_traffic(note: Progress, passes: int = 3) -> Values:
    """Return MB a message and number of messages by kind, and the percentage of TP and SP in all bytes."""
    figures: dict[str, Measured | float] = {}
    sent: dict[str, float] = {}
    for kind, rows in table_1(passes).items():
        name = kind.lower().replace(" ", "-")
        words = ", ".join(f"{size:g} MB x {count:,}" for size, count in rows)
        sent[kind[:2]] = sum(size * count for size, count in rows)
        figures[name] = Measured(rows[0][0], detail=words)
        figures[f"{name}-count"] = sum(count for _, count in rows)
    return {**figures, "tp-and-sp": 100 * (sent["TP"] + sent["SP"]) / sum(sent.values())}


# Models whose linearity at 64 times the base is compared with the paper.
_LINEAR = ("gpt4-2t", "dense-1t")

# Base NPUs of each model (UB-Mesh §6.5; the first and the last two from other accounts of the paper).
BASES = {"llama2-70b": 128, "gpt3-175b": 512, "dense-1t": 1024, "gpt4-2t": 1024}


def training_linearity(note: Progress, dcn: float = 1.0) -> Values:
    """Return an NPU's rate at 64 times the base NPUs, and the least up to 32 times, in percent of the base.

    `dcn` multiplies the lanes between SuperPods.
    """
    net = interconnect(through=False)
    net.lanes["dcn"] *= dcn
    given = Assumptions(hide_gradients=False)

    def percent(name: str, factor: int) -> float:
        return 100 * linearity(MODELS[name], BASES[name], factor, net, given=given)

    least: dict[str, float] = {}
    for done, name in enumerate(BASES):
        note(name, done / len(BASES))
        least[name] = min(percent(name, factor) for factor in (2, 4, 8, 16, 32))
    each = ", ".join(f"{name} {value:.3f} %" for name, value in least.items())
    return {"up-to-32": Measured(min(least.values()), detail=each)} | {
        name: Measured(percent(name, 64), detail=f"{least[name]:.3f} % up to 32 times") for name in _LINEAR
    }


def training_model(note: Progress, latency: float | None = None) -> Values:
    """Return the largest error of the collective model against the emulator, in percent, by collective.

    `latency` is the model's latency of a stage in microseconds; None: fitted to the emulator.
    """
    errors: dict[str, list[float]] = {}
    for done, item in enumerate(compare(latency=latency)):
        note("emulating collectives", done / len(CASES))
        errors.setdefault(item.case.kind, []).append(item.error_percent)
    return {
        kind: Measured(max(map(abs, some)), detail=f"{min(some):+.1f} to {max(some):+.1f} %")
        for kind, some in errors.items()
    }


def training_bandwidth(note: Progress, lane_gbps: float = 100.0, traded: str = "-traded") -> Values:
    """Return the gains of more lanes out of the rack under both readings, and the best numbers of lanes.

    Args:
        lane_gbps: rate of a lane.
        traded: ending of the names of variants that take uplink lanes from the lanes to peers.
    """
    note("searching layouts", 0.0)
    study = load(EXPERIMENTS / "06_bandwidth/model.yaml")
    given = study.assumptions.model_copy(update={"lane_gbps": lane_gbps})
    outcome = run(study.model_copy(update={"assumptions": given}))
    lanes = {4: f"x4{traded}", 8: f"x8{traded}", 16: "x16", 32: f"x32{traded}"}
    figures: dict[str, float] = {}
    for name, span, new, old in (("short", "8K-32K", "x16", "x8"), ("long", "64K-10M", "x32", "x16")):
        lengths = study.span(span)
        for reading in READINGS:
            figures[f"{name}-{reading}"] = outcome.percent(reading, new, None, lengths, old) - 100
        rates = {outcome.percent("apart", variant, None, lengths): count for count, variant in lanes.items()}
        figures[f"best-{name}"] = rates[max(rates)]
    return figures

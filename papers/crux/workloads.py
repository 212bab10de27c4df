# SPDX-License-Identifier: Apache-2.0
"""Kinds of jobs, and a trace like that of Alibaba's Lingjun cluster of August 2023.

Published (Crux, section 2.2): two weeks, more than 5,000 jobs and 2,000 GPUs, more than a tenth of jobs on
128 GPUs or more, all of these GPT, none above 512; more than 30 jobs at once on more than 1,000 GPUs at the
peak; GPT's iteration of 1.53 s on 64 GPUs. The released data names hosts and times and no traffic, as its
README says.

Ours is the rest: shares of sizes, with a mean of 40 GPUs; lognormal durations whose mean, 6,000 s, follows
from 25 jobs at once, and their spread; arrivals at random moments; iterations and how much of them is
sending, of which GPT's is what two contending jobs of the paper give (pair.py). No figure of the results went
into any of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from papers.flow_level.workload.jobs import SERVER, Job, Phase, gradients

__all__ = ["KINDS", "SIZES", "Kind", "ProductionTrace", "make", "training"]


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """An iteration: `seconds` alone, `share` of unhidden sending, `overlap` of its computation."""

    seconds: float
    share: float
    overlap: float = 0.0
    stages: int = 1


# The paper's names. GPT's iteration is the paper's; its share, and BERT's, are those of pair.py.
KINDS: Mapping[str, Kind] = {
    "gpt": Kind(1.53, 0.27, stages=8),
    "bert": Kind(0.6, 0.4),
    "resnet": Kind(0.25, 0.3),
    "nmt": Kind(0.4, 0.35),
    "multi-interests": Kind(0.15, 0.5),
    "click-through": Kind(0.1, 0.5),
    "nlp": Kind(0.9, 0.3),
}

# NPUs of a job -> share of jobs: 11 % have 128 or more.
SIZES: Mapping[int, float] = {
    1: 0.10, 2: 0.05, 4: 0.08, 8: 0.27, 16: 0.16, 32: 0.13, 64: 0.10, 128: 0.06, 256: 0.035, 512: 0.015,
}  # fmt: skip

_DAY = 86400.0


@final
@dataclass(frozen=True, slots=True)
class ProductionTrace:
    """`days` of a trace of which two weeks have so many jobs; `at_once` on average, by Little's law."""

    days: float = 14.0
    jobs: int = 5000
    at_once: float = 25.0
    spread: float = 1.2
    longest: float = 2 * _DAY

    @property
    def every(self) -> float:
        """Seconds between two arrivals."""
        return 14 * _DAY / self.jobs

    @property
    def duration(self) -> float:
        """Mean seconds of a job."""
        return self.at_once * self.every


def training(
    name: str, npus: int, kind: Kind, arrival: float = 0.0, iterations: int = 1, held: float | None = None
) -> Job:
    """Return a job that computes and then exchanges gradients, in rings through its servers."""
    sending = kind.share * kind.seconds
    # What does not overlap is compute, then what is sent; the overlapped part is hidden in computation.
    compute = (kind.seconds - sending) / (1 - kind.overlap)
    servers = npus // SERVER
    phases = (
        (Phase("gradients", sending, gradients(servers, min(kind.stages, servers // 2))),)
        if servers > 1
        else ()
    )
    return Job(name, npus, arrival, iterations, compute, phases, kind.overlap, held=held)


def make(trace: ProductionTrace, seed: int) -> tuple[Job, ...]:
    """Jobs in the order in which they come; same seed, same jobs."""
    rng = np.random.default_rng(seed)
    arrivals = []
    now = rng.exponential(trace.every)
    while now < trace.days * _DAY:
        arrivals.append(now)
        now += rng.exponential(trace.every)
    number = len(arrivals)
    share = np.array(list(SIZES.values()))
    npus = rng.choice(list(SIZES), number, p=share / share.sum())
    seconds = rng.lognormal(np.log(trace.duration) - trace.spread**2 / 2, trace.spread, number)
    small = [name for name in KINDS if name != "gpt"]
    created = []
    for index in range(number):
        size = int(npus[index])
        drawn = str(rng.choice(small))
        name = "gpt" if size >= 128 else drawn
        kind = KINDS[name]
        # Variants of a model: iterations from two thirds to one and a half times as long.
        length = kind.seconds * float(np.exp(rng.uniform(np.log(2 / 3), np.log(3 / 2))))
        wanted = min(float(seconds[index]), trace.longest)
        created.append(
            training(
                f"job{index}-{name}",
                size,
                Kind(length, kind.share, kind.overlap, kind.stages),
                round(float(arrivals[index]), 3),
                # More than can be done in the time.
                1 + round(2 * wanted / length),
                held=wanted,
            )
        )
    return tuple(created)

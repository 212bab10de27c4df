# SPDX-License-Identifier: Apache-2.0
"""Kinds of jobs, and a trace similar to Alibaba's trace of its Lingjun cluster of August 2023.

Published (Crux, section 2.2): two weeks with more than 5,000 jobs on more than 2,000 GPUs. More than 10 % of
the jobs have 128 GPUs or more; these are all GPT, and none has more than 512. At the peak, more than 30 jobs
run at once on more than 1,000 GPUs. GPT's iteration takes 1.53 s on 64 GPUs. The released data has hosts and
times but no traffic, as its README says.

Ours: shares of sizes, with a mean of 40 GPUs; lognormal durations, whose mean of 6,000 s follows from 25 jobs
at once, and their spread; Poisson arrivals; lengths of iterations, and the share of sending in them. GPT's
share follows from the paper's two contending jobs (pair.py). None of these values was fitted to the results.
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
    """Iteration of a model.

    Attributes:
        seconds: length of an iteration alone.
        share: share of sending that computation does not hide.
        overlap: share of computation during which the job may send.
        stages: pipeline stages.
    """

    seconds: float
    share: float
    overlap: float = 0.0
    stages: int = 1


# Names by the paper. GPT's length is from the paper; the shares of GPT and BERT are from pair.py.
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
    """Parameters of a trace.

    Attributes:
        days: length of the trace.
        jobs: number of jobs in two weeks.
        at_once: mean number of jobs at once; gives the mean duration by Little's law.
        spread: standard deviation of the logarithm of durations.
        longest: largest duration in seconds.
    """

    days: float = 14.0
    jobs: int = 5000
    at_once: float = 25.0
    spread: float = 1.2
    longest: float = 2 * _DAY

    @property
    def every(self) -> float:
        """Mean seconds between two arrivals."""
        return 14 * _DAY / self.jobs

    @property
    def duration(self) -> float:
        """Mean duration of a job in seconds."""
        return self.at_once * self.every


def training(
    name: str, npus: int, kind: Kind, arrival: float = 0.0, iterations: int = 1, held: float | None = None
) -> Job:
    """Return a job that computes and then exchanges gradients in rings through its servers.

    Args:
        npus: number of NPUs; with a single server or less, the job sends nothing.
        kind: iteration of the model.
        arrival: time of arrival in seconds.
        held: seconds after which the job leaves even if its work is not done; None: no limit.
    """
    sending = kind.share * kind.seconds
    # An iteration is the computation that does not overlap, then sending, which hides the overlapped part.
    compute = (kind.seconds - sending) / (1 - kind.overlap)
    servers = npus // SERVER
    phases = (
        (Phase("gradients", sending, gradients(servers, min(kind.stages, servers // 2))),)
        if servers > 1
        else ()
    )
    return Job(name, npus, arrival, iterations, compute, phases, kind.overlap, held=held)


def make(trace: ProductionTrace, seed: int) -> tuple[Job, ...]:
    """Return the jobs of a trace in order of arrival; equal seeds give equal jobs."""
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
        # Variants of a model have iterations of 2/3 to 3/2 times its length.
        length = kind.seconds * float(np.exp(rng.uniform(np.log(2 / 3), np.log(3 / 2))))
        wanted = min(float(seconds[index]), trace.longest)
        created.append(
            training(
                f"job{index}-{name}",
                size,
                Kind(length, kind.share, kind.overlap, kind.stages),
                round(float(arrivals[index]), 3),
                # More iterations than fit in the time.
                1 + round(2 * wanted / length),
                held=wanted,
            )
        )
    return tuple(created)

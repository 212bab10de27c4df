# SPDX-License-Identifier: Apache-2.0
"""Traces of jobs: drawn from distributions by seed, or read from files with a JSON object on each line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Self, final

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from harness.errors import ScenarioError
from papers.flow_level.workload.jobs import SERVER, Job, Phase, experts, gradients, pipeline

__all__ = ["DURATIONS", "MODELS", "SIZES", "Entry", "Workload", "jobs_of", "make", "read", "write"]

# NPUs of a job -> share of jobs.
#   slices  slices of TPU v4, as the released simulator of LumosCore has them, in powers of two
#   small   the custom trace of the same simulator, of 10,000 jobs: more than half below a server
#   eights  our own choice: 60 % take one server, and larger powers of two follow as a falling tail
SIZES: Mapping[str, Mapping[int, float]] = {
    "slices": {32: 0.29, 64: 0.14, 128: 0.182, 256: 0.118, 512: 0.226, 1024: 0.039, 2048: 0.005},
    "small": {1: 0.3951, 2: 0.0782, 4: 0.0879, 8: 0.2517, 16: 0.0669, 32: 0.0658, 64: 0.0243, 128: 0.0207,
              256: 0.0094},
    "eights": {8: 0.6, 16: 0.1, 32: 0.1, 64: 0.08, 128: 0.06, 256: 0.03, 512: 0.02, 1024: 0.008, 2048: 0.002},
}  # fmt: skip

# (seconds that a job runs on the ideal network, share of jobs that take no longer), read off the log that
# LumosCore released of 1,000 jobs on 4,096 GPUs. Waiting times are not included. Between two points the
# logarithm of the seconds is linear in the share.
DURATIONS = (
    (443, 0.0), (798, 0.05), (964, 0.1), (1136, 0.25), (2200, 0.4), (2304, 0.5), (3736, 0.6), (10787, 0.75),
    (17064, 0.85), (44147, 0.9), (105019, 0.94), (150923, 0.96), (162079, 0.97), (198652, 0.98),
    (250635, 0.985), (442616, 0.99), (523884, 0.995), (679649, 1.0),
)  # fmt: skip

# Model -> shares of an iteration during which gradients, experts and pipeline send (released simulator).
MODELS: Mapping[str, tuple[float, float, float]] = {
    "pangu": (0.0737, 0.258, 0.0058),
    "llama-7b": (0.069, 0.255, 0.0077),
    "llama2-7b": (0.011, 0.052, 0.0047),
    "llama2-13b": (0.0017, 0.058, 0.0034),
    "gpt2-13b": (0.047, 0.145, 0.0063),
}

# Stages of a pipeline, and NPUs of a group of experts; all equally likely (released simulator).
STAGES = (1, 2, 4, 8, 16, 32)
GROUPS = (8, 16, 32)

Share = Annotated[float, Field(ge=0, le=1)]


@final
class Entry(BaseModel):
    """A line of a trace: a job.

    Attributes:
        job: name of the job.
        arrival: time of arrival in seconds.
        seconds: running time if nothing slows the job down.
        stages: number of pipeline stages.
        group: number of NPUs that exchange experts' tokens.
        gradients: share of an iteration during which gradients are sent.
        experts: share of an iteration during which experts' tokens are sent.
        pipeline: share of an iteration during which activations are sent from stage to stage.
        overlap: share of the computation, at its end, during which communication phases may already send.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    job: Annotated[str, Field(min_length=1)]
    arrival: Annotated[float, Field(ge=0)]
    npus: Annotated[int, Field(ge=1)]
    seconds: Annotated[float, Field(gt=0)]
    iterations: Annotated[int, Field(ge=1)] = 10
    stages: Annotated[int, Field(ge=1)] = 1
    group: Annotated[int, Field(ge=SERVER)] = SERVER
    gradients: Share = 0.0
    experts: Share = 0.0
    pipeline: Share = 0.0
    overlap: Share = 0.0

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.npus > SERVER and self.npus % SERVER:
            raise ValueError(f"{self.npus} NPUs do not fill whole servers; take a multiple of {SERVER}")
        servers = max(1, self.npus // SERVER)
        if servers % self.stages:
            raise ValueError(
                f"{servers} servers do not make {self.stages} stages; take a divisor of {servers}"
            )
        if self.group % SERVER or servers % (self.group // SERVER):
            raise ValueError(
                f"{servers} servers do not make groups of {self.group} NPUs; take a multiple of {SERVER} "
                f"that divides {servers * SERVER}"
            )
        if self.gradients + self.experts + self.pipeline > 1:
            raise ValueError("shares add up to more than the iteration; lower them to 1 in all")
        return self


@final
@dataclass(frozen=True, slots=True)
class Workload:
    """Distributions of a trace; the times between arrivals are exponential.

    Attributes:
        npus: number of NPUs of the cluster.
        load: mean share of the NPUs that the jobs would keep busy if nothing slowed them down. The load of a
            trace of 1,000 jobs may differ by a fifth, since few long jobs make up most of it. The default
            follows from the released arrivals and durations and the sizes "slices".
        sizes: key of SIZES.
        overlap: overlap of all jobs.
    """

    jobs: int = 1000
    npus: int = 4096
    load: float = 0.67
    sizes: str = "slices"
    overlap: float = 0.0


def make(workload: Workload, seed: int) -> tuple[Entry, ...]:
    """Draw a trace; sizes, durations, models, stages and groups are independent of one another."""
    rng = np.random.default_rng(seed)
    sizes = SIZES[workload.sizes]
    share = np.array(list(sizes.values()))
    npus = rng.choice(list(sizes), workload.jobs, p=share / share.sum())
    seconds = _durations(rng.random(workload.jobs))
    mean = float(np.dot(list(sizes), share / share.sum()))
    every = mean * _mean_duration() / (workload.load * workload.npus)
    arrivals = np.cumsum(rng.exponential(every, workload.jobs))
    created = []
    for number in range(workload.jobs):
        servers = max(1, int(npus[number]) // SERVER)
        stages = min(servers, int(rng.choice(STAGES)))
        group = SERVER * min(servers, int(rng.choice(GROUPS)) // SERVER)
        of = MODELS[str(rng.choice(list(MODELS)))]
        created.append(
            Entry(
                job=f"job{number}",
                arrival=round(float(arrivals[number]), 3),
                npus=int(npus[number]),
                seconds=round(float(seconds[number]), 3),
                stages=stages,
                group=group,
                gradients=of[0] if servers > stages else 0.0,
                experts=of[1] if group > SERVER else 0.0,
                pipeline=of[2] if stages > 1 else 0.0,
                overlap=workload.overlap,
            )
        )
    return tuple(created)


def _durations(shares: np.ndarray) -> np.ndarray:
    seconds, below = zip(*DURATIONS, strict=True)
    return np.exp(np.interp(shares, below, np.log(seconds)))


def _mean_duration() -> float:
    """Return the mean duration in seconds.

    Between two points the logarithm is uniform, so the mean there is the difference of the durations divided
    by the difference of their logarithms.
    """
    return sum((high - low) * (b - a) / np.log(b / a) for (a, low), (b, high) in pairwise(DURATIONS))


def jobs_of(entries: Iterable[Entry], seed: int = 0) -> tuple[Job, ...]:
    """Return the jobs of a trace; one round of the experts' exchange, drawn for each job, stands for all."""
    return tuple(_job(entry, np.random.default_rng((seed, number))) for number, entry in enumerate(entries))


def _job(entry: Entry, rng: np.random.Generator) -> Job:
    whole = entry.seconds / entry.iterations
    servers, group = entry.npus // SERVER, entry.group // SERVER
    phases = []
    if servers > 1:
        phases.append(
            Phase("pipeline", entry.pipeline * whole, pipeline(servers, entry.stages), steady=False)
        )
        if group > 1:
            pairs = experts(servers, group, int(rng.integers(1, group)))
            phases.append(Phase("experts", entry.experts * whole, pairs, steady=False))
        phases.append(Phase("gradients", entry.gradients * whole, gradients(servers, entry.stages)))
    phases = [phase for phase in phases if phase.amount and len(phase.pairs)]
    sending = sum(phase.amount for phase in phases)
    return Job(
        entry.job,
        entry.npus,
        entry.arrival,
        entry.iterations,
        max(whole - sending, 0.0),
        tuple(phases),
        entry.overlap,
        unit=entry.group,
    )


def write(path: Path, entries: Sequence[Entry]) -> None:
    """Write a trace, one JSON object a line."""
    path.write_text("".join(entry.model_dump_json(exclude_defaults=True) + "\n" for entry in entries))


def read(path: Path) -> tuple[Entry, ...]:
    """Read a trace; empty lines are skipped.

    Raises:
        ScenarioError: The file cannot be read, or has faults; FILE:LINE and remedy for each fault.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as ex:
        raise ScenarioError(f"{path}: {ex}", remedy="give a file of one JSON object a line") from ex
    result: list[Entry] = []
    faults: list[str] = []
    first: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entry = Entry.model_validate_json(line)
        except ValidationError as ex:
            for error in ex.errors():
                message = error["msg"].removeprefix("Value error, ")
                faults.append(": ".join((f"{path}:{number}", *map(str, error["loc"]), message)))
            continue
        if first.setdefault(entry.job, number) != number:
            faults.append(
                f"{path}:{number}: job {entry.job!r} is on line {first[entry.job]} as well; name each once"
            )
        result.append(entry)
    if faults:
        raise ScenarioError.joined(faults)
    return tuple(result)

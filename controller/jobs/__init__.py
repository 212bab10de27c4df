# SPDX-License-Identifier: Apache-2.0
"""Choose priorities and paths of jobs so that accelerators compute most (Crux, SIGCOMM 2024).

job         a job, its traffic by link, its intensity W / t          -> Schedule: paths, levels, shifts
timeline    simulation of jobs over shared links, event by event
paths       path selection: least congested paths, most intensive jobs first; or paths by hash
priority    intensity, corrected by trying both orders of two jobs on one link
compress    priorities on few levels: Max-K-Cut of the contention graph
shifts      start shifts, so that jobs that share links send in turns
schedulers  Crux and its baselines as functions: jobs, rates, levels, seed -> Schedule
optimal     best of all schedules, for few jobs
"""

from controller.jobs.compress import best_cut, compress, contention, cut_weight, has_inversion
from controller.jobs.job import Job, Schedule, bottleneck_seconds, intensity, link_loads
from controller.jobs.optimal import best_levels, best_paths, best_schedule
from controller.jobs.paths import hash_paths, least_congested
from controller.jobs.priority import correction, corrections, ranking
from controller.jobs.schedulers import SCHEDULERS, Scheduler, crux, priorities
from controller.jobs.timeline import JobProfile, simulate, utilisation

__all__ = [
    "SCHEDULERS",
    "Job",
    "JobProfile",
    "Schedule",
    "Scheduler",
    "best_cut",
    "best_levels",
    "best_paths",
    "best_schedule",
    "bottleneck_seconds",
    "compress",
    "contention",
    "correction",
    "corrections",
    "crux",
    "cut_weight",
    "has_inversion",
    "hash_paths",
    "intensity",
    "least_congested",
    "link_loads",
    "priorities",
    "ranking",
    "simulate",
    "utilisation",
]

# SPDX-License-Identifier: Apache-2.0
"""Choose paths and priorities of jobs so that accelerators idle as little as possible (Crux, SIGCOMM 2024).

job         Job, with its traffic on links and its intensity W / t; Schedule: paths, levels, start shifts
timeline    event-driven simulation of jobs that share links
paths       path selection: paths by hash, or least congested paths, the most intensive job first
priority    priority of a job: its intensity, corrected by trying both orders of two jobs on one link
compress    assignment of priorities to few levels: Max-K-Cut of the contention graph
shifts      start shifts with which jobs that share links send in turns (CASSINI)
schedulers  Crux and its baselines as functions: jobs, rates, levels, seed -> Schedule
optimal     exhaustive search for the best schedule of few jobs
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

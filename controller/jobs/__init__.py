# SPDX-License-Identifier: Apache-2.0
"""Who sends first and over which path, so that accelerators compute most (Crux, SIGCOMM 2024); all of it
arrays.

jobs        a job, its traffic by link, intensity W / t            -> Schedule: paths, levels, shifts
timeline    jobs over shared links from event to event: what is computed in a time
paths       the least congested, most intensive jobs first; by hash
priority    intensity, corrected by the two orders on one link
compress    priorities on few levels: Max-K-Cut of the contention graph
shifts      jobs that send in turns
schedulers  all of these, and what Crux is compared with: jobs, rates, levels, seed -> Schedule
optimal     the best of all schedules, for few jobs
"""

from controller.jobs.compress import best_cut, compress, contention, cut_weight, has_inversion
from controller.jobs.jobs import Job, Schedule, bottleneck_seconds, intensity, link_loads
from controller.jobs.optimal import best_levels, best_paths, best_schedule
from controller.jobs.paths import hash_paths, least_congested
from controller.jobs.priority import correction, corrections, ranking
from controller.jobs.schedulers import SCHEDULERS, Scheduler, crux, priorities
from controller.jobs.timeline import JobProfile, simulate, utilisation

__all__ = [
    "SCHEDULERS",
    "Job",
    "Schedule",
    "Scheduler",
    "JobProfile",
    "best_cut",
    "best_levels",
    "best_paths",
    "compress",
    "contention",
    "correction",
    "corrections",
    "crux",
    "cut_weight",
    "hash_paths",
    "intensity",
    "has_inversion",
    "least_congested",
    "link_loads",
    "best_schedule",
    "priorities",
    "ranking",
    "simulate",
    "bottleneck_seconds",
    "utilisation",
]

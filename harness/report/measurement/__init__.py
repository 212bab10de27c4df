# SPDX-License-Identifier: Apache-2.0
"""Compute metrics from the observations of runs.

Modules:

    metrics      metrics of a run that scenario.metrics declares
    job_metrics  metrics of jobs, and their losses by faults
    own_cells    counters and registers of the user's own P4 programs, for assertions and report
"""

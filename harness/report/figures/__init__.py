# SPDX-License-Identifier: Apache-2.0
"""Figures as SVG, each a function of plain values.

Its modules:

    plot               style and export of matplotlib figures
    run_charts         arrivals over time, completion times beside bounds
    comparison_charts  limits, losses, figures of papers, distributions
    heat_map           traffic matrix
    study_charts       a metric over one axis, with bands, and over two
    fabric             a fabric and its busy links
    deadlock_cycle     buffers that wait for each other
    circuits           circuits between Pods before and after a change
    captured_frames    frames of capture files over time
    operations         operations of traffic graphs over time
    job_phases         computation and communication of jobs
"""

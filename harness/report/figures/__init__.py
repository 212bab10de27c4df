# SPDX-License-Identifier: Apache-2.0
"""Draw figures as SVG, each by a function of plain values.

Modules:

    plot               style and SVG export of matplotlib figures
    run_charts         arriving data over time; completion times with lower bounds
    comparison_charts  limits, frame losses, distributions
    heat_map           traffic matrix
    study_charts       a metric along an axis, with bands, and along two axes
    fabric             a fabric with the load of its links
    deadlock_cycle     cycle of full buffers in a deadlock
    circuits           circuits between Pods before and after a reconfiguration
    captured_frames    frames of capture files over time
    operations         operations of traffic graphs over time
    job_phases         computation and communication of jobs over time
"""

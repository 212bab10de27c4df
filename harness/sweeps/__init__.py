# SPDX-License-Identifier: Apache-2.0
"""Studies: one scenario run many times, along axes, over seeds, or with one target after another failing.

    plan_study(path) -> StudyPlan -> conduct(runs, folder, executor) -> results -> table -> statistics -> page

Its modules:

    plan          plans the runs of a study, each with a key, from a file and options
    axes          points of a study: values of keys of the file
    cases         links, switches or NPUs that fail in turn, and random faults
    worker        carries out a run, in any process, and returns the text of its result file
    worker_processes  processes of this machine, each of which serves many tasks, such as runs
    cluster       processes of a Ray cluster
    conduct       carries out the runs, or other tasks, that have no result yet
    store         folder of a study, to which each result is written as soon as its run ends
    table         a record for each run, and sweep.json
    comparisons   assertions that compare variants, at each point and seed
    statistics    medians with intervals, distributions, paired differences
    page          report.html of a study
    export        results in any folders, as CSV, JSON or Parquet
"""

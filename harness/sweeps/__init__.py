# SPDX-License-Identifier: Apache-2.0
"""Studies: one scenario run many times, along axes, over seeds, or with something failing in turn.

    plan_study(path) -> StudyPlan -> conduct(runs, folder, executor) -> results -> table -> statistics -> page

Its modules:

    plan          file and options -> runs, each with a key
    axes          points: values of keys of the file
    cases         links, switches or NPUs that fail in turn
    worker        a run -> text of its result file, in any process
    worker_processes  processes of this machine, each of which serves many tasks, such as runs
    cluster       processes of a Ray cluster
    conduct       carries out the runs, or other tasks, that have no result yet
    store         folder of a study, which keeps each result as soon as there is one
    table         results -> a record for each run, and sweep.json
    comparisons   assertions that compare variants, at each point and seed
    statistics    medians with intervals, distributions, paired differences
    page          report.html of a study
    export        results of any folders as CSV, JSON or Parquet
"""

# SPDX-License-Identifier: Apache-2.0
"""Results of runs as numbers, files and figures.

Its modules:

    metrics   observation -> metrics that scenario.metrics declares
    job_metrics  metrics of jobs
    incidents what each fault led to: metrics, JSON, a section of the report
    own_cells counters and registers of the user's own P4 programs, for assertions and report
    results   metrics and assertions -> result
    document  result -> result.json, whose schema is result.schema.json
    junit     results -> JUnit XML
    bundle    a run in one file, to replay it
    captures  capture files: frames by kind over time, data frames compared
    page      report.html
    explore   its switches, slider and table of links, with their script
    charts    charts of the whole scenario, for report and picture
    picture   picture.svg
    fidelity  fidelity report of a run in real time, and its verdict
    sources   papers and derivations that a report cites
    markup    tables and numbers as HTML
    figures   each figure as SVG
"""

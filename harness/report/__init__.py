# SPDX-License-Identifier: Apache-2.0
"""Report the results of runs as metrics, files and figures.

Modules:

    measurement  metrics of runs, of jobs, and of the user's own P4 programs
    incidents consequences of each fault: metrics, JSON, a section of the report
    results   judge assertions on metrics: the result of a scenario
    document  write a result as result.json, whose schema is result.schema.json
    junit     write results as JUnit XML
    bundle    pack a run into a single file, to replay it
    captures  read capture files: frames by kind over time; compare their data frames
    page      write report.html
    explore   interactive parts of report.html: variant switches, time slider, table of links
    charts    charts of the whole scenario, for report.html and picture.svg
    picture   write picture.svg
    fidelity  section of report.html on the fidelity of a real-time run, and its verdict
    sources   papers and derivations that a report cites
    markup    pages, tables and numbers as HTML; page.css is the style of all pages
    figures   figures as SVG
"""

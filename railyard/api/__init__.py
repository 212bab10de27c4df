# SPDX-License-Identifier: Apache-2.0
"""Modules of the public Python API; import their names from `railyard`.

Modules:

    fabrics     build, load and save fabrics; their nodes and links as records
    plans       plan routes and table entries; paths, entries and the hops of a frame as records
    testbeds    a fabric in virtual time: send frames, take links down, read tables and counters
    programs    a P4 program of the user's own on a fabric in virtual time
    graphs      traffic graphs, written in Python
    scenarios   read and run a scenario
    studies     run a scenario many times
    series      tables over time, from the records of a run
    results     the result of a run: metrics, link counters, assertions, pictures, files
    records     tables as lists of dicts
    drawings    SVG drawings for notebooks and files
"""

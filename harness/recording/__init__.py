# SPDX-License-Identifier: Apache-2.0
"""Recordings: everything that happened in a run, tick by tick, as records in a file or for a live page.

Its modules:

    records   kinds of records, and how a tick of all links becomes bytes
    picture   a fabric as the page draws it: positions, nodes, links
    frames    frames of chosen links, and what they are in words
    recorder  a watcher of a run that puts records into sinks while the run goes on
    file      recordings as files: writer and reader
    perfetto  a recording as a trace for the Perfetto page
    history   records of a run within bounded memory, for readers that come late or are slow
"""

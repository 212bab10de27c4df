# SPDX-License-Identifier: Apache-2.0
"""Record a run: link loads, events and frames as records, for a file or for a live page.

Modules:

    records   kinds of records, and the binary format of a tick
    picture   drawing of a fabric for the page: positions, nodes, links
    frames    keep frames of chosen links, and describe them in words
    recorder  watch a run, and pass records to sinks while the run goes on
    file      write and read recording files
    perfetto  convert a recording to a trace for the Perfetto page
    history   keep the records of a run in bounded memory, for late or slow readers
"""

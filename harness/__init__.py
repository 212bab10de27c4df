# SPDX-License-Identifier: Apache-2.0
"""Floor 4: read a scenario file, run it on an emulated fabric, write a result, a report and figures.

Floors are layers: this one imports topologies, controller and emulation; papers and railyard import it.

Values: a `Scenario` is a checked scenario file; a `Prepared` variant has a fabric, a plan, jobs and faults;
an `Observation` has the measurements of one run, a `VariantRun` adds the lower bound of its completion time;
a `Result` has metrics and judged assertions.

    errors     errors of this floor
    files      folders of compiled programs, experiments and labs, in a source tree or a wheel
    version    Railyard's version
    program    hash of the code and the compiled programs on which results depend
    output     folder of results: locked during a run, each file written in full or not at all
    scenario   scenario files: schema, loader, errors with file, line and key; names of metrics
    run        run a scenario: prepare its variants, boot the testbed, run, collect observations
    ranks      user programs, one per rank, that call collectives on an emulated fabric
    topology_scan  topology scan of an emulated fabric
    formats    import files of other tools as scenarios; export jobs of a scenario to such files
    recording  the events of a run, as records in a file
    report     metrics, result.json, report.html and all figures
    sweeps     one scenario run many times in parallel processes
    frames     build, send, capture or follow a single frame by hand
    shell      commands of the Mininet command line
    lessons    the lesson engine: start, check and grade a lab

A room is a module or a folder of this floor; it imports only itself and rooms before it.
Order of the rooms: errors, files, version, program, output, scenario, run, ranks, topology_scan, formats,
recording, report, sweeps, frames, shell, lessons.
"""

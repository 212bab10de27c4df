# SPDX-License-Identifier: Apache-2.0
"""Floor 4: a scenario in; a result, a report and figures out.

Knows topologies, controller and emulation; papers and railyard know it.

Values: a `Scenario` is a checked file; a `Prepared` variant has its fabric, plan, jobs and faults; an
`Observation` is what one run left behind, a `VariantRun` adds its bound; a `Result` has metrics and judged
assertions.

    errors     errors of this floor
    files      where compiled programs, experiments and labs are, in a source tree or a wheel
    version    Railyard's version
    program    hash of the program, on which results depend
    output     folder of results: locked, each file whole or not at all
    scenario   scenario files: schema, loader, messages that name file, line and key; names of metrics
    run        a scenario's values to observations: prepare, boot, run, collect
    ranks      programs of ranks, each with a clock of its own, that call collectives on a fabric
    topology_scan  a scan of an emulated fabric
    formats    files of other tools as scenarios, and jobs of a scenario as such files
    recording  everything that happened in a run, as records
    report     metrics, result.json, report.html and all figures
    sweeps     one scenario run many times in parallel processes
    frames     one frame built, sent, captured or followed by hand
    shell      verbs on the command line of a Mininet fabric
    lessons    the lesson engine: a lab started, checked, graded

Order of the rooms: errors, files, version, program, output, scenario, run, ranks, topology_scan, formats,
recording, report, sweeps, frames, shell, lessons.
"""

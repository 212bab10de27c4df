# SPDX-License-Identifier: Apache-2.0
"""Floor 4: a scenario in; a result, a report and figures out.

Knows topologies, controller and emulation; papers and railyard know it.

Values: a `Scenario` is a checked file; a `Prepared` variant has its fabric, plan, jobs and faults; an
`Observation` is what one run left behind, a `VariantRun` adds its bound; a `Result` has metrics and judged
assertions.

    scenario   scenario files: schema, loader, messages that name file, line and key
    run        a scenario's values to observations: prepare, boot, run, collect
    sweeps     one scenario run many times in parallel processes
    report     metrics, result.json, report.html and all figures
    recording  everything that happened in a run, as records
    frames     one frame built, sent, captured or followed by hand
    lessons    the lesson engine: a lab started, checked, graded
    topology_scan  a scan of an emulated fabric
    files      where compiled programs, experiments and labs are, in a source tree or a wheel
    program    hash of the program, on which results depend
    version    Railyard's version
    errors     errors of this floor
"""

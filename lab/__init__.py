"""Floor 4, what a person touches: a scenario file goes in; a result, a report and an exit code come out.

# lab knows every floor below; nobody below knows lab
#
# scenario.py scenario_topology.py  the file, checked  -> Scenario (frozen)
# document.py     YAML that remembers its lines
# testbeds.py     which testbed runs it, and how slowly
# collective.py   what the file says of a collective -> its schedule and its bound
# runner.py       Scenario -> Fabric -> Plan -> Testbed -> Observation, one variant after the other
# metrics.py      Observation -> named figures, each with its unit and meaning
# results.py      figures + assertions         -> Result -> result.json
# output.py       the folder results go to, tried before anything starts, written whole or not at all
# rack.py chart.py trust.py markup.py report.py       figures, picture.svg, report.html
# craft.py walk.py capture.py send.py          one frame by hand: made, carried hop by hop, written, sent
# claims/ models/ what papers say, beside what comes out here; formulas and iteration times
# saturation.py cycle.py header_vectors.py    a fabric filled up, a deadlock drawn, every source route
# job.py          a collective on a running testbed, started anew when spares take over
# many.py sweep.py failures.py    one scenario, every link cut in turn, or every NPU or switch failed
# notification.py who hears of a failed link, and when, without a data plane
# cli/            one file a verb
"""

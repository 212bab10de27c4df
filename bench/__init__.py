"""Measurements: `python -m bench` prints them and writes one flat JSON object, name to figure.

switch/     the built-in switch and BMv2, a single switch of each
boot        boot time and memory of as many switches as a rack has, in a fresh process
lab         the Mininet testbed: its start, its memory, a scenario on it
figures     a measured series and the machine that it was measured on
memory      memory of processes and of the machine
report      the figures as JSON, as a table and as a plot; lab_report has those of the Mininet testbed

By themselves, each printing JSON:

peers/      the engine beside other simulators: `python -m bench.peers.htsim`, `python -m bench.peers.uec`
circuits    `python -m bench.circuits`: planning circuits, how fast and how few of them move
collective  `python -m bench.collective`: an AllReduce over a rack; rack_floor.cpp: its sums and events alone
page        `python -m bench.page`: the live page in Chromium, frames a second and memory
pod         `python -m bench.pod`: a UB-Mesh Pod whole, its boot, its memory, its packet-hops
threads     `python -m bench.threads`: threads of a run, what each does and what it waits for
"""

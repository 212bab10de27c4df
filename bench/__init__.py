"""Measurements: `python -m bench` prints them and writes one flat JSON object, name to figure.

switch/   the built-in switch and BMv2, a single switch of each
boot      boot time and memory of as many switches as a rack has, in a fresh process
lab       the Mininet testbed: its start, its memory, a scenario on it

By themselves, each printing JSON:

circuits  `python -m bench.circuits`: planning circuits, how fast and how few of them move
page      `python -m bench.page`: the live page in Chromium, frames a second and memory
peers     `python -m bench.peers`: the engine beside htsim, a permutation over a fat tree
pod       `python -m bench.pod`: a UB-Mesh Pod whole, its boot, its memory, its packet-hops
timing    not a measurement: wall clock and processor time of runs, for peers and uec
uec       `python -m bench.uec`: the engine beside uet-htsim, a permutation under NSCC
"""

"""The engine beside other simulators, in one run; each prints JSON.

htsim     `python -m bench.peers.htsim`: NDP of csg-htsim, a permutation over a fat tree
uec       `python -m bench.peers.uec`: NSCC of uet-htsim, a permutation of 1,024 hosts
timing    not a measurement: wall clock and processor time of runs
"""

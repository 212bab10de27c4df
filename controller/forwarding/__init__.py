# SPDX-License-Identifier: Apache-2.0
"""Forwarding of a frame by installed entries, as the P4 programs do it.

pipeline    executable specification of the programs: lookups, hash, decisions of one pass
next_hop    next hops and paths of frames, read from entries by the pipeline
ecmp_paths  paths of all pairs through switches that choose by hash, as arrays
ecmp        next hops of switches that choose by hash, for one destination and without entries
"""

# SPDX-License-Identifier: Apache-2.0
"""Forwarding of a frame by installed entries: one executable reading of the P4 programs.

pipeline    executable specification of the programs: lookups, hash, decisions of one pass
next_hop    next hops and paths of frames, read from entries by the pipeline
ecmp_paths  paths of all pairs where switches choose by hash, in columns
ecmp        next hops of switches that choose by hash, for one destination and without entries
"""

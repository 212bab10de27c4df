# SPDX-License-Identifier: Apache-2.0
"""Forwarding of frames by table entries, as the P4 programs forward them.

pipeline    executable specification of the P4 programs: table lookups, hash, decisions of one pass
next_hop    next hops and paths of frames, read from table entries by the pipeline
ecmp_paths  paths of all pairs through ECMP switches, as arrays
ecmp        next hops of ECMP switches for one destination at a time, without table entries
"""

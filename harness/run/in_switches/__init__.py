# SPDX-License-Identifier: Apache-2.0
"""Collectives carried out by switches (algorithm switch-tree).

plan     plan of a job before a run: trees, blocks, slots and lower bound
running  slots given to trees and taken back over P4Runtime during a run
ring     sums around a ring of the members, for blocks that no tree can carry any more
members  agents of the members, and the replacement of a lost tree
"""

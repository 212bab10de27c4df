# SPDX-License-Identifier: Apache-2.0
"""Collectives that switches carry out: their trees and blocks before a run, slots and members in it.

plan     trees, blocks, slots and the bound of a job
running  slots given to trees and taken back over P4Runtime
ring     blocks that no tree can carry any more, around a ring of the members
members  agents of members, and another tree in place of a lost one
"""

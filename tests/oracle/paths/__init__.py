# SPDX-License-Identifier: Apache-2.0
"""Paths of an agent's frames.

entropies the load-balance value of each frame by what became of earlier ones
spray     the path of each frame, and the health of paths
sender    a sender that finds losses by path
delay     avoidance of paths whose round trip stands out
idle      the smallest round trip of each path, as a ratio
"""

# SPDX-License-Identifier: Apache-2.0
"""Paths of an agent's frames.

choice    load-balance values of connections, and the choice among them
spray     the path of each frame, and the health of paths
sender    a sender that finds losses by path
delay     paths that stand out by their round trip are left
"""

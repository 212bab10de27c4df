# SPDX-License-Identifier: Apache-2.0
"""Reads and writes of each kind of P4Runtime entity on one switch.

tables         entries and default entries, their direct counters and meters, their idle timeouts
entries        checks and keys of table entries, independent of any switch
direct         direct counters and direct meters addressed as entities of their own
profiles       action profiles and selectors: members, groups, one-shot action sets
arrays         indexed counters, indexed meters, registers
replication    multicast groups and clone sessions
value_sets     parser value sets
digests        digest lists, their acknowledgements and timeouts
"""

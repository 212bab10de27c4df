# SPDX-License-Identifier: Apache-2.0
"""Networks of a simulated cluster: the links that the flows of a job load.

clos.py      one switch; Clos networks where a hash picks the path
pinned.py    a Clos whose flows keep the path that a scheduler gives them
optical.py   Pods joined by optical circuits (LumosCore)
circuits.py  circuits by spine and Pod: unused ports, matchings, detours
"""

# SPDX-License-Identifier: Apache-2.0
"""Host processes of a Mininet testbed.

attached     agents at the nodes' hosts: attached, replaced, their outcomes
population   the host processes from the testbed's side: start, orders, messages, reports
generators   the host processes: a parent that forks one process for each host
messages     messages between the two
tallies      counts of all hosts in memory that the two share
driver       a sans-IO host on a raw socket, at a stated rate and on a dilated clock
measure      measurements of a run: usage of links, lost frames, lateness, processor time
"""

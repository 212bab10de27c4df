# SPDX-License-Identifier: Apache-2.0
"""Host processes of a Mininet testbed, each with the agents of several hosts.

attached     agents by node: attached, replaced, their outcomes
population   the host processes from the testbed's side: start, orders, messages, reports
generators   the parent process, which forks a worker for each processor
worker       a process that runs the agents of several hosts
messages     messages between the testbed and the host processes
tallies      counts of all hosts, in memory shared by workers and testbed
driver       raw sockets, dilated clock and adherence to a rate, for the driver in C++
measure      measurements of a run: usage of links, lost frames, lateness, processor time
"""

# SPDX-License-Identifier: Apache-2.0
"""Testbed 2: real time. Every host is a network namespace, every switch a process, every link two veth pairs.

machine      requirements on this machine, and Mininet's own package
switches/    processes of BMv2 or of the built-in switch
links/       links of a fabric as connections of veth endpoints: rates, faults, circuits, counters
agents/      agents in host processes, their driver, and measurements of a run
alarms       callbacks at scenario times
packet_ins   nodes whose packet-ins wait for the testbed
teardown     actions that undo a testbed, run in reverse order
samples      loads, waiting bytes and states of links while a run goes on
link_operations  operations of a testbed on its links: faults, circuits, captures, samples
real_time    the time, agents and results of a testbed, on this machine or on several
net          the fabric as a network of Mininet's own classes, for Mininet's command line
ip/          IPv4 beside UB on the hosts, for programs of users
testbed      MininetTestbed: namespaces, links and switches of a fabric on this machine
cluster/     a fabric over several machines, each with a part of it
"""

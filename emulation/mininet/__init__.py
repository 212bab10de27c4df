# SPDX-License-Identifier: Apache-2.0
"""Testbed 2: real time. Every host is a network namespace, every switch a process, every link two veth pairs.

real_time    the time, agents and results of a testbed, on this machine or on several
testbed      MininetTestbed: namespaces, links and switches of a fabric on this machine
carried      frames of circuits that move
cabling      jacks of a fabric's ports and the names of their interfaces
link_operations  operations of the testbed on its links: faults, circuits, captures, looks
links        links of a fabric: their state, faults, circuits and counters, over patches
patches      links as patches of this machine's panel, their rates and impairments
patch        the patch panel: jacks (veth pairs), patches, queues, counters
jacks        jacks as data, and checks of new jacks
counters     counters of jacks, read by netlink dumps
samples      loads, waiting bytes and states of links while a run goes on
switches     processes of BMv2 or of the built-in switch
bmv2_queues  length and rate of BMv2's queues
net          the fabric as Mininet's own classes see it, for its command line
teardown     actions that undo a testbed, the last first
packet_ins   nodes whose packet-ins wait for the testbed
alarms       callbacks at scenario times
agents/      host processes, their driver, and measurements of a run
ip/          IPv4 beside UB on the hosts, for programs of users
cluster/     a fabric over several machines, a part of it on each
linux/       namespaces, netlink, kernel features, processes, the record of a run; knows no fabric and no plan
"""

# SPDX-License-Identifier: Apache-2.0
"""A fabric of the Mininet testbed over several machines: a part on each, and VXLAN tunnels between parts.

machines    the machines, read from a file
cutting     partition of a fabric's nodes over the machines, with few links between machines
plans       the part of every machine, and the tunnels between parts
orders      messages between the controlling process and the parts
session     ssh session with the part on a machine: orders, answers, events, and the machine's clock
sessions    the sessions with all machines, which work at the same time
checks      checks of all machines before anything is made
clocks      comparison of the machines' clocks, and conversion of times
part        the process on a machine: a Mininet testbed of the nodes on that machine
part_hosts  methods of a part for orders about its hosts
forwards    P4Runtime sockets of switches on other machines, forwarded by ssh
connections links of the whole fabric, by orders to the parts
hosts       hosts of all machines and the use of processors, by orders to the parts
programs    a user's programs on all hosts
testbed     MachinesTestbed: all parts together as a testbed
"""

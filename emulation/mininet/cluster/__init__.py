# SPDX-License-Identifier: Apache-2.0
"""A fabric of the Mininet testbed over several machines: a part on each, VXLAN tunnels between the parts.

machines    the machines, read from a file
cutting     the nodes of a fabric apportioned to machines, with few links between them
plans       the part of every machine, and the tunnels between parts
orders      values that the controlling process and the parts exchange
session     ssh to a machine: the part that runs there, its answers and events, its clock
sessions    the sessions with all machines, at the same time
checks      checks of all machines before anything is made
clocks      the machines' clocks compared, and start times by each of them
part        the process on a machine: a Mininet testbed of the nodes there
part_hosts  orders to a part about its hosts
forwards    sockets of switches on other machines, by ssh
connections links of the whole fabric, by orders to the parts
hosts       hosts of all machines and the use of processors, by orders to the parts
programs    a user's programs on all hosts
testbed     MachinesTestbed: the parts as a testbed
"""

# SPDX-License-Identifier: Apache-2.0
"""A fabric of the Mininet testbed over several machines: a part on each, VXLAN tunnels between the parts.

machines   the machines, read from a file
cutting    the nodes of a fabric apportioned to machines, with few links between them
orders     values that the controlling process and the parts exchange
session    ssh to a machine: the part that runs there, its answers and events, its clock
part       the process on a machine: a Mininet testbed of the nodes there
forwards   sockets of switches on other machines, by ssh
links      links of the whole fabric, by orders to the parts
testbed    MachinesTestbed: the parts as a testbed
"""

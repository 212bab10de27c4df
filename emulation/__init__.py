# SPDX-License-Identifier: Apache-2.0
"""Floor 3: makes a Fabric real. A Plan enters over P4Runtime; only this floor has frames, processes and time.

Imports topologies and controller.

engine/      v1model switches, links and Linux interfaces in C++; `_engine` is its Python module
errors       errors of this floor
namespace    unnamed network namespaces
lifetime     base of objects that start and stop as context managers
fidelity     judgement of the times of a run in real time
circuits     optical circuit switches on either testbed
traffic/     traffic of the NPUs: frames, schedules, collectives, agents
tree_testbed testbed operations that move a collective in switches to another tree
testbed      the interface of a testbed: links, hosts, faults, time
targets      targets of faults, found in a fabric by kind and name
faults       events and their effects on a testbed, declared once
linux/       namespaces, netlink, processes, TAP devices, the record of a run, for both testbeds
p4runtime/   one gRPC server in front of the switches
embedded/    testbed 1: every switch in this process, in virtual time
mininet/     testbed 2: namespaces and processes, in real time
control/     the control loop: node controllers, spares, circuits that follow jobs, LACP
switchd/     the engine as a process on Linux interfaces, in real time

A room is a module or a folder of this floor; it imports only itself and rooms before it.
Order of the rooms: _engine, errors, namespace, lifetime, fidelity, circuits, traffic, tree_testbed, testbed,
targets, faults, linux, p4runtime, embedded, mininet, control, switchd.
"""

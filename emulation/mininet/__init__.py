# SPDX-License-Identifier: Apache-2.0
"""Testbed 2: real time. Every host a network namespace, every switch a process, every link two veth pairs.

    testbed     the fabric made of all that follows; time, faults, what came of it
    cabling     fabric -> jacks                       links      what joins which jacks, what is wrong with it
    net         the fabric as Mininet sees it         debian     where Mininet comes from
    switches    BMv2's processes, or the built-in one's
    population  the hosts, from outside               generators the hosts, from inside: one process each
    driver      one sans-IO host on a raw socket, at a rate and on a dilated clock
    machine     what this machine must have
    alarms      what is to happen when                messages   between testbed and hosts
    measure     counters to figures                   meter      how busy the machine was

Below this line nobody knows a fabric or a plan.

    record      what a run makes, noted before it is made; cleaning up after any death
    patch       the patch panel: which jacks are joined, what is wrong on the way, who counts
    watch       carrier changes of a namespace, as the kernel tells them
    kernel      what this kernel can do, tried in a namespace that nobody sees

    netns       named network namespaces              netlink    many requests over one socket
    processes   who belongs to a run, who is where    requests   what is asked of the kernel, encoded
    counters    what passed a jack, and what did not  backlog    until what is inside a link has come out
    capture     tcpdump at a jack
"""

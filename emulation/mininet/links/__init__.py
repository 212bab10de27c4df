# SPDX-License-Identifier: Apache-2.0
"""Links of a fabric in real time: pairs of veth endpoints, between which the kernel redirects frames.

endpoints      endpoints as data, and checks of new endpoints
counters       counters of endpoints, read by netlink dumps
cross_connect  endpoints (veth pairs), their connections, queues and counters
cabling        endpoints of a fabric's ports and the names of their interfaces
connections    links as connections on this machine: their rates and impairments
carried        counters of endpoints at the begin and end of circuits
links          links of a fabric: their state, faults, circuits and counters, over connections
"""

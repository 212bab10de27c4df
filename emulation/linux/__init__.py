# SPDX-License-Identifier: Apache-2.0
"""Linux facilities of both testbeds: namespaces, netlink, processes, records. Knows no fabric and no plan.

record       record of everything a run makes, and cleaning up after it
processes    processes of a run or in a namespace
netns        named network namespaces
netlink      batches of rtnetlink requests, and dumps
requests     encoded requests for links, queues and filters
priority_queues  requests for a link that serves frames by their priority
kernel       kernel features, tried in a temporary namespace
watch        changes of carrier
backlog      waiting until frames inside veth pairs are delivered
capture      tcpdump on an interface
frame_tap    the last frames that cross an interface
tap          TAP devices
"""

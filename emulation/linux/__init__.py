# SPDX-License-Identifier: Apache-2.0
"""Linux facilities of the testbeds: namespaces, netlink, processes, records; without fabrics or plans.

record       record of everything that a run creates, and cleaning up after a run
processes    finding and ending the processes of a run
netns        named network namespaces
netlink      batches of rtnetlink requests, and dumps
requests     encoded requests for links, queues and filters
priority_queues  requests for a link that serves frames by their priority
kernel       kernel features, tried in a temporary namespace
watch        changes of the carrier of interfaces
backlog      waiting until the frames inside veth pairs have been delivered
capture      tcpdump on an interface
frame_tap    the last frames that cross an interface
tap          TAP devices
"""

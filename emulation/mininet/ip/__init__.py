# SPDX-License-Identifier: Apache-2.0
"""IPv4 beside UB on the hosts of a Mininet testbed: an interface `ub0` in every host's namespace.

ports     the interfaces, their addresses, and the processes that carry their packets
programs  a user's program on every host, with the environment of torchrun
carrier   a process that carries packets between TAP devices and the hosts' links
"""

# SPDX-License-Identifier: Apache-2.0
"""Namespaces, links, processes and counters of the Linux kernel that the Mininet testbed uses."""

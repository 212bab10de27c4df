# SPDX-License-Identifier: Apache-2.0
"""The values that describe a network: fabrics, nodes, ports, links, address plans; checks; JSON form."""

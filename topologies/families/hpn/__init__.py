# SPDX-License-Identifier: Apache-2.0
"""HPN: segments of hosts whose NICs have two ports, and a plane of switches for each port.

fabrics  the families hpn and dcn-plus
shape    numbers, names and addresses of hosts and switches
"""

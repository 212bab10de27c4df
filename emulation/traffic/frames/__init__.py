# SPDX-License-Identifier: Apache-2.0
"""Headers of every frame: Scapy layers, a fast codec of the same bytes, a Wireshark dissector."""

# SPDX-License-Identifier: Apache-2.0
"""One frame built, sent, captured or followed by hand.

Its modules:

    craft           a frame from Scapy layers and names of a fabric
    walk            its journey through all switches
    capture         pcap and pcapng files
    send            a frame on a real interface
    exchange        frames into and out of a fabric that another process runs
    header_vectors  every source-route header through the compiled program
"""

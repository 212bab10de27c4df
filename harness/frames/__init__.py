# SPDX-License-Identifier: Apache-2.0
"""One frame built, sent, captured or followed by hand.

Its modules:

    craft           a frame from Scapy layers and names of a fabric
    walk            its journey through all switches
    steps           parser states, tables, conditions and statements that it executed
    anatomy         its headers and fields, and the fields in which two frames differ
    describe        a journey as a JSON document
    capture         pcap and pcapng files
    journey_capture  a journey as records of a capture file
    send            a frame on a real interface
    generator       all data frames of a collective, built with Scapy
    exchange        frames into and out of a fabric that another process runs
    header_vectors  every source-route header through the compiled program
"""

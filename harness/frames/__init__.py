# SPDX-License-Identifier: Apache-2.0
"""Build, send, capture or follow a single frame by hand.

Modules:

    craft           build a frame from Scapy layers and names of a fabric
    walk            follow a frame through the switches of a fabric: its journey
    steps           P4 execution of a frame: parser states, tables, conditions and statements
    anatomy         split a frame into headers and fields; list the differences of two frames
    describe        write a journey as a JSON document
    capture         write and read pcap and pcapng files
    journey_capture  convert a journey to records of a capture file
    send            send a frame on a real interface
    generator       build all data frames of a collective with Scapy
    exchange        send frames into a fabric that another process runs, and receive frames from it
    header_vectors  run every source-route header through the compiled program
"""

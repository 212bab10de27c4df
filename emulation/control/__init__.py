# SPDX-License-Identifier: Apache-2.0
"""The control loop: node controllers driven by port events, hellos and notices of a running testbed.

activity           a reaction of a node controller, and the event that caused it
loop               ControlLoop: table writes and notices, after detection and processing times
hellos             hellos between the two ends of a link, paused while no data arrive
messenger          messages of node controllers in band, acknowledged and repeated
takeover           replacement of failed nodes by spares
reconfiguration    optical circuits that follow the jobs and the ports that have light
circuit_change     a change of circuits under way
reconfiguration_record  a completed change of circuits, for results
light_monitor      usable ports of optical switches, from the light at them
bonding            LACP between NICs and ToRs, and host routes that ToRs learn from it
packet_outs        frames that the control plane sends through a switch
frames             notices, watches, hellos and LACPDUs as frames
"""

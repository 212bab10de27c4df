# SPDX-License-Identifier: Apache-2.0
"""What runs on the NPUs of a fabric: frames, transport and collectives, sans-IO.

frames        every header as a Scapy layer              wire         the same bytes, fast
schedule      a collective as a DAG of sends, proved     collectives  schedules of every kind and their bounds
transport     one reliable connection                    data         arrays, the truth, the comparison
connections   those with one peer, which a message takes path_choice  the values of lb that they have
agent         one NPU: schedule, transport, arrays        stats        what it says about its run
"""

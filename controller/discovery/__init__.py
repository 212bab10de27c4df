# SPDX-License-Identifier: Apache-2.0
"""Discovery of a fabric by source-routed requests, without addresses or routes.

wire     frames of requests and answers of the topology scan
scan     state machine: answers go in, requests come out
cables   comparison of the discovered fabric with the planned fabric: a text for each wrong cable
entries  table entries of the program ub_scan: a node's GUID, class and ports
"""

from controller.discovery.cables import Finding, compare_cables
from controller.discovery.entries import guid_of, scan_entries
from controller.discovery.scan import Device, Discovered, TopologyScan
from controller.discovery.wire import Answer, Hops, read_answer, request

__all__ = [
    "Answer",
    "Device",
    "Discovered",
    "Finding",
    "Hops",
    "TopologyScan",
    "compare_cables",
    "guid_of",
    "read_answer",
    "request",
    "scan_entries",
]

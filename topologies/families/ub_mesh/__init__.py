# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh: racks of NPUs in a 2D full mesh with planes of switches, Pods and SuperPods.

fabrics  the families: rack, rack with switches, Pod, Pod as a Clos, SuperPod
racks    families of alternative racks: 1D-FM-A, 1D-FM-B, Clos
planes   racks with planes of low-radix switches, linked step by step
parts    addresses, lanes and delays; NPUs and devices of racks
dcn      size of the datacenter network above SuperPods
"""

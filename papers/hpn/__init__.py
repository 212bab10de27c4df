# SPDX-License-Identifier: Apache-2.0
"""Alibaba HPN: the paper's claims, and paths of flows through a Pod by the installed hash.

claims.yaml    the paper's claims
figures/       functions that compute or measure the figures of the claims
ecmp.py        links that flows take through a Pod, by the installed hash
allreduces.py  several AllReduces at once; paths of connections by search, at random or by five-tuple
plot.py        charts of the load of a NIC's two ports and of the AllReduces, as SVG
"""

# SPDX-License-Identifier: Apache-2.0
"""Alibaba HPN: the paper's claims, and flows over its Pod by the hash that switches install.

claims.yaml    the paper's claims
figures/       functions that compute or measure the figures of the claims
ecmp.py        links that the flows of a Pod take, by the installed hash
allreduces.py  AllReduces at once, with connections by search, at random or by five-tuple
plot.py        a NIC's two ports by connections, and the AllReduces, as SVG
"""

# SPDX-License-Identifier: Apache-2.0
"""Generators of fabrics, one family a module: parameters in, Fabric out."""

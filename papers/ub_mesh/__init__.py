# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh: the paper's claims and the models that compute its figures."""

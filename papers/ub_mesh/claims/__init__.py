# SPDX-License-Identifier: Apache-2.0
"""Claims of the UB-Mesh paper, each computed or measured when asked."""

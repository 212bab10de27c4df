# SPDX-License-Identifier: Apache-2.0
"""Claims of the LumosCore papers, each computed or measured when asked."""

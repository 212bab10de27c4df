# SPDX-License-Identifier: Apache-2.0
"""The P4Runtime client that writes plans into switches, and the p4info it resolves names with."""

# SPDX-License-Identifier: Apache-2.0
"""What a node changes and whom it notifies when a link fails or returns; sans-IO."""

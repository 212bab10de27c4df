# SPDX-License-Identifier: Apache-2.0
"""Interactive parts of report.html: switches for variants, a time slider, a sortable table of links.

Modules:

    data        values for the script, of bounded size
    parts       the controls as HTML; without the script a shorter table remains
    explore.js  the script; it makes no network requests
    explore.css styles of the controls, of explanations and of the printed page
"""

# SPDX-License-Identifier: Apache-2.0
"""A file of claims: its form, its reader, the files that come with Railyard, and bundles.

schema.py           the file as pydantic models, and its JSON schema
claims.schema.json  that schema, for editors
reader.py           file -> checks; faults with file, line and remedy
catalogue.py        the files that come with Railyard, by name
bundle.py           a file of claims, what it names and its results in one file; both runs compared
"""

# SPDX-License-Identifier: Apache-2.0
"""Files of claims: schema, reader, the files that come with Railyard, and bundles.

schema.py           the file as pydantic models, and its JSON schema
claims.schema.json  the JSON schema, for editors
reader.py           file -> checks; faults with file, line and remedy
catalogue.py        the files that come with Railyard, by name
bundle.py           a file of claims, the files it names and its results in one file; comparison of two runs
"""

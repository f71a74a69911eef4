#!/usr/bin/python3
"""sonic-cfggen, as the tests use it: -j FILE ... --print-data prints the rows of all files together, as JSON."""

import json
import sys

rows = {}
for option, path in zip(sys.argv[1:], sys.argv[2:]):
    if option == "-j":
        with open(path) as f:
            for table, more in json.load(f).items():
                rows.setdefault(table, {}).update(more)
print(json.dumps(rows))

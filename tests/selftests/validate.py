# SPDX-License-Identifier: GPL-2.0-only
#
# usage: validate.py SCHEMA FILE...
#
# Each file must be a JSON text that the schema allows. An unknown key is an error here, although
# new ones may appear for users: it would be a field without a description.

import json
import sys

import jsonschema


def closed(schema):
    """The same schema, but that objects have no other keys."""
    if isinstance(schema, list):
        return [closed(i) for i in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: closed(value) for key, value in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema


with open(sys.argv[1]) as f:
    schema = closed(json.load(f))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
bad = 0
for name in sys.argv[2:]:
    with open(name) as f:
        for e in validator.iter_errors(json.load(f)):
            where = "/".join(str(i) for i in e.absolute_path)
            print(f"{name}: /{where}: {e.message[:200]}")
            bad = 1
sys.exit(bad)

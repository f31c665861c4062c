# SPDX-License-Identifier: GPL-2.0-only
#
# usage: validate.py SCHEMA FILE...
#        validate.py
#
# Each file must be a JSON text that the schema allows. An unknown key is an error here, although
# new ones may appear for users: it would be a field without a description.
#
# Without arguments, each line of the input has SCHEMA FILE..., and is answered by a line: "valid",
# or what is wrong. A test with many files starts Python once.

import json
import os
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


def loaded(name):
    with open(name) as f:
        return json.load(f)


def linked(name):
    """The schema, with those that it refers to, such as "top.json#/properties", in its $defs."""
    folder, found = os.path.dirname(name), {}

    def moved(schema, to):
        if isinstance(schema, list):
            return [moved(i, to) for i in schema]
        if not isinstance(schema, dict):
            return schema
        schema = {key: moved(value, to) for key, value in schema.items()}
        if isinstance(schema.get("$ref"), str):
            other, _, pointer = schema["$ref"].partition("#")
            if other:
                add(other)
            schema["$ref"] = f"#/$defs/{other}{pointer}" if other else f"#{to}{pointer}"
        return schema

    def add(other):
        if other not in found:
            found[other] = None
            found[other] = moved(loaded(os.path.join(folder, other)), f"/$defs/{other}")

    schema = moved(loaded(name), "")
    if found:
        schema["$defs"] = {**schema.get("$defs", {}), **found}
    return schema


def errors(schema, files):
    """A text for each place in the files that the schema does not allow."""
    schema = closed(linked(schema))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for name in files:
        for e in validator.iter_errors(loaded(name)):
            where = "/".join(str(i) for i in e.absolute_path)
            yield f"{name}: /{where}: {e.message[:200]}"


if len(sys.argv) > 1:
    found = list(errors(sys.argv[1], sys.argv[2:]))
    for i in found:
        print(i)
    sys.exit(bool(found))

for line in sys.stdin:
    schema, *files = line.split()
    try:
        found = list(errors(schema, files))
    except (OSError, ValueError, jsonschema.SchemaError) as e:
        found = [f"{' '.join(files)}: {e}"]
    print("; ".join(found).replace("\n", " ") or "valid", flush=True)

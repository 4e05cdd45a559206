"""schema.py - as much of JSON Schema (draft 7) as docs/spec/receipt.schema.json uses, for tests."""

import json
import pathlib
import re

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$ref", "title", "definitions", "type", "properties", "required", "additionalProperties", "items",
         "enum", "const", "minimum", "oneOf", "propertyNames", "description", "pattern"}


def is_of(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def problems(value, schema, root=None, at="$"):
    """Every way in which value departs from schema, as sentences; [] when it is valid."""
    root = schema if root is None else root
    if schema is True or schema is False:
        return [] if schema else [f"{at}: nothing is allowed here"]
    unknown = set(schema) - KNOWN
    if unknown:
        raise ValueError(f"{at}: this validator does not know {sorted(unknown)}")
    if "$ref" in schema:
        return problems(value, referred(schema["$ref"], root), root, at)
    found = of_value(value, schema, at)
    if isinstance(value, dict):
        found += of_object(value, schema, root, at)
    if isinstance(value, list) and "items" in schema:
        for number, item in enumerate(value):
            found += problems(item, schema["items"], root, f"{at}[{number}]")
    if "oneOf" in schema and sum(not problems(value, option, root, at) for option in schema["oneOf"]) != 1:
        found.append(f"{at}: fits not exactly one of the alternatives")
    return found


def referred(path, root):
    for step in path.removeprefix("#/").split("/"):
        root = root[step]
    return root


def of_value(value, schema, at):
    found = []
    wanted = schema.get("type")
    if wanted and not any(is_of(value, name) for name in ([wanted] if isinstance(wanted, str) else wanted)):
        found.append(f"{at}: {value!r} is not of type {wanted}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: {value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{at}: {value!r} is not {schema['const']!r}")
    if "pattern" in schema and isinstance(value, str) and not re.search(schema["pattern"], value):
        found.append(f"{at}: {value!r} is not like {schema['pattern']}")
    if "minimum" in schema and is_of(value, "number") and value < schema["minimum"]:
        found.append(f"{at}: {value} is below {schema['minimum']}")
    return found


def of_object(value, schema, root, at):
    found = [f"{at}: {name} is missing" for name in schema.get("required", []) if name not in value]
    for name, item in value.items():
        inner = schema.get("properties", {}).get(name, schema.get("additionalProperties", True))
        found += problems(item, inner, root, f"{at}.{name}")
        if "propertyNames" in schema:
            found += problems(name, schema["propertyNames"], root, f"{at}: name {name}")
    return found


SPEC = pathlib.Path(__file__).resolve().parents[2] / "docs/spec"


def document(text):
    """What a command printed as JSON, once it fits the schema file of its id; AssertionError naming what does not."""
    value = json.loads(text)
    name = value["schema"].removeprefix("sliceup.").partition("/")[0]
    found = problems(value, json.loads((SPEC / f"{name}.schema.json").read_text()))
    if found:
        raise AssertionError(f"{value['schema']}: {found[:12]}")
    return value

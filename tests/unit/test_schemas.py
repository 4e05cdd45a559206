"""docs/spec/*.schema.json say of every member of every document what it is."""
import json
import pathlib
import re
import unittest

SPEC = pathlib.Path(__file__).resolve().parents[2] / "docs/spec"
SCHEMAS = {path.name.removesuffix(".schema.json"): json.loads(path.read_text()) for path in SPEC.glob("*.schema.json")}


def members(schema, at="$"):
    """Every member that the schema names, with its place."""
    for name, member in schema.get("properties", {}).items():
        yield f"{at}.{name}", member
        yield from members(member, f"{at}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from members(schema["items"], f"{at}[]")
    for option in schema.get("oneOf", []):
        yield from members(option, at)
    for name, part in schema.get("definitions", {}).items():
        yield from members(part, name)


class Schemas(unittest.TestCase):
    def test_every_member_is_described(self):
        self.assertGreater(len(dict(members(SCHEMAS["receipt"]))), 150)
        for name, schema in SCHEMAS.items():
            found = dict(members(schema))
            self.assertEqual([], [at for at, member in found.items() if not re.search(r"[.?]$", member.get("description", ""))], name)

    def test_a_file_has_the_name_of_its_schema(self):
        for name, schema in SCHEMAS.items():
            self.assertRegex(schema["properties"]["schema"]["const"], rf"^sliceup\.{name}/[1-9]$")

    def test_every_schema_that_is_printed_has_a_file(self):
        printed = set()
        for folder in ("coordinator/view", "coordinator/cli", "coordinator/launch", "worker/builtin"):
            for path in (SPEC.parents[1] / folder).glob("*.c"):
                printed |= set(re.findall(r'"(sliceup\.[a-z-]+/\d)"', path.read_text()))
        printed -= {"sliceup.drift-baseline/2"}  # a file
        self.assertEqual(printed, {schema["properties"]["schema"]["const"] for schema in SCHEMAS.values()})


if __name__ == "__main__":
    unittest.main()

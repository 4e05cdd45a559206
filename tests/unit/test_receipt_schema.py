"""docs/spec/receipt.schema.json says of every member of a receipt what it is."""
import json
import pathlib
import unittest

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/spec/receipt.schema.json").read_text())


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


class ReceiptSchema(unittest.TestCase):
    def test_every_member_is_described(self):
        found = dict(members(SCHEMA))
        self.assertGreater(len(found), 150)
        self.assertEqual([], [at for at, member in found.items() if not member.get("description", "").endswith(".")])


if __name__ == "__main__":
    unittest.main()

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/events.schema.json, the table of docs/events.md and the code tell of the same events."""
import json, re, sys

import jsonschema

HEAD = {"event"}
HOST, GUEST = "loader/job/events.c", "loader/job/events_guest.c"
schema = json.load(open("docs/events.schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
results = json.load(open("docs/result.schema.json"))["properties"]
failures = []


def same(what, a, b):
    if a != b:
        failures.append(f"{what}: {sorted(a)} and {sorted(b)}" if isinstance(a, set) else f"{what}: {a} and {b}")


def documented():
    """(event, its keys, its keys of a guest) by row of the table."""
    for line in open("docs/events.md"):
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if line.startswith("| `") and len(cells) == 4:
            yield cells[0].strip("`"), *({w.strip("`") for w in c.split(", ") if w} for c in cells[1:3])


def keys(definition):
    return set(schema["$defs"].get(definition, {}).get("properties", {})) - HEAD


def named_by_code(path):
    """Rows of its table of kinds, and what it begins a line of by name."""
    text = open(path).read()
    return set(re.findall(r'\{ "([a-z]+)", put_', text)) | set(re.findall(r'new_line\(j, "([a-z]+)"', text))


rows = list(documented())
same("events of the table and of the schema", [r[0] for r in rows], schema["properties"]["event"]["enum"])
for event, host, guest in rows:
    same(f"keys of {event} in the table and in the schema", host, keys(event))
    same(f"keys of a guest's {event} in the table and in the schema", guest, keys("guest_" + event))
same(f"events of {HOST} and of the table", named_by_code(HOST), {r[0] for r in rows if r[1]})
# A verdict is the kernel's word, with the guest's of whose it was.
same(f"events of {GUEST} and of the table", named_by_code(GUEST) | {"denied", "allowed"}, {r[0] for r in rows if r[2]})
variants = [r["$ref"].rpartition("/")[2] for r in schema["oneOf"]]
same("lines that are allowed and those that are described", set(variants),
     {name for name, d in schema["$defs"].items() if "event" in d.get("properties", {})})
for name in variants:
    same(f"event of {name}", schema["$defs"][name]["properties"]["event"]["const"], name.removeprefix("guest_"))
same("reasons of an end", schema["$defs"]["ended"]["properties"]["reason"]["enum"],
     results["exit"]["properties"]["reason"]["enum"])
same("reasons of a denial", schema["$defs"]["deny_reason"]["enum"],
     results["denials"]["items"]["properties"]["reason"]["enum"])
print(*(failures or ["events schema: ok"]), sep="\n")
sys.exit(bool(failures))

#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/result.schema.json takes what the writer writes, and nothing that is near it but wrong."""
import copy, glob, json, sys

import jsonschema

schema = json.load(open("docs/result.schema.json"))
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)
failures = []


def want(condition, what):
    if not condition:
        failures.append(what)


def paths(node, path=()):
    """Every place in a document, the root included."""
    yield path
    if isinstance(node, (dict, list)):
        for key in node.keys() if isinstance(node, dict) else range(len(node)):
            yield from paths(node[key], path + (key,))


def at(doc, path):
    for key in path:
        doc = doc[key]
    return doc


def refused(doc, path, change):
    broken = copy.deepcopy(doc)
    change(at(broken, path[:-1]), path[-1])
    return not validator.is_valid(broken)


def check_near_misses(name, doc):
    counts = ("by_name", "denied")  # objects whose keys are names of calls
    for path in paths(doc):
        where = f"{name}: /{'/'.join(map(str, path))}"
        node = at(doc, path)
        free = path[-2:-1] and path[-2] in counts or path[-1:] and path[-1] in counts
        if isinstance(node, dict) and not free:
            want(not validator.is_valid(with_extra(doc, path)), f"{where}: takes an unknown member")
        if not path:
            continue
        if isinstance(path[-1], str) and not free:
            want(refused(doc, path, lambda o, k: o.pop(k)), f"{where}: can be left out")
        wrong = 1.5 if isinstance(node, (str, int)) or node is None else "wrong"
        if path[-1] not in ("score", "value") and not (path[-1] == "threshold"):
            want(refused(doc, path, lambda o, k: o.__setitem__(k, wrong)), f"{where}: takes {wrong!r}")
        if isinstance(node, int) and not isinstance(node, bool):
            want(refused(doc, path, lambda o, k: o.__setitem__(k, -1)), f"{where}: takes -1")


def with_extra(doc, path):
    broken = copy.deepcopy(doc)
    at(broken, path)["surplus"] = 1
    return broken


def check_words():
    words = [line.split() for line in open("tests/unit/golden/result_words.txt")]
    props = schema["properties"]
    for kind, enum in (("exit", props["exit"]["properties"]["reason"]),
                       ("deny", props["denials"]["items"]["properties"]["reason"]),
                       ("action", props["findings"]["items"]["properties"]["action"])):
        want([w for k, w in words if k == kind] == enum["enum"], f"enum of {kind} differs")


def check_exit_rules(doc):
    for reason, code, signal, text, good in (
            ("exited", 0, None, None, True), ("exited", 255, None, None, True),
            ("exited", None, None, None, False), ("exited", 0, "SIGKILL", None, False),
            ("exited", 0, None, "why", False), ("exited", 256, None, None, False),
            ("oom", None, "SIGKILL", "why", True), ("oom", None, "SIGKILL", None, False),
            ("oom", None, "SIGKILL", "", False), ("signaled", None, "9", "why", False),
            ("signaled", None, "SIGRTMIN+2", "why", True), ("bored", None, None, "why", False)):
        doc["exit"] = {"reason": reason, "code": code, "signal": signal, "explanation": text}
        want(validator.is_valid(doc) == good, f"exit {doc['exit']} should be {'good' if good else 'bad'}")


golden = sorted(glob.glob("tests/unit/golden/result_*.json"))
want(len(golden) >= 4, "no golden files")
for name in golden:
    line = open(name).read()
    want(line.count("\n") == 1 and line.endswith("\n"), f"{name}: not one line")
    doc = json.loads(line)
    for error in validator.iter_errors(doc):
        failures.append(f"{name}: {error.json_path}: {error.message}")
    check_near_misses(name, doc)
check_words()
check_exit_rules(json.load(open(golden[0])))
print(*(failures or ["result schema: ok"]), sep="\n")
sys.exit(bool(failures))

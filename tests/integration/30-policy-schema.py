#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# timeout: 120
"""The parser and policies/schema.json take the same policies: the shipped ones, and thousands made
of good values, bad values and random damage. What a schema can't say is in EXCEPTIONS, and each of
those rules must be seen at work here."""
import copy, glob, ipaddress, json, os, random, re, shutil, subprocess, sys, tempfile

import jsonschema

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WARDER = os.path.join(os.environ.get("WDR_BUILD", TOP + "/build/plain"), "bin/warder")
ROUNDS = 2500
SCHEMA = json.load(open(TOP + "/policies/schema.json"))
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)

# Values of each key: good ones, then bad ones. A dot leads into an object.
KEYS = {
    "version": ([1], [0, 2, "1", True, None, 1.5]),
    "name": (["a", "A-1.b_c", "x" * 63], ["", "-a", "a b", "a\n", "x" * 64, "\u00e9", 1]),
    "backend": (["auto", "runsc", "native"], ["", "Auto", "docker", 1, None]),
    "user.uid": ([0, 1000, 4294967294], [-1, 4294967295, "0", 1.5, 2**63 - 1]),
    "user.gid": ([0, 65534], [True, None]),
    "workdir": (["/", "/a/b", "/a b", "/.a", "/...", "/\u00e9", "/" + "x" * 999],
                ["", "a", "/a/", "//a", "/a//b", "/a/.", "/./a", "/..", "/a/../b", "/a\n",
                 "/a\x7f", "/" + "x" * 1000, 1]),
    "env": ([{}, {"A": "b"}, {"_a1": "\n\u20ac"}, {"A" * 255: "x" * 32000}],
            [{"": ""}, {"1a": ""}, {"a=b": ""}, {"a\n": ""}, {"A" * 256: ""}, {"A": 1},
             {"A": "x" * 32001}, [], {f"v{i}": "" for i in range(257)}]),
    "limits.wall": (["60s", "500ms", "1.5s", "5m", "1h", "0.001h", 1, 0.001, 2.5, "unlimited",
                     "7", "007s", "999999999s", 999999999],
                    [0, "0", "0s", "00.000h", 0.0005, -1, "-1s", "1.5ms", "1.2345s", "1d", "",
                     "s", "60S", "60s\n", " 60s", "1e3", "1000000000s", 1e9, "100000h", True]),
    "limits.cpu": (["30s", "unlimited"], ["Unlimited", None, []]),
    "limits.cpus": ([0.01, 0.5, 1, 8192, "unlimited"],
                    [0, 0.005, 8193, -1, "0.5", "half", None, 1e300]),
    "limits.memory": (["1", "4K", "512M", "2G", "999T", 1, 4096, 999999999999999, "unlimited"],
                      [0, "0", "0M", "000", -1, "512m", "512MB", "1.5G", "1000T", "", "M",
                       10**15, 1.5, "512M\n", "1 M"]),
    "limits.swap": ([0, "0", "0M", "64M", "unlimited"], [-1, "", "x", 0.5]),
    "limits.pids": ([1, 4194304, "unlimited"], [0, -1, 4194305, "100", 1.5, True]),
    "limits.files": ([1, 1073741816, "unlimited"], [0, 1073741817, ""]),
    "limits.file_size": (["64M", "unlimited"], [0, "64k"]),
    "limits.disk": (["256M", "unlimited"], ["0K", {}]),
    "limits.stdout": (["10M", 1], [0, "0", "unlimited", -1]),
    "limits.stderr": (["1T"], ["unlimited"]),
    "limits.on_output": (["kill", "truncate"], ["drop", ""]),
    "filesystem.root": (["host", ".", "..", "./r", "../r", "/", "/r/../x"],
                        ["", "hots", "r", ".r", "..r", "/a\n", "~/r", 1, "./" + "x" * 4094]),
    "filesystem.readonly": ([True, False], [0, "true", None]),
    "filesystem.tmpfs": ([[], ["/tmp"], ["/a", "/b/c"], ["/dev/shm"]],
                         [["/"], ["/dev"], ["/proc"], ["/proc/x"], ["/sys/fs"], ["/a", "/a"],
                          ["a"], [1], "/tmp", [f"/{i}" for i in range(17)]]),
    "filesystem.mounts": ([[], [{"source": "a", "target": "/a"}],
                           [{"source": "..", "target": "/a", "readonly": False},
                            {"source": "/b b", "target": "/procs"}]],
                          [[{}], [{"source": "a"}], [{"target": "/a"}],
                           [{"source": "", "target": "/a"}], [{"source": "a", "target": "a"}],
                           [{"source": "a", "target": "/a", "readonly": 1}],
                           [{"source": "a\n", "target": "/a"}],
                           [{"source": "a", "target": "/a", "x": 1}],
                           [{"source": "x" * 4096, "target": "/a"}], {}, [[]],
                           [{"source": "a", "target": f"/{i}"} for i in range(65)]]),
    "privileges.capabilities": ([[], ["CAP_NET_RAW", "CAP_BPF"]],
                                [["NET_RAW"], ["CAP_KILL", "CAP_KILL"], ["cap_kill"], [1]]),
    "privileges.no_new_privs": ([True], [False, 1, None]),
    "syscalls.profile": (["default", "strict"], ["none"]),
    "syscalls.allow": ([[], ["read", "_sysctl", "clone3"]], [["Read"], ["re-ad"], ["1a"], [""],
                                                              ["a", "a"], ["x" * 64], "read",
                                                              [f"c{i}" for i in range(513)]]),
    "syscalls.deny": ([["chroot"]], [["chroot\n"], [None]]),
    "syscalls.on_deny": (["errno", "kill"], ["log"]),
    "syscalls.count": ([True, False], ["yes"]),
    "network.mode": (["none", "egress", "host"], ["all", "", 1]),
    "network.default": (["deny", "allow"], ["reject"]),
    "network.private": (["deny", "allow"], [True]),
    "network.dns": ([[], ["192.0.2.53", "2001:db8::53", "::ffff:192.0.2.1"]],
                    [["192.0.2.0/24"], ["dns.example"], ["192.0.2.1", "192.0.2.1"], ["1.2.3"],
                     ["::1%lo"], ["01.2.3.4"], [f"192.0.2.{i}" for i in range(9)], "192.0.2.1"]),
    "network.on_deny": (["reject", "drop", "kill"], ["deny"]),
    "detect.cpu.action": (["off", "alert", "throttle", "kill"], ["on"]),
    "detect.cpu.above": ([0.95, 1, 1e-9], [0, 1.01, -1, "0.5"]),
    "detect.cpu.for": (["20s", 1], [0, "unlimited"]),
    "detect.mining.action": (["kill"], [False]),
    "detect.mining.threshold": ([0.8], [0, 2]),
    "audit.events": ([[], ["exec"], ["exec", "egress", "file"]], [["all"], ["exec", "exec"]]),
    "on_supervisor_loss": (["kill", "contain"], ["ignore"]),
}
RULE = {
    "action": (["allow", "deny"], ["accept", "", None]),
    "to": (["10.0.0.0/8", "192.0.2.1", "0.0.0.0/0", "::/0", "2001:db8::/32", "::ffff:10.0.0.0/104",
            "1:2:3:4:5:6:7::", "::2:3:4:5:6:7:8", "64:ff9b::192.0.2.1", "1:2:3:4:5:6:1.2.3.4"],
           ["10.0.0.1/8", "2001:db8::1/32", "10.0.0.0/33", "::/129", "10.0.0.0/08", "10.0.0/8",
            "010.0.0.0/8", "example.org", "", "10.0.0.0/", "[::1]", "::1::", "1:2:3:4:5:6:7::8:9",
            "1:2:3:4:5:6:7:8::", "12345::", "::1.2.3.256", "1.2.3.4:80", "10.0.0.0/8\n", "*", 1]),
    "ports": ([["443"], [80, "8000-8100"], ["1-65535"], ["7-7"]],
              [[], ["0"], [0], ["65536"], [65536], ["080"], ["80-"], ["-80"], ["90-80"],
               ["65535-1"], ["http"], "443", [["80"]], [1.5], ["80\n"], ["1"] * 65]),
    "proto": (["tcp", "udp", "icmp", 6, 17, 132, 255, 2],
              ["sctp", "TCP", "132", 0, 1, 58, 256, -1, None]),
    "name": (["r1"], ["", "a b", "\""]),
}


def integral_float(doc):
    """JSON Schema has one type of number: to it, 100.0 is an integer."""
    if isinstance(doc, (dict, list)):
        return any(map(integral_float, doc.values() if isinstance(doc, dict) else doc))
    return isinstance(doc, float) and doc.is_integer()


def rules_of(doc):
    return [r for r in doc.get("network", {}).get("rules", []) if isinstance(r, dict)]


def host_bits(doc):
    """Which bits of an address may be set depends on the number behind the slash."""
    for rule in rules_of(doc):
        try:
            ipaddress.ip_network(rule.get("to", "::/0"), strict=True)
        except ValueError:
            return True
    return False


def reversed_range(doc):
    """A pattern can't compare two numbers."""
    pairs = [p.split("-") for r in rules_of(doc) for p in r.get("ports", []) if "-" in str(p)]
    return any(int(low) > int(high) for low, high in pairs)


def shared_target(doc):
    """uniqueItems compares whole objects, not one of their keys."""
    targets = [m["target"] for m in doc.get("filesystem", {}).get("mounts", [])]
    return len(set(targets)) < len(targets)


def missing_list(doc):
    """Whether a file is there."""
    return any(r.get("list", "good.txt") != "good.txt" for r in rules_of(doc))


EXCEPTIONS = [integral_float, host_bits, reversed_range, shared_target, missing_list]
seen = set()
failures = []
folder = tempfile.mkdtemp(prefix="wdr-30-policy-schema.")
path = folder + "/p.json"
with open(folder + "/good.txt", "w") as f:
    f.write("192.0.2.0/24\n")


def warder(*args, **more):
    return subprocess.run([WARDER, "policy", *args], capture_output=True, text=True, **more)


def compare(doc, what):
    with open(path, "w") as f:
        json.dump(doc, f)
    got = warder("check", path)
    schema_ok = VALIDATOR.is_valid(doc)
    parser_ok = got.returncode == 0
    if got.returncode not in (0, 1) or (parser_ok and got.stderr) or \
            (not parser_ok and not got.stderr.startswith(f"warder: {folder}")):
        failures.append(f"{what}: status {got.returncode}: {got.stderr}")
    if schema_ok == parser_ok:
        return parser_ok
    why = [e for e in EXCEPTIONS if schema_ok and e(doc)]
    seen.update(why)
    if not why:
        errors = "; ".join(e.message[:200] for e in VALIDATOR.iter_errors(doc))
        failures.append(f"{what}: schema: {errors or 'good'}; parser: {got.stderr or 'good'}"
                        f"\n  {json.dumps(doc)[:600]}")
    return parser_ok


def put(doc, key, value):
    *way, last = key.split(".")
    for word in way:
        doc = doc.setdefault(word, {})
    doc[last] = value


def good_rule():
    rule = {"action": random.choice(RULE["action"][0])}
    if random.random() < 0.2:
        rule["list"] = "good.txt"
    else:
        rule["to"] = random.choice(RULE["to"][0])
    for key in ("ports", "proto", "name"):
        if random.random() < 0.4:
            rule[key] = random.choice(RULE[key][0])
    return rule


def good_doc():
    doc = {"version": 1}
    for key, (good, _) in KEYS.items():
        if random.random() < 0.25:
            put(doc, key, copy.deepcopy(random.choice(good)))
    if random.random() < 0.5:
        put(doc, "network.rules", [good_rule() for _ in range(random.randrange(4))])
    return doc


def places(node, found):
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], (dict, list)):
            places(node[key], found)
    return found


def damage(doc):
    """One random change somewhere."""
    node, key = random.choice(places(doc, []))
    kind = random.randrange(6)
    if kind == 0:
        del node[key]
    elif kind == 1 and isinstance(node, dict):
        node[random.choice([key + "x", key[1:], "memory", "", "a/b~"])] = node[key]
    elif kind == 2 and isinstance(node[key], str):
        at = random.randrange(len(node[key]) + 1)
        node[key] = node[key][:at] + random.choice("0/.:-\n\x00 a\u00e9") + node[key][at:]
    elif kind == 3 and isinstance(node[key], str) and node[key]:
        at = random.randrange(len(node[key]))
        node[key] = node[key][:at] + node[key][at + 1:]
    elif kind == 4 and isinstance(node[key], (int, float)):
        node[key] = random.choice([-node[key], node[key] + 1, node[key] * 1.0, node[key] * 10])
    else:
        node[key] = random.choice([None, True, 0, -1, 1.0, 2.5, "", "x", [], {}, [1], {"a": 1}])
    return doc


def tap(number, what, before):
    bad = failures[before:]
    print(f"{'not ' if bad else ''}ok {number} - {what}")
    for text in bad[:5]:
        print("# " + text.replace("\n", "\n# "))


def every_value():
    for key, (good, bad) in KEYS.items():
        for value in good + bad:
            doc = {"version": 1}
            put(doc, key, value)
            if compare(doc, key) != any(value is v for v in good):
                failures.append(f"{key}: {value!r} is in the wrong list")
    for key, (good, bad) in RULE.items():
        for value in good + bad:
            rule = {"action": "allow", "to": "::/0", key: value}
            compare({"version": 1, "network": {"mode": "egress", "rules": [rule]}}, "rule." + key)


def pairs_of_keys():
    for proto in [None, *RULE["proto"][0]]:
        for ports in (None, ["80"]):
            for to in ({"to": "::/0"}, {"list": "good.txt"}, {}, {"to": "::/0", "list": "good.txt"},
                       {"list": "../good.txt"}, {"list": "other.txt"}):
                rule = {"action": "deny", **to, **({"proto": proto} if proto else {}),
                        **({"ports": ports} if ports else {})}
                compare({"version": 1, "network": {"mode": "host", "rules": [rule]}}, "rule")
    for mode in ("none", "egress", "host", None):
        for rules in ([], [good_rule()]):
            compare({"version": 1, "network": {**({"mode": mode} if mode else {}), "rules": rules}},
                    "mode")
    mount = {"source": "a", "target": "/a"}
    compare({"version": 1, "filesystem": {"mounts": [mount, {**mount, "source": "b"}]}}, "mounts")
    for doc in ({}, [], {"version": 1, "x": 1}, {"version": 1, "": 1}, {"version": 1.0}):
        compare(doc, "document")


def random_damage():
    taken = 0
    for _ in range(ROUNDS):
        doc = good_doc()
        if random.random() < 0.8:
            damage(doc)
        taken += compare(doc, "random")
    if not ROUNDS * 0.2 < taken < ROUNDS * 0.8:
        failures.append(f"{taken} of {ROUNDS} were taken: the damage is too mild or too hard")


def normal_forms():
    for _ in range(150):
        with open(path, "w") as f:
            json.dump(good_doc(), f)
        once = warder("show", path)
        if once.returncode:  # rules without a network
            continue
        again = warder("show", "/dev/stdin", input=once.stdout, cwd=folder)
        if again.stdout != once.stdout:
            failures.append(f"not its own normal form: {once.stdout}{again.stdout}{again.stderr}")
        for error in VALIDATOR.iter_errors(json.loads(once.stdout)):
            failures.append(f"a normal form that the schema refuses: {error.message}")


def defaults(schema, doc):
    """Fill @doc with every default that @schema names."""
    for key, part in schema.get("properties", {}).items():
        if part.get("type") == "object" and "properties" in part:
            defaults(part, doc.setdefault(key, {}))
        elif "default" in part:
            doc[key] = part["default"]
    return doc


def written_defaults():
    shown = []
    for doc in ({"version": 1}, defaults(SCHEMA, {"version": 1})):
        with open(path, "w") as f:
            json.dump(doc, f)
        shown.append(warder("show", path))
    if shown[0].stdout != shown[1].stdout or shown[1].returncode:
        failures.append(f"{shown[0].stdout}\n{shown[1].stdout}{shown[1].stderr}")
    missing = [k for k in KEYS if k != "version" and k != "name"
               and not in_doc(defaults(SCHEMA, {}), k)]
    if missing:
        failures.append(f"no default in the schema: {missing}")


def in_doc(doc, key):
    for word in key.split("."):
        if word not in doc:
            return False
        doc = doc[word]
    return True


def shipped():
    names = [n for n in glob.glob(TOP + "/policies/*.json") if not n.endswith("/schema.json")]
    if len(names) < 6:
        failures.append(f"only {names}")
    for name in names:
        shutil.copy(name, path)
        doc = json.load(open(name))
        if not compare(doc, name) or doc["name"] + ".json" != os.path.basename(name):
            failures.append(f"{name} is no good policy of its own name")


def exceptions_are_needed():
    for e in EXCEPTIONS:
        if e not in seen:
            failures.append(f"{e.__name__}: never seen: drop it")


def documents():
    page = open(TOP + "/docs/man/warder-policy.5").read()
    for key in [*KEYS, *("rule." + k for k in RULE), "rule.list"]:
        word = key.split(".")[-1]
        if not re.search(rf"^\.(?:It )?Cm (?:.* )?{word}(?: |$)", page, re.M):
            failures.append(f"warder-policy(5) does not know {key}")
    table = open(TOP + "/policies/README.md").read()
    for name in glob.glob(TOP + "/policies/*.json"):
        if f"({os.path.basename(name)})" not in table:
            failures.append(f"policies/README.md does not know {name}")


CASES = [
    ("the schema is one", lambda: jsonschema.Draft202012Validator.check_schema(SCHEMA)),
    ("the shipped policies are good", shipped),
    ("each value of each key", every_value),
    ("keys that go together or not", pairs_of_keys),
    ("random policies with random damage", random_damage),
    ("every normal form is its own, and fits the schema", normal_forms),
    ("the schema's defaults are the parser's", written_defaults),
    ("man page and README know every key and policy", documents),
    ("what the schema can't say has been seen", exceptions_are_needed),
]
random.seed(5)
try:
    for i, (name, case) in enumerate(CASES, 1):
        start = len(failures)
        case()
        tap(i, name, start)
    print(f"1..{len(CASES)}")
finally:
    shutil.rmtree(folder)
sys.exit(bool(failures))

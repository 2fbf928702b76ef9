# SPDX-License-Identifier: Apache-2.0
"""What a result says of network and system calls."""
import json
import sys

r = json.load(open(sys.argv[1]))
print(json.dumps({"backend": r["backend"], "egress": r["usage"]["egress"]}))
for d in r["denials"]:
    print(json.dumps({k: d[k] for k in ("to", "count", "reason", "rule", "rule_name")}))
calls = r["usage"]["syscalls"]
if calls:
    most = dict(sorted(calls["by_name"].items(), key=lambda x: -x[1])[:5])
    print(json.dumps({"syscalls": calls["total"], "origin": calls["origin"], "most": most}))

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gVisor's Python package starts warder-runsc for runsc: its sandboxes get the default policy.
# timeout: 120
# shellcheck disable=SC2016 # what the guest's own shell expands
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
need jq busybox python3
RUNSC=$TOP/build/runsc/new/runsc
[ -x "$RUNSC" ] || skip_all "needs $RUNSC (packaging/runsc.sh)"
[ -d "$TOP/build/engines/python/gvisor" ] || skip_all "needs build/engines/python (packaging/engines.sh python)"
# shellcheck source=tests/lib/engine_lab.sh
. "$(dirname "$0")/../lib/engine_lab.sh"
begin engine_lab_down
engine_lab_up
export RUNSC_PATH="$WDR_BUILD/bin/warder-runsc" WARDER_RUNSC="$RUNSC"
policy lab '"network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}'
policy burn '"limits": {"cpu": "2s"}'

user() { run timeout 60 env PYTHONPATH="$TOP/build/engines/python" /usr/bin/python3 "$TOP/tests/engines/user_gvisor.py" "$@"; }

user none 'echo $WHO; pwd; uname -v'
like "without a policy it runs in gVisor" "$OUT$ERR" '^guest'
ASK='for p in 8000 9000; do o=$(busybox timeout 2 busybox nc 203.0.113.2 $p </dev/null); echo ${o:-refused}; done'
user host "$ASK"
is "and reaches both servers" "$(echo "$OUT" | tr '\n' ' ')$ERR" "203.0.113.1 203.0.113.1 "
settings '"default": "lab"'
user host "$ASK"
is "with a default policy, what that allows and no more" "$(echo "$OUT" | tr '\n' ' ')$ERR" "203.0.113.1 refused "
is "the report says so" "$(reported '[.policy, .end, .verdict, .denials[0].to]')" '["lab","deleted",null,"203.0.113.2:9000/tcp"]'
is "nothing is left" "$(remains)" ""
settings '"default": "burn"'
user none 'busybox timeout 10 /bin/sh -c "while :; do :; done"; echo survived'
like "a CPU budget ends the sandbox, and its user hears of it" "$OUT" '^Error: exec failed'
is "the report says why" "$(reported '[.policy, .end, .verdict.reason]')" '["burn","deleted","cpu-budget"]'
is "nothing is left of it" "$(remains)" ""
settings '"default": "none-such"'
user none 'echo ran'
like "a policy that is not there starts nothing, and says why" "$ERR$OUT" 'no policy "none-such"'
unlike "and nothing ran" "$OUT" ran
is "nor is anything left" "$(remains)" ""
end

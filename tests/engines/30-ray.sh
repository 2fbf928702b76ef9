#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Ray's sandboxes start the runsc of PATH, which is warder-runsc. Ray's own code runs it, but for how it
# gets images: a folder is the image here, where Ray would ask a registry.
# timeout: 90
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=tests/lib/engine_lab.sh
. "$(dirname "$0")/../lib/engine_lab.sh"
need jq busybox python3
RAY=$TOP/build/engines/ray
[ -d "$RAY/ray/experimental/sandbox" ] || skip_all "needs $RAY (packaging/engines.sh ray)"
RUNSC=$TOP/build/runsc/new/runsc
[ -x "$RUNSC" ] || skip_all "needs $RUNSC (packaging/runsc.sh)"
# Ray has one for each Python: that which brought it.
PYTHON=$(command -v python3)
PYTHONPATH=$RAY "$PYTHON" -c 'import ray.experimental.sandbox.backend.gvisor' 2>"$TMPDIR/import" ||
	skip_all "$PYTHON can't import $RAY: $(tail -n 1 "$TMPDIR/import")"
undo() {
	umount /tmp/runsc
	umount /tmp/ray
	engine_lab_down
}
begin undo
mkdir -p /tmp/runsc /tmp/ray "$TMPDIR/bin" "$TMPDIR/image/bin" "$TMPDIR/image/proc"
mount -t tmpfs none /tmp/runsc
mount -t tmpfs none /tmp/ray
engine_lab_up
policy lab '"network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}'
policy burn '"limits": {"cpu": "2s"}'
use() { settings "\"runsc\": \"$RUNSC\"${1:+, \"default\": \"$1\"}"; }
ln -s "$WDR_BUILD/bin/warder-runsc" "$TMPDIR/bin/runsc"
PATH=$TMPDIR/bin:$PATH
cp /bin/busybox "$TMPDIR/image/bin/busybox"
for p in sh bash sleep nc timeout echo cat dirname mkdir id; do ln -s busybox "$TMPDIR/image/bin/$p"; done

user() { run env PYTHONPATH="$RAY" timeout 60 "$PYTHON" "$TOP/tests/engines/user_ray.py" "$TMPDIR/image" "$@"; }

# shellcheck disable=SC2016 # what the guest's own shell expands
ASK='for p in 8000 9000; do o=$(timeout 2 nc 203.0.113.2 $p </dev/null); echo ${o:-refused}; done'
use ""
user none 'echo out; exit 3'
is "without a policy: exec, user, folder, status" "$(echo "$OUT" | tr '\n' '/')" "7 SandboxStatus.RUNNING/out/exit 3/"
user host "$ASK"
is "and both servers" "$(echo "$OUT" | tr '\n' '/')" "203.0.113.1/203.0.113.1/exit 0/"
use lab
user host "$ASK"
is "with a default policy, what it allows and no more" "$(echo "$OUT" | tr '\n' '/')" "203.0.113.1/refused/exit 0/"
is "the report says so" "$(reported '[.policy, .end, .denials[0].to]')" '["lab","ended","203.0.113.2:9000/tcp"]'
is "nothing is left" "$(remains)$(ls /tmp/runsc)" ""
use burn
user none 'timeout 10 sh -c "while :; do :; done"; echo survived'
unlike "a CPU budget ends the sandbox" "$OUT" survived
is "the report says why" "$(reported '[.policy, .verdict.reason]')$(remains)" '["burn","cpu-budget"]'
use none-such
user none 'echo ran'
like "a policy that is not there starts nothing, and Ray says why" "$OUT$ERR" 'SandboxCreationError.*no policy "none-such"'
is "nothing is left of that" "$(remains)" ""
end

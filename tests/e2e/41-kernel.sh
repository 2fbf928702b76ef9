#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# CPU and system calls, by the kernel: it counts, and it kills when the supervisor can't.
# timeout: 120
# shellcheck disable=SC2016 # what the job's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq
begin
SPIN='while :; do :; done'
r() { jq -rc "$1" "$TMPDIR/r.json"; }
job() { run warder run --result "$TMPDIR/r.json" "$@"; }

job --cpus 1 --cpu-time 300ms -- sh -c "$SPIN"
is "the CPU budget" "$RC/$(r .exit.reason)" 137/cpu-budget
USED=$(r '.usage.cpu_ns / 1e6 | floor')
is "is overshot by 10 ms of each core at most" "$([ "$USED" -ge 300 ] && [ "$USED" -le 320 ] && echo yes || echo "$USED ms")" yes
warder run --cpus 1 --cpu-time 500ms --result "$TMPDIR/r.json" -- sh -c "echo go; $SPIN" >"$TMPDIR/out" 2>/dev/null &
PID=$!
wait_for 5 grep -q go "$TMPDIR/out"
kill -STOP $PID
none_left() { ! pgrep -r S,R,D,T -P "$PID"; }
ok "the kernel kills while the supervisor is stopped" wait_for 30 none_left
kill -CONT $PID
RC=0
wait $PID || RC=$?
is "and the reason is known afterwards" "$RC/$(r .exit.reason)" 137/cpu-budget
USED=$(r '.usage.cpu_ns / 1e6 | floor')
is "with the same overshoot" "$([ "$USED" -ge 500 ] && [ "$USED" -le 530 ] && echo yes || echo "$USED ms")" yes

policy() { jq -n "{version: 1, limits: {cpus: 0.4}, detect: {cpu: {action: \"$1\", above: 0.25, for: \"1s\"}}}" >"$TMPDIR/p.json"; }
policy kill
job -p "$TMPDIR/p.json" -t 10 -- sh -c "$SPIN"
is "detect.cpu kills" "$RC/$(r '.findings[0] | [.detector, .action] | join(" ")')" "137/cpu kill"
policy alert
job -p "$TMPDIR/p.json" -t 3 -- sh -c "$SPIN"
is "or tells" "$RC/$(r '.findings[0] | [.detector, .action] | join(" ")')" "124/cpu alert"
policy throttle
job -p "$TMPDIR/p.json" -t 4 -- sh -c "$SPIN"
is "or throttles" "$RC/$(r '.findings[0].action')" "124/throttle"
USED=$(r '.usage.cpu_ns / 1e6 | floor')
is "to less than its quota" "$([ "$USED" -lt 1300 ] && echo yes || echo "$USED ms")" yes
policy kill
job -p "$TMPDIR/p.json" -t 2 -- sleep 1
is "an idle job is left alone" "$RC/$(r '.findings | length')" 0/0

job --syscalls -- python3 -c 'import os
for i in range(1000): os.getppid()'
is "system calls are counted exactly" "$(r '.usage.syscalls | [.origin, .by_name.getppid, .lost] | join(" ")')" "host 1000 0"
is "and only the job's own" "$(r '.usage.syscalls.by_name | [.pivot_root, .move_mount, .setresuid] | map(. // 0) | add')" 0
job --syscalls -- python3 -c 'import ctypes
libc = ctypes.CDLL(None, use_errno=True)
for i in range(7): libc.ptrace(0, 0, 0, 0)'
is "refused ones, too" "$(r '.usage.syscalls.denied.ptrace')" 7
job -- true
is "without --syscalls there are none" "$(r .usage.syscalls)" null
jq -n '{version: 1, syscalls: {on_deny: "kill", count: true}}' >"$TMPDIR/p.json"
job -p "$TMPDIR/p.json" -- python3 -c 'import ctypes
ctypes.CDLL(None).ptrace(0, 0, 0, 0)'
is "on_deny kill ends the job" "$RC/$(r .exit.reason)" 137/syscall
like "and names the call" "$(r .exit.explanation)" ptrace
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every limit holds, is told apart from the others, and would not hold if it were not set.
# timeout: 180
# shellcheck disable=SC2016 # what the job's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq busybox
begin
flat() { printf %s "$OUT" | tr -s '\n\t ' ' '; } # on one line

policy() { # KEY VALUE [KEY VALUE]: a policy file with these limits
	jq -n '{version: 1, limits: ($ARGS.positional | [range(0; length; 2) as $i | {key: .[$i], value: (.[$i + 1] | fromjson)}] | from_entries)}' \
		--args "$@" >"$TMPDIR/p.json"
}

# reason ARGS...: run with --json, leave the result in last.json, print "reason status"
reason() {
	run warder run --json "$@"
	printf %s "$OUT" >"$TMPDIR/last.json"
	printf '%s %s' "$(jq -r .exit.reason "$TMPDIR/last.json")" "$RC"
}

last() { # FILTER over the last result
	jq -r "$1" "$TMPDIR/last.json" | tr '\n' ' '
}

is "wall clock" "$(reason -t 300ms -- sleep 20)" "timeout 124"
is "wall clock, with what it leaves behind" "$(reason -t 300ms -- sh -c 'trap "" TERM HUP; setsid sleep 20 & sleep 20')" "timeout 124"
is "no wall clock" "$(reason -t unlimited -- true)" "exited 0"
is "CPU time" "$(reason --cpus 1 --cpu-time 300ms -- sh -c 'while :; do :; done')" "cpu-budget 137"
# The middle one of three: of a virtual machine's CPU that stood still for a while nobody can take the time back.
USED=$(for _ in 1 2 3; do
	reason --cpus 1 --cpu-time 300ms -- sh -c 'while :; do :; done' >/dev/null
	last '.usage.cpu_ns / 1e6 | floor'
	echo
done | sort -n | sed -n 2p | tr -d ' ')
is "CPU time is overshot by less than 20 ms on two cores" "$([ "$USED" -ge 300 ] && [ "$USED" -le 320 ] && echo yes || echo "$USED")" yes
is "CPU time of many processes" "$(reason --cpus unlimited --cpu-time 300ms -- sh -c 'for i in 1 2 3 4; do while :; do :; done & done; wait')" "cpu-budget 137"
is "CPU time that is not used up" "$(reason --cpu-time 10s -- true)" "exited 0"

EAT='import sys; x = bytearray(int(sys.argv[1]) << 20); print(len(x))'
is "memory" "$(reason -m 64M -- python3 -c "$EAT" 128)" "oom 137"
is "memory that is enough" "$(reason -m 256M -- python3 -c "$EAT" 128)" "exited 0"
is "memory of a child ends the whole job" "$(reason -m 64M -- sh -c "python3 -c '$EAT' 128; sleep 5; echo alive")" "oom 137"
is "a job that kills itself with 9 is no OOM" "$(reason -m 64M -- sh -c 'kill -9 $$')" "signaled 137"
is "memory of tmpfs counts" "$(reason -m 64M --disk unlimited -- sh -c 'head -c 128M /dev/zero >/dev/shm/x')" "oom 137"
is "shared memory counts" "$(reason -m 64M -- python3 -c 'import mmap; m=mmap.mmap(-1,128<<20); [m.__setitem__(i,1) for i in range(0,128<<20,4096)]')" "oom 137"

is "processes" "$(warder run --pids 10 -- python3 -c 'import os
n=0
try:
  while True:
    if os.fork()==0: __import__("time").sleep(20)
    n+=1
except OSError: print(n)')" 9
reason --pids 20 -- sh -c 'for i in 1 2 3 4 5; do sleep 0.1 & done; wait' >/dev/null
WANT=6
native || WANT=null # what the host counts is not the guest's
is "their peak leaves out ours" "$(last .usage.pids_peak)" "$WANT "
is "a fork bomb is contained" "$(reason -t 1s --pids 50 -- bash -c ':(){ :|:& };:; sleep 20')" "timeout 124"

is "open files" "$(policy files 32 && warder run -p "$TMPDIR/p.json" -- python3 -c 'import os
f=[]
try:
  while True: f.append(os.open("/dev/null",0))
except OSError: print(len(f)+3)')" 32
policy file_size '"1M"'
is "file size" "$(warder run -p "$TMPDIR/p.json" -- sh -c 'head -c 2M /dev/zero >/tmp/x; busybox stat -c %s /tmp/x' 2>/dev/null)" 1048576
is "disk" "$(warder run --disk 1M -- sh -c 'head -c 2M /dev/zero >/tmp/x 2>/dev/null; busybox stat -c %s /tmp/x' | awk '{print ($1 >= 1000000 && $1 < 1200000) ? "yes" : $1}')" yes
is "disk is one total" "$(warder run --disk 1M -- sh -c 'for d in /tmp /dev/shm ~; do head -c 600K /dev/zero >$d/x 2>/dev/null; done; cat /tmp/x /dev/shm/x ~/x | wc -c' | awk '{print ($1 >= 1000000 && $1 < 1200000) ? "yes" : $1}')" yes
# gVisor keeps names in its own memory, which is limited as such.
native && is "disk limits how many files there are" "$(warder run --disk 1M -- python3 -c 'import os
n=0
try:
  while n<200000: os.symlink("x","/tmp/%d"%n); n+=1
except OSError: print("full", n<200000)')" "full True"

FLOOD='head -c 3000 /dev/zero | tr "\0" x'
is "stdout" "$(reason --output 1000 -- sh -c "$FLOOD; sleep 5")" "output-limit 137"
is "and says which" "$(last '.exit.explanation, .stdout_truncated, .stderr_truncated, (.stdout | length)')" "more than 1000 of output on stdout true false 1000 "
is "stderr" "$(reason --output 1000 -- sh -c "($FLOOD) >&2; sleep 5")" "output-limit 137"
is "exactly the limit is allowed" "$(reason --output 3000 -- sh -c "$FLOOD")" "exited 0"
policy stdout '1000' on_output '"truncate"'
is "truncating" "$(reason -p "$TMPDIR/p.json" -- sh -c "$FLOOD")" "exited 0"
is "and counting all of it" "$(last '.stdout_bytes, .stdout_truncated, (.stdout | length)')" "3000 true 1000 "
is "a streamed flood is cut at the limit" "$(warder run -q --output 1M -- yes | wc -c)" 1048576

# Per cent of a CPU in a second by the clock. The guest's own CPU clock says nothing: the sentry's goes on where the kernel holds it.
share() { warder run --json "$@" -- python3 -c 'import time
e = time.monotonic() + 1
while time.monotonic() < e: pass' | jq '.usage | 100 * .cpu_ns / .wall_ns | floor'; }
QUARTER=$(share --cpus 0.25)
ok "a quarter of a CPU is a quarter, not $QUARTER %" test "$QUARTER" -ge 5 -a "$QUARTER" -le 45
WHOLE=$(share)
ok "and without a limit it would be $WHOLE %" test "$WHOLE" -gt "$QUARTER"
run warder run -- sh -c 'cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null'
is "a job can read its own limit" "$OUT" 536870912
run warder run -- sh -c 'ulimit -c; ulimit -n; ulimit -r'
is "no core files, no real-time priority" "$(flat)" "0 1024 0"
end

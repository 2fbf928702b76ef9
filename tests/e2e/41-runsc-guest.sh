#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is said of a guest's system calls is the guest's own, by name, with what was lost.
# timeout: 180
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq
[ -x "$TOP/build/runsc/new/runsc" ] || [ -x "$TOP/build/runsc/old/runsc" ] || skip_all "needs build/runsc (packaging/runsc.sh)"
begin

CALLS='import os
for i in range(5000): os.getppid()
for i in range(300): os.stat("/etc/passwd")'
q() { printf %s "$JSON" | jq -r "$1"; }

for age in new latest old; do
	export WARDER_RUNSC="$TOP/build/runsc/$age/runsc"
	[ -x "$WARDER_RUNSC" ] || continue
	run warder run -b runsc --json --syscalls -- python3 -c "$CALLS"
	JSON=$OUT
	is "$age: a job that is counted ends as any other" "$(q '.exit.reason, .exit.code' | tr '\n' ' ')" "exited 0 "
	is "$age: the counts are the guest's" "$(q '.usage.syscalls.origin, .protections.syscall_count' | tr '\n' ' ')" "guest on "
	SEEN=$(q '.usage.syscalls.by_name.getppid')
	LOST=$(q '.usage.syscalls.lost')
	ok "$age: every call is there or lost ($SEEN and $LOST of 5000)" test "$SEEN" -le 5000 -a $((SEEN + LOST)) -ge 5000
	ok "$age: and few are lost" test "$LOST" -lt 500
	is "$age: of each kind" "$(q '.usage.syscalls.by_name | (.newfstatat + .stat + .statx >= 250), (.execve == 1 or .execve == null), (.openat > 5)' | tr '\n' ' ')" "true true true "
	is "$age: the total is their sum" "$(q '.usage.syscalls | .total == ([.by_name[]] | add)')" true
	run warder run -b runsc --json -- true
	JSON=$OUT
	is "$age: who does not ask is told nothing" "$(q '.usage.syscalls, .protections.syscall_count' | tr '\n' ' ')" "null off "

	STORY='true; (exit 3); /bin/echo hi >/dev/null; sh -c "kill -9 \$\$"; python3 -c "
import socket
for a in (\"203.0.113.9\", \"203.0.113.10\"):
    try: socket.create_connection((a, 80), timeout=5)
    except OSError as e: print(e.errno)
"; exit 0'
	e() { jq -rc "select(.event == \"$1\") | $2" "$TMPDIR/events" | sort | tr '\n' ' '; }
	rm -f "$TMPDIR/events"
	run warder run -b runsc --allow 198.51.100.1:80 --events "$TMPDIR/events" -- bash -c "$STORY"
	is "$age: a denied connection is refused at once" "$(echo "$OUT" | tr '\n' ' ')" "111 111 "
	is "$age: each execution is told, with its arguments" "$(e exec '.path, .args' | grep -o 'echo hi')" "echo hi"
	like "$age: and each end" "$(e exit '[.comm, .code, .signal]')" '"echo",0,null.*"sh",null,"SIGKILL"'
	is "$age: a denial names the process inside the sandbox" "$(e denied '[.origin, .comm, .to]')" \
		'["guest","python3","203.0.113.10:80/tcp"] ["guest","python3","203.0.113.9:80/tcp"] '
	is "$age: which is the one that connected" "$(e denied .pid)" "$(e connect .pid)"
	is "$age: nothing is told as the kernel's that is the sandbox's" \
		"$(jq -rc 'select(.origin == null and (.event | IN("exec", "fork", "exit")))' "$TMPDIR/events")" ""
	is "$age: what was lost is said" "$(e ended '.lost_in_sandbox')" "0 "
done
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Who asked for a job can end it, whatever it makes of that, and a slow or absent reader harms nobody.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq
begin

# stop SIGNAL PROGRAM: start it, wait for its first line, send SIGNAL; "status reason" and the time.
stop() {
	sig=$1
	shift
	rm -f "$TMPDIR/out" "$TMPDIR/r.json"
	warder run --result "$TMPDIR/r.json" -- "$@" >"$TMPDIR/out" 2>"$TMPDIR/err" </dev/null &
	pid=$!
	wait_for 10 grep -q ready "$TMPDIR/out"
	kill -"$sig" $pid
	RC=0
	wait $pid || RC=$?
	echo "$RC $(jq -r .exit.reason "$TMPDIR/r.json")"
}

# An interactive shell's background jobs ignore INT; a program started here must not.
is "INT" "$(stop INT sh -c 'echo ready; sleep 20')" "130 killed"
is "TERM" "$(stop TERM sh -c 'echo ready; sleep 20')" "143 killed"
is "HUP" "$(stop HUP sh -c 'echo ready; sleep 20')" "129 killed"
stop TERM sh -c 'echo ready; sleep 20' >/dev/null
like "it is said" "$(cat "$TMPDIR/err")" '^warder: j-.* killed: killed: '
is "a program may end by itself" "$(stop TERM sh -c 'trap "echo bye; exit 7" TERM; echo ready; sleep 20 & wait')" "143 killed"
is "and say so" "$(tail -1 "$TMPDIR/out")" bye
is "one that ignores it is killed" "$(stop TERM sh -c 'trap "" TERM INT HUP; echo ready; sleep 20')" "143 killed"
is "with its daemons" "$(stop INT sh -c 'trap "" INT TERM; (setsid sh -c "trap \"\" INT TERM; sleep 20") & echo ready; sleep 20')" "130 killed"
stop USR1 sh -c 'trap "echo usr1; exit 0" USR1; echo ready; sleep 20 & wait' >/dev/null
is "other signals are only passed on" "$(tail -1 "$TMPDIR/out")/$(jq -r .exit.reason "$TMPDIR/r.json")" usr1/exited

warder run -q --output 1G -- yes | head -1 >"$TMPDIR/out"
is "a reader that leaves ends a program that writes" "$(cat "$TMPDIR/out")" y
START=$(date +%s)
warder run -q -t 1s --output 1G -- yes | { sleep 3; cat >/dev/null; }
is "a reader that does not read does not stop the clock" "$([ $(($(date +%s) - START)) -le 6 ] && echo yes)" yes
is "a slow reader gets all of it" "$(warder run -- sh -c 'seq 200000' | { sleep 0.5; cat; } | cksum)" "$(seq 200000 | cksum)"
run warder run -- sh -c '(sleep 20; echo late) & echo early'
is "what is left behind with the pipe delays nothing" "$OUT" early
run warder run -- python3 -c 'import os
os.closerange(0, 64)'
is "a program may close all its descriptors" "$RC" 0
run sh -c 'warder run -- echo x >&-'
is "a caller without stdout" "$RC" 0
run sh -c 'exec <&- >&- 2>&-; warder run -- true'
is "a caller without any" "$RC" 0
PEAK=$(/usr/bin/python3 - <<'P'
import os, resource, subprocess, time
p = subprocess.Popen(["warder", "run", "--output", "1G", "-t", "2", "--", "yes"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
time.sleep(1)
rss = int(next(l for l in open(f"/proc/{p.pid}/status") if l.startswith("VmHWM")).split()[1])
p.kill(); p.wait(); print(rss)
P
)
sanitized || is "a blocked supervisor stays below 8 MB" "$([ "$PEAK" -lt 8192 ] && echo yes || echo "$PEAK KB")" yes
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A running sandbox can be spoken to through its control socket, much faster than by runsc.
# timeout: 180
# shellcheck disable=SC2016 # what the job's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq pgrep nsenter
[ -x "$TOP/build/runsc/new/runsc" ] || [ -x "$TOP/build/runsc/old/runsc" ] || skip_all "needs build/runsc (packaging/runsc.sh)"
TRY=$WDR_BUILD/tests/helpers/control_try
[ -x "$TRY" ] || skip_all "needs tests/helpers/control_try"
JOB=
undo() { [ -z "$JOB" ] || kill -9 "$JOB"; }
begin undo

# control ARG...: to the sandbox under test
control() { "$TRY" "$SOCKET" "$ID" "$@"; }
keeper() { KEEPER=$(pgrep -P "$JOB" -x warder-keeper) && ls "/proc/$KEEPER/root/run/warder/state/"*.state; }

for age in new latest old; do
	export WARDER_RUNSC="$TOP/build/runsc/$age/runsc"
	[ -x "$WARDER_RUNSC" ] || continue
	warder run -b runsc --json -- sh -c 'sleep 100' >"$TMPDIR/json" 2>/dev/null &
	JOB=$!
	wait_for 10 keeper
	keeper >/dev/null
	STATE=/proc/$KEEPER/root/run/warder/state
	ID=$(basename "$STATE"/*.state | sed 's/_.*//')
	SOCKET=$STATE/runsc-$ID.sock
	[ -S "$SOCKET" ] || SOCKET=@runsc-sandbox.$ID
	up() { control exec true; }
	wait_for 10 up

	run control exec sh -c 'echo out; echo err >&2; id -u; exit 7'
	is "$age: a process in the sandbox has our streams, and we its status" "$(echo "$OUT" | tr '\n' ' ')/$ERR/$RC" "out 1000 /err/7"
	is "$age: and our input" "$(echo text | control exec cat)" text
	exits "$age: a signal that ends it is told" 137 control exec sh -c 'kill -9 $$'
	run control exec no-such-program
	like "$age: a refusal comes in the sandbox's words" "$ERR" 'sandbox: .*no-such-program.*EREMOTEIO'
	run control unknown
	like "$age: a call that it lacks asks for the command line instead" "$ERR" 'EPROTO'
	run control ps
	like "$age: its processes have names" "$OUT" '^1 0 sh$'
	run control stats
	like "$age: and it has figures" "$OUT" '^[0-9]+ [1-9][0-9]*$'
	run control time /bin/true
	ok "$age: running a process in it takes at most 10 ms (best of 20: $OUT us)" test "$OUT" -le 10000
	ok "$age: a signal reaches its first process" control signal 15
	RC=0
	wait "$JOB" || RC=$?
	JOB=
	is "$age: and ends the job" "$RC $(jq -r .exit.signal "$TMPDIR/json")" "143 SIGTERM"
	# One that ends at once may be gone before it is asked about.
	run warder run -b runsc --json -- sh -c 'sleep 0.5; exit 137'
	is "$age: who exits with 137 was not killed" "$(printf %s "$OUT" | jq -r '.exit.reason, .exit.code' | tr '\n' ' ')" "exited 137 "
done
end

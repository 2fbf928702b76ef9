#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A sandbox that was made before its job was known: the job is what it would have been after a cold
# start, has the sandbox for itself and once, and what does not fit is started cold.
# timeout: 400
# shellcheck disable=SC2016,SC2009 # what the job's own shell expands; pgrep finds zombies, too
WDR_BACKEND=runsc
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq pgrep
TRY=$WDR_BUILD/tests/helpers/ahead_try
[ -x "$TRY" ] || skip_all "needs tests/helpers/ahead_try"
HOLDER=
undo() { [ -z "$HOLDER" ] || kill -9 "$HOLDER"; }
begin undo

# Made with higher limits than the default policy's, and with others than most jobs ask for.
ahead() { "$TRY" -m 1G --pids 200 :: "$@" <"$TMPDIR/in"; }
cold() { warder run "$@" <"$TMPDIR/in"; }
text() { printf '%s\n%s\n%s' "$OUT" "$ERR" "$RC" | sed 's/j-[a-z0-9]*/JOB/'; }
# Without what differs from one run to the next: ids, times, sizes.
shape() { jq -S 'del(.job, .started, .usage) + {usage: .usage | map_values(type)}'; }
echo text >"$TMPDIR/in"

# same WHAT ARG...: a job's streams and status are those of a cold start.
same() {
	what=$1
	shift
	run_in cold "$@"
	want=$(text)
	run_in ahead "$@"
	is "$what" "$(text)" "$want"
}
run_in() {
	RC=0
	"$@" >"$TMPDIR/out" 2>"$TMPDIR/err" || RC=$?
	OUT=$(cat "$TMPDIR/out")
	ERR=$(cat "$TMPDIR/err")
}

same "its streams and its status" -- sh -c 'cat; echo err >&2; exit 7'
same "its user, rights, filter" -- sh -c 'id; grep -E "^(Cap|Seccomp|NoNewPrivs|Groups)" /proc/self/status'
same "its environment, its folder, its arguments" -e A='b c' -w /tmp -- sh -c 'env | sort; pwd; echo "$@"' '' '' 'a b' "$(printf 'c\nd')"
same "its limits" -m 256M --pids 20 -- sh -c 'ulimit -a; cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max 2>/dev/null'
same "its files" -- sh -c 'ls -a / /tmp /home/user /dev/shm /etc; mount | sed "s/ .*//" | sort; hostname'
same "its descriptors and processes" -- sh -c 'ls -l /proc/self/fd | grep -c host; ls /proc | grep -c "^[0-9]"; tr "\0" " " </proc/1/cmdline'
same "what it may not call" -- python3 -c 'import ctypes; l = ctypes.CDLL(None, use_errno=True)
for n in (101, 165, 250, 321): print(n, l.syscall(n, 0, 0, 0, 0), ctypes.get_errno())'
same "a program that is not there" -- no-such-program
same "one that is none" -- /etc/passwd
same "a folder" -- /tmp
same "the empty name" -- ''
same "a script" -- sh -c 'printf "#!/bin/sh\nid -u\n" >/tmp/s; chmod +x /tmp/s; exec /tmp/s'
same "a signal's end" -- sh -c 'kill -SEGV $$'
same "137 of its own" -- sh -c 'sleep 0.3; exit 137'
same "too much memory" -m 96M -- python3 -c 'x = bytearray(1 << 30)'
same "too long" -t 1s -- sleep 60
same "too much output" --output 1K -- sh -c 'head -c 100000 /dev/zero | tr "\0" x; sleep 60'
same "too many processes" --pids 5 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 9 & done; echo'
same "too large a file" -- sh -c 'head -c 300000000 /dev/zero >/tmp/x'

cold --json --name n -- sh -c 'echo out; id >&2' | shape >"$TMPDIR/cold.json"
ahead --json --name n -- sh -c 'echo out; id >&2' | shape >"$TMPDIR/ahead.json"
ok "its result has the same shape and verdict" diff "$TMPDIR/cold.json" "$TMPDIR/ahead.json"

connect='import socket
for a in ("192.0.2.1", 443), ("198.51.100.7", 443):
	s = socket.socket()
	s.settimeout(0.5)
	print(a[0], s.connect_ex(a))'
denials() { jq -c '[.denials[] | {kind, to, rule, reason}]'; }
want=$(cold --allow 192.0.2.1:443 --json -- python3 -c "$connect" | denials)
like "a network has its rules" "$want" '198.51.100.7:443/tcp.*default'
is "as it would have" "$("$TRY" --allow 192.0.2.1:443 :: --allow 192.0.2.1:443 --json -- python3 -c "$connect" | denials)" "$want"

# refused WHY MADE... -- JOB...: started cold, with its own policy in force.
refused() {
	why=$1
	shift
	run "$TRY" "$@" -- sh -c 'id -u; ulimit -n; ls -d /data 2>/dev/null'
	like "another $why: cold" "$ERR" "^cold: .*$why"
}
refused /user :: --user 7
is "with what it asked for" "$(echo "$OUT" | head -n 1)" 7
refused /filesystem/mounts :: -v /usr/share:/data
refused /limits/disk :: --disk 1M
refused /network :: --allow 192.0.2.1:443
refused /network --allow 192.0.2.1:443 ::
refused /syscalls/count :: --syscalls
refused /limits/cpu :: --cpu-time 5s
refused /limits/pids --pids 10 ::
refused pids_limit --pids unlimited ::
mkdir "$TMPDIR/other" "$TMPDIR/data"
run "$TRY" --root "$TMPDIR/other" :: --root / -- true
like "another root: cold" "$ERR" '^cold: .*/filesystem/root'
long=$(head -c 100000 /dev/zero | tr '\0' x)
run "$TRY" :: -- sh -c 'echo ${#0} ${#1}' "$long" "$long"
is "more bytes than it takes: cold" "$RC $OUT $(echo "$ERR" | grep -c '^cold: .*131072 bytes')" "0 100000 100000 1"

run "$TRY" -2 :: -- sh -c 'touch /tmp/mine; ls /tmp; exit 3'
is "it takes one job" "$RC $OUT $ERR" "3 mine second: the sandbox has had its job"
is "and the next sandbox knows nothing of it" "$("$TRY" :: -- ls -a /tmp | tr '\n' ' ')" ". .. "

# held: $HOLDER, and in $KEEPER its sandbox.
hold() {
	: >"$TMPDIR/held" # not that of the one before, which would be found at once
	"$TRY" -w :: -- true >"$TMPDIR/held" 2>"$TMPDIR/held.err" &
	HOLDER=$!
	wait_for 15 grep -q held "$TMPDIR/held"
	KEEPER=$(pgrep -P "$HOLDER" -x warder-keeper)
}
# nothing: no process and no cgroup of any job, once the next start has swept.
alone() { ! ps -eo stat=,args= | grep -v '^Z' | grep -e '[w]arder-keeper' -e '[r]unsc-sandbox'; }
nothing() {
	wait_for 2 alone || return 1
	WDR_BACKEND=native "$WDR_BUILD/bin/warder" run -q -b native -- true
	left=$(find /sys/fs/cgroup -maxdepth 4 -path '*/warder*/j-*' -type d 2>/dev/null)
	echo "$left" && ls /run/warder/jobs && [ -z "$left" ]
}
for part in sandbox gofer; do
	hold
	kill -9 "$(pgrep -P "$KEEPER" -f "runsc-$part")"
	RC=0
	wait "$HOLDER" || RC=$?
	HOLDER=
	like "held, and its $part killed: an error" "$RC $(cat "$TMPDIR/held.err")" '^125 .*sandbox'
	ok "and nothing is left" wait_for 3 nothing
done
hold
kill -9 "$HOLDER"
wait "$HOLDER"
HOLDER=
ok "held, and its holder killed: nothing is left" wait_for 3 nothing
for step in process release held limits take; do
	exits "killed at $step" 137 env WDR_CRASH_AT=$step "$TRY" :: -- sleep 60
	ok "nothing is left" wait_for 3 nothing
done

if [ -x "$TOP/build/runsc/old/runsc" ]; then
	run env WARDER_RUNSC="$TOP/build/runsc/old/runsc" "$TRY" :: -- true
	like "a runsc that can't says so" "$RC $ERR" "^125 .*can't hold a sandbox"
fi
run "$TRY" -n 10 --cpus 2 :: --cpus 2 -- true
fastest() { echo "$OUT" | cut -d ' ' -f "$1" | sort -n | head -n 1; }
ok "a job is executed within 15 ms (best of 10: $(fastest 1) us; its end: $(fastest 2) us)" test "$(fastest 1)" -le 15000
end

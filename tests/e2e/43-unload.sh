#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# warder unload leaves nothing in the kernel, never takes anything from a running job, and is no
# obstacle to the next one.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need nft setpriv
begin

# What jobs share, as one sees it from outside.
shared() {
	find /sys/fs/bpf/warder /run/warder/bpf -mindepth 1 2>/dev/null
	grep '/run/warder/bpf' /proc/mounts
	nft list tables | grep warder
	find /sys/fs/cgroup -maxdepth 2 -name 'warder*' -type d 2>/dev/null
	ip -o link show type veth 2>/dev/null | grep wdr
}
nothing() { [ -z "$(shared)" ]; }
running() { grep -qs "$1" "$TMPDIR/out"; }
# start OPTIONS: a job that tells when it runs, in PID; its id is in ID.
start() {
	: >"$TMPDIR/out"
	warder run "$@" -- sh -c 'echo up; exec sleep 98765' >"$TMPDIR/out" &
	PID=$!
	wait_for 10 running up
	ID=$(cd /run/warder/jobs && echo j-*)
}

# Of other checkouts' jobs; what follows wants none.
wait_for 20 warder unload
start --syscalls
exits "it refuses while a job runs" 1 warder unload
like "and says which" "$ERR" "^warder: unload: 1 job runs: $ID\$"
ok "the job goes on" kill -0 $PID
kill -TERM $PID
wait $PID
start
exits "it refuses for a job without any program, too" 1 warder unload
like "by name" "$ERR" "$ID"
kill -TERM $PID
wait $PID
fails "there is something to remove" nothing
exits "afterwards it is done" 0 warder unload
is "in silence" "$OUT$ERR" ""
is "and nothing is left" "$(shared)" ""
exits "nothing to do is fine" 0 warder unload
run warder run --syscalls --json -- true
is "jobs start again" "$RC" 0
like "with their programs" "$OUT" '"origin": ?"host"'

start --allow 192.0.2.1
kill -KILL $PID
wait $PID
ok "a killed supervisor's job is no obstacle" wait_for 5 warder unload
ok "and leaves nothing" wait_for 5 nothing
wait_for 20 warder unload
run warder check
like "check loads again what it tries" "$OUT" '^egress_socket +yes'

# Seen or not: nothing found is no success where nothing could be seen.
was=$(stat -c %a /run/warder)
for mode in 755 700; do
	chmod "$mode" /run/warder
	run setpriv --reuid 65534 --regid 65534 --clear-groups warder unload
	is "an ordinary user may not ($mode)" "$RC" 1
	like "and is told why" "$ERR" 'unload: .*Permission denied'
done
chmod "$was" /run/warder
exits "it takes no argument" 125 warder unload now
like "and says so" "$ERR" 'no argument: now \(see warder help unload\)'
end

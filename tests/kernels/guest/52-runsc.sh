#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A job in gVisor on this kernel, where cgroup v2 alone is mounted: the same result as a native one's, the same limits and
# network rules from outside. Few jobs that do much: starting one takes seconds here.
# timeout: 150
# shellcheck disable=SC2016 # what the job's own shell expands
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../../lib/tap.sh"
WDR_RUNSC=$WDR_BUILD/../runsc/new/runsc
[ -x "$WDR_RUNSC" ] || skip_all "needs $WDR_RUNSC (packaging/runsc.sh)"
export WARDER_RUNSC="$WDR_RUNSC"
lab_up
begin
serve out 8000 close
serve out 9000 close

B=/run/root
mkdir -p $B/bin
cp /bin/busybox $B/bin/sh
cp /bin/busybox $B/bin/busybox
# job BACKEND OPTION... -- COMMAND...
job() {
	backend=$1
	shift
	run warder run -b "$backend" -t 5m --root $B --result /run/r.json "$@"
	OUT=$(printf '%s\n' "$OUT" | tr '\n' ' ')
	[ -z "$ERR" ] || note "$ERR"
}
r() { jq -rc "$1" /run/r.json; }
# Names of all that the result has.
shape() { r '[paths | map(select(type == "string")) | join(".")] | unique'; }

ASK='for p in 8000 9000; do o=$(busybox timeout 60 busybox nc 203.0.113.2 $p </dev/null 2>/dev/null); echo ${o:-refused}; done'
FORKS='for i in $(busybox seq 30); do busybox sleep 100 & done; wait'
GREED='x=0123456789abcdef; while :; do x=$x$x; done'
for b in native runsc; do
	job $b --pids 20 --allow $OUT4:8000 -- /bin/sh -c "$ASK; $FORKS"
	is "$b: it reaches what it may and nothing else" "$OUT" "203.0.113.1 refused "
	is "$b: which is told" "$(r '[.backend, (.denials[] | .to, .reason)] | join(" ")')" "$b $OUT4:9000/tcp default"
	is "$b: it ends with its own status, for want of processes" "$RC $(r .exit.reason)" "2 exited"
	shape >/run/shape.$b
	# Most of what gVisor needs for its start is CPU time, and the share holds from there on.
	job $b --cpu-time 6s --cpus 0.25 -- /bin/sh -c 'while :; do :; done'
	is "$b: the kernel ends it when its CPU time is used up" "$RC $(r .exit.reason)" "137 cpu-budget"
	SHARE=$(r '.usage | 100 * .cpu_ns / .wall_ns | floor')
	ok "$b: as slowly as it should, at $SHARE % of a CPU" test "$SHARE" -le 65
	job $b -m 96M -- /bin/sh -c "$GREED"
	is "$b: memory is bounded" "$RC $(r .exit.reason)" "137 oom"
done
is "the result has the same shape" "$(cat /run/shape.runsc)" "$(cat /run/shape.native)"
is "nothing is left" "$(find /sys/fs/cgroup -type d -name 'j-*'; ls /run/warder/jobs)" ""
end

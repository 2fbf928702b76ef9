#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 of warder at any point leaves a dead job, and after the next command nothing else; in gVisor (38-runsc-crash.sh), too.
# timeout: 300
# shellcheck disable=SC2016 # what another shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3
begin
# How many, and within how many seconds of their start.
native && ROUNDS=200 WITHIN=0.012 || ROUNDS=40 WITHIN=0.4

# Processes of any job: those in its cgroup. Zombies that their new parent has yet to reap are left out.
alive() {
	for of in $(grep -ls '/j-' /proc/[0-9]*/cgroup); do
		ps -o stat=,pid=,args= "$(basename "${of%/cgroup}")" | awk '$1 !~ /^Z/'
	done | grep .
}

# What one sees on the machine of any job.
traces() {
	find /sys/fs/cgroup -type d -name 'j-*' 2>/dev/null
	find /run/warder/jobs -type f 2>/dev/null
	grep -cE 'warder|/j-' /proc/mounts
	alive
	find /run/netns /run/warder/netns -mindepth 1 2>/dev/null
	ip -o link show type veth 2>/dev/null | cut -d: -f2
}
no_job() { ! alive; }
job() { grep -q up "$TMPDIR/up"; }

warder run -- true
BEFORE=$(traces)
for step in record uid cgroup stdio process watch release; do
	WDR_CRASH_AT=$step warder run -- sleep 98765 >/dev/null 2>&1
	wait_for 2 no_job
	tap_result $? "killed after $step: the job is dead" || note "$(traces)"
	warder run -- true
	is "killed after $step: the next command leaves nothing" "$(traces)" "$BEFORE"
done

# stop OPTION...: a job that is up, and its supervisor PID is stopped
stop() {
	rm -f "$TMPDIR/up"
	warder run "$@" -- sh -c 'echo up; sleep 98765' >"$TMPDIR/up" 2>/dev/null &
	PID=$!
	wait_for 10 job && kill -STOP $PID && sleep 0.1 && alive >/dev/null
	tap_result $? "a job runs, and its supervisor is stopped"
}
stop
kill -9 "$PID"
ok "killed while stopped: the job is dead within a second" wait_for 1 no_job
warder run -- true
is "and nothing is left" "$(traces)" "$BEFORE"

stop -t 3s
ok "stopped: the wall clock holds all the same" wait_for 8 no_job
kill -CONT "$PID"
RC=0
wait "$PID" || RC=$?
is "and is the reason" "$RC" 124

ok "a fifo among the records holds nothing up" timeout 20 unshare -m sh -c '
	mkdir -p /run/warder && mount -t tmpfs -o mode=0755 none /run/warder &&
	mkdir -m 0700 /run/warder/jobs && mkfifo /run/warder/jobs/j-fifo &&
	warder run -- true && ! [ -e /run/warder/jobs/j-fifo ]'
is "what no Warder wrote there is nobody's job" "$(unshare -m sh -c '
	mkdir -p /run/warder && mount -t tmpfs -o mode=0755 none /run/warder && mkdir -m 0700 /run/warder/jobs &&
	cd /run/warder/jobs && touch -- "a b" "$(printf "\033[31m")" .. -x "$(printf "%0200d" 0)" j-dead && mkdir j-dir &&
	ln -s /etc/passwd j-link && warder run -- true && ls | wc -l' 2>&1)" 6

ok "$ROUNDS supervisors killed at random times" timeout 200 /usr/bin/python3 "$TOP/tests/lib/chaos.py" "$ROUNDS" "$WITHIN"
ok "all their jobs are dead" wait_for 2 no_job
warder run -- true
is "and one command later nothing is left of them" "$(traces)" "$BEFORE"
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kill -9 of warder at any point leaves a dead job, and after the next command nothing else.
# timeout: 300
# shellcheck disable=SC2016 # what another shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3
ROUNDS=${WDR_CRASH_ROUNDS:-200}
begin

# Processes of any job, zombies that their new parent has yet to reap left out.
alive() { ps -eo stat=,comm=,args= | awk '$1 !~ /^Z/ && ($2 == "warder-init" || ($2 == "sleep" && $4 == 98765))' | grep .; }

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
job() { ps -eo args= | awk '/^sleep 98765/ { n++ } END { exit !n }'; }

warder run -- true
BEFORE=$(traces)
for step in record uid cgroup stdio process watch release; do
	WDR_CRASH_AT=$step warder run -- sleep 98765 >/dev/null 2>&1
	wait_for 2 no_job
	tap_result $? "killed after $step: the job is dead" || note "$(traces)"
	warder run -- true
	is "killed after $step: the next command leaves nothing" "$(traces)" "$BEFORE"
done

warder run -- sleep 98765 &
wait_for 5 job && kill -STOP $! && sleep 0.1 && kill -9 $!
ok "killed while stopped: the job is dead within a second" wait_for 1 no_job
warder run -- true
is "and nothing is left" "$(traces)" "$BEFORE"

warder run -t 300ms -- sleep 98765 2>/dev/null &
PID=$!
wait_for 5 job && kill -STOP $PID
ok "stopped: the wall clock holds all the same" wait_for 4 no_job
kill -CONT $PID
RC=0
wait $PID || RC=$?
is "and is the reason" "$RC" 124

ok "a fifo among the records holds nothing up" timeout 20 unshare -m sh -c '
	mkdir -p /run/warder && mount -t tmpfs -o mode=0755 none /run/warder &&
	mkdir -m 0700 /run/warder/jobs && mkfifo /run/warder/jobs/j-fifo &&
	warder run -- true && ! [ -e /run/warder/jobs/j-fifo ]'
is "what no Warder wrote there is nobody's job" "$(unshare -m sh -c '
	mkdir -p /run/warder && mount -t tmpfs -o mode=0755 none /run/warder && mkdir -m 0700 /run/warder/jobs &&
	cd /run/warder/jobs && touch -- "a b" "$(printf "\033[31m")" .. -x "$(printf "%0200d" 0)" j-dead && mkdir j-dir &&
	ln -s /etc/passwd j-link && warder run -- true && ls | wc -l' 2>&1)" 6

ok "$ROUNDS supervisors killed at random times" timeout 200 /usr/bin/python3 "$TOP/tests/lib/chaos.py" "$ROUNDS"
ok "all their jobs are dead" wait_for 2 no_job
warder run -- true
is "and one command later nothing is left of them" "$(traces)" "$BEFORE"
end

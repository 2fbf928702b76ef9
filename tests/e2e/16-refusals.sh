#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whatever is wrong with what it is given, warder says what and where, starts nothing, and ends at once.
# timeout: 120
# shellcheck disable=SC2016 # what the job's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3
begin

# refused WHAT ERE ARGS...: exit 125 within a second, a line on stderr that matches, nothing ran.
refused() {
	what=$1
	ere=$2
	shift 2
	rm -f "$TMPDIR/ran"
	run timeout 5 warder run -v "$TMPDIR:/host:rw" "$@" -- sh -c 'echo x >/host/ran'
	if [ "$RC" -eq 125 ] && [ ! -e "$TMPDIR/ran" ] && printf %s "$ERR" | grep -qE -e "$ere" &&
		[ "$(printf '%s\n' "$ERR" | wc -l)" -le 3 ]; then
		tap_result 0 "$what"
	else
		tap_result 1 "$what" || note "want $ere" && tap_show
	fi
}

refused "an unknown option" 'memry.*memory' --memry 1G
refused "an option without its value" 'timeout' --timeout
while read -r option args; do
	# shellcheck disable=SC2086
	refused "a bad value: $args" "^warder: --$option: " $args
done <<'ROWS'
timeout -t 0
timeout -t abc
timeout -t -1
timeout -t 1e999
memory -m 0
memory -m 12Q
memory -m 1.5.5M
cpus --cpus 0
cpus --cpus nan
pids --pids 0
pids --pids 1.5
disk --disk x
output --output unlimited
net --net lan
user --user root
user --user 1:2:3
backend -b docker
allow --allow 1.2.3
allow --allow 10.0.0.1/8
deny --deny [::1
env -e =x
name --name -x
workdir -w rel
ROWS

p() { printf '%s' "$1" >"$TMPDIR/p.json"; }
p '{"version": 1, "limits": {"memry": "1G"}}'
refused "a misspelt key" 'p.json:/limits/memry.*did you mean "memory"' -p "$TMPDIR/p.json"
p '{"version": 1,,}'
refused "a syntax error" 'p.json:1:1[0-9]' -p "$TMPDIR/p.json"
p '{"version": 1, "version": 1}'
refused "a key twice" 'p.json:1:.*version' -p "$TMPDIR/p.json"
p '{"version": 2}'
refused "another version" 'p.json:/version' -p "$TMPDIR/p.json"
p ''
refused "an empty file" 'p.json' -p "$TMPDIR/p.json"
printf '\357\273\277{"version": 1}' >"$TMPDIR/p.json"
refused "a byte-order mark" 'byte.order' -p "$TMPDIR/p.json"
printf '{"version": 1, "name": "a\0b"}' >"$TMPDIR/p.json"
refused "a NUL byte" 'p.json' -p "$TMPDIR/p.json"
/usr/bin/python3 -c 'print("[" * 100000, end="")' >"$TMPDIR/p.json"
refused "100,000 levels" 'p.json' -p "$TMPDIR/p.json"
/usr/bin/python3 -c 'print("{\"version\": 1, \"name\": \"" + "a" * 10000000 + "\"}")' >"$TMPDIR/p.json"
refused "10 MB" 'p.json' -p "$TMPDIR/p.json"
p '{"version": 1, "syscalls": {"allow": ["opne"]}}'
refused "a call that does not exist" 'opne.*open' -p "$TMPDIR/p.json"
p '{"version": 1, "filesystem": {"mounts": [{"source": "x", "target": "/x"}]}}'
refused "a mount source that is not there" "$TMPDIR/x" -p "$TMPDIR/p.json"
refused "a policy that is not there" 'no-such' -p no-such
refused "a folder for a policy" '[Dd]irectory' -p "$TMPDIR"
refused "a device for a policy" '/dev/zero' -p /dev/zero
mkfifo "$TMPDIR/fifo"
refused "an unreadable result" 'nowhere' --result /nowhere/x
WARDER_UID_RANGE=1:5 refused "a bad uid range" 'WARDER_UID_RANGE'
WARDER_UID_RANGE=abc refused "no uid range" 'WARDER_UID_RANGE'
WARDER_DISABLE=x refused "a bad WARDER_DISABLE" 'WARDER_DISABLE|unknown protection'
exits "no program" 125 warder run
exits "no command" 125 warder
exits "an unknown command" 125 warder rnu
like "with the right one" "$ERR" 'run'

# Faults of the machine.
refused_in() { # WHAT ERE WRAPPER...: the wrapper runs `warder run -- true`
	what=$1
	ere=$2
	shift 2
	run timeout 10 "$@"
	[ "$RC" -eq 125 ] && printf %s "$ERR" | grep -qE -e "$ere"
	tap_result $? "$what" || tap_show
}
refused_in "no descriptors" 'Too many open files|pipe|descriptor' sh -c 'ulimit -n 12; exec warder run -- true'
ok "cgroups that are mounted nowhere are no hindrance" unshare -m sh -c 'umount -R /sys/fs/cgroup; exec warder run -- true'
refused_in "read-only cgroups" 'cgroup' unshare -m sh -c 'for m in $(grep -E " cgroup2? " /proc/mounts | cut -d" " -f2); do mount -o remount,bind,ro $m; done; exec warder run -- true'
sanitized || refused_in "no /proc" '/proc|proc' unshare -m sh -c 'mount -t tmpfs none /proc; exec warder run -- true'
refused_in "a /run that can't be written" 'run|state' unshare -m sh -c 'mount -t tmpfs -o ro none /run; exec warder run -- true'
refused_in "a full /run" 'No space|record|state' unshare -m sh -c 'mount -t tmpfs -o size=4k,nr_inodes=3 none /run; exec warder run -- true'
# From hardly loading to enough: a refusal, a success, or the dynamic loader's own 127.
BAD=
for kb in $(seq 4000 250 7000); do
	! sanitized || break
	run sh -c "ulimit -v $kb; exec warder run -- true"
	case $RC in
	0 | 127) ;;
	125) [ -n "$ERR" ] || BAD="$BAD $kb:silent" ;;
	*) BAD="$BAD $kb:$RC" ;;
	esac
done
is "little memory is a clear error" "$BAD" ""
ok "and it works again" warder run -- true
end

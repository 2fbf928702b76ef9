# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What tests of warder-runsc have in common: settings and policies in an /etc/warder of their own, the
# report, two servers, and what may be left. Source it after tap.sh, in a mount namespace of the
# test's own (net_lab.sh makes one).

REPORT=$TMPDIR/report

engine_lab_up() {
	mkdir -p "$TMPDIR/etc"
	lab_up
	engine_etc_up
	serve out 8000
	serve out 9000
}

engine_etc_up() {
	ENGINE_MADE=
	[ -d /etc/warder ] || ENGINE_MADE=1
	mkdir -p /etc/warder
	mount -t tmpfs none /etc/warder
	mkdir /etc/warder/policies
	settings
}

engine_lab_down() {
	umount /etc/warder
	[ -z "${ENGINE_MADE:-}" ] || rmdir /etc/warder
}

# settings [MEMBERS]: with a report, and what is said.
settings() {
	echo "{\"version\": 1, \"report\": \"$REPORT\"${1:+, $1}}" >/etc/warder/runsc.json
}

# policy NAME MEMBERS
policy() {
	echo "{\"version\": 1, $2}" >"/etc/warder/policies/$1.json"
}

# reported FILTER: jq's, of the last line.
reported() {
	tail -n 1 "$REPORT" | jq -c "$1"
}

# What is there of containers that have a policy.
remains() {
	ls /run/warder/shim 2>/dev/null
	find /sys/fs/cgroup -type d -path '*/warder/c-*'
	find /sys/fs/bpf/warder/jobs /run/warder/bpf/warder/jobs -name 'wdr_cpu_*' 2>/dev/null
}

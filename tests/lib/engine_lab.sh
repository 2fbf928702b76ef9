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

# engine_runsc AGE: a runsc that this machine can run, into RUNSC. The old one knows no systrap, and on a
# kernel of today takes a network only where it does not see /proc/sys/net: it looks for a file there
# that has moved.
engine_runsc() {
	RUNSC=$WDR_RUNSC
	[ "$1" = old ] || return 0
	cat >"$TMPDIR/runsc" <<-EOT
		#!/bin/sh
		exec unshare -m sh -c 'mount -t tmpfs none /proc/sys/net && exec "\$0" "\$@"' $RUNSC --platform=ptrace "\$@"
	EOT
	chmod +x "$TMPDIR/runsc"
	RUNSC=$TMPDIR/runsc
}

# What an engine does: a network namespace with a veth, and an address that the host translates.
engine_net_up() {
	ip netns add box
	ip link add boxh type veth peer name eth0 netns box
	ip addr add 172.31.9.1/24 dev boxh
	ip link set boxh up
	ip -n box link set lo up
	ip -n box addr add 172.31.9.2/24 dev eth0
	ip -n box link set eth0 up
	ip -n box route add default via 172.31.9.1
	sysctl -qw net.ipv4.ip_forward=1
	nft 'table ip engine { chain post { type nat hook postrouting priority 100; ip saddr 172.31.0.0/16 oifname "up0" masquerade; }; }'
}

# runsc takes the address off the interface; the engine gives it a new one with each container.
again() {
	ip -n box addr replace 172.31.9.2/24 dev eth0
	ip -n box route replace default via 172.31.9.1
}

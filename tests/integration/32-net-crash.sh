#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# SIGKILL at every point of making a slot and of giving it back, and what is left: nothing, after a
# sweep; a contained job's network, until its supervisor's successor gives it back.
# timeout: 90
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

STRIDE=${WDR_NET_STRIDE:-5}
COUNT=50

swept() {
	[ "$1" = maker ] || try sweep
	wait_for 5 is_clean
}

# kills MODE WHAT: at calls 1, 1 + STRIDE... until there is no such call; a random start makes
# repeated runs see all of them.
kills() {
	at=$(($(cut -d ' ' -f 1 /proc/uptime | tr -d .) % STRIDE + 1))
	rounds=0
	bad=
	while :; do
		run timeout 20 "$WDR_BUILD/tests/helpers/net_kill" "$NET" "$1" $at
		[ "$RC" -eq 3 ] && break
		if [ "$RC" -ne 0 ] || ! swept "$1"; then
			bad="$bad $at"
			note "call $at: status $RC, $OUT $ERR; $(ip -br link | tr '\n' ' ')" \
				"$(nft list tables) $(cat $NET/sysctls 2>/dev/null)"
			try sweep
		fi
		rounds=$((rounds + 1))
		at=$((at + STRIDE))
	done
	is "$2 ($rounds points)" "$bad" ""
	is "and there were points" "$([ $rounds -gt 0 ] && echo yes)" yes
}

flows() {
	cat /proc/sys/net/netfilter/nf_conntrack_count
}

# marked: how many of them have a mark by which our rules know what is counted, in either byte order.
marked() {
	n=0
	for mark in $(sed -n 's/.* mark=\([0-9]*\).*/\1/p' /proc/net/nf_conntrack); do
		case $(printf %08x "$mark") in
		5744???? | 5746???? | ????4457 | ????4657) n=$((n + 1)) ;;
		esac
	done
	echo $n
}

in_its_own() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/$$/ns/net)" ]
}
no_flows() {
	[ "$(flows)" -eq 0 ]
}
none_lives() {
	for dir in /proc/[0-9]*; do
		if [ "$(cat "$dir/comm" 2>/dev/null)" = net_try ] &&
			! grep -q '^State:.Z' "$dir/status"; then
			return 1
		fi
	done
}

need ip nft nsenter bash
lab_up
BEFORE=$(forwarding)
begin
serve out 8000
try count 1
wait_for 5 is_clean
note "kernel $(uname -r)"

kills maker "a maker killed anywhere: said, and cleaned up after"
kills both "killed with its supervisor: a sweep leaves nothing"
kills remove "a supervisor killed while giving back: the same"

ok "a slot" hold j-1
is "is used" "$(ask j-1 $OUT4 8000)" 203.0.113.1
ok "another" hold j-2
crash j-1
ok "without its supervisor its link goes" wait_for 5 eval '! ip link show wdr0'
try sweep
is "a sweep frees the record" "$OUT" "swept 1"
is "and leaves the other alone" "$(ask j-2 $OUT4 8000)" 203.0.113.1
crash j-2
try sweep
is "the last one" "$OUT" "swept 1"
ok "takes all along" wait_for 5 is_clean
is "tracked flows, too" "$(flows)" 0

ok "a contained job's slot" hold j-3 contain
LINK=$(told_of j-3 link)
nsenter --net="$(told_of j-3 netns)" sleep 1000 &
job=$!
wait_for 5 in_its_own $job
crash j-3
try sweep
is "is not swept while the job lives" "$OUT" "swept 0"
ok "its link stays" ip link show dev "$LINK"
is "and works" "$(nsenter --net=/proc/$job/ns/net bash -c \
	'head -n 1 </dev/tcp/203.0.113.2/8000')" 203.0.113.1
try adopt j-none
like "no other job's can be taken over" "$ERR" 'job j-none has no network slot'
kill $job
try adopt j-3
like "a successor takes it over" "$OUT" "^link $LINK\$"
ok "and gives it back" wait_for 5 is_clean
ok "a contained job that ended alone" hold j-4 contain
crash j-4
wait_for 5 links_gone
try sweep
is "is swept" "$OUT" "swept 1"
ok "entirely" wait_for 5 is_clean

ok "a slot" hold j-5
# Towards nobody: answers to what is forgotten would be new flows of the host.
in_ns j-5 bash -c 'echo x >/dev/udp/203.0.113.9/7; echo x >/dev/udp/2001:db8:2::9/7'
is "with flows that the host tracks" "$(flows)" 2
[ ! -e /proc/net/nf_conntrack ] || is "each of them marked, so that it is counted once" "$(marked)" 2
drop j-5
ok "which are forgotten with it" wait_for 5 no_flows

try count $COUNT
is "$COUNT slots one after another" "$RC" 0
ok "leave nothing" wait_for 5 is_clean
is "no flow" "$(flows)" 0
ok "and no process" wait_for 5 none_lives
pids=
for i in 1 2 3 4; do
	{
		"$WDR_BUILD/tests/helpers/net_try" count "$NET" 10 2>&1 || echo failed
	} >"/run/many.$i" &
	pids="$pids $!"
done
# shellcheck disable=SC2086
wait $pids
is "four supervisors at once don't disturb each other" "$(grep -h failed /run/many.*)" ""
ok "and leave nothing" wait_for 5 is_clean
"$WDR_BUILD/tests/helpers/net_try" empty $NET </dev/null >/run/empty
is "an empty namespace has loopback and nothing else" "$(grep -c ready /run/empty)" 1
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What jobs' networks change on the host, that it is put back, and what of the host stands in their
# way: routes, firewalls, an exhausted pool, rules that are flushed.
# guest: yes
# timeout: 60
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

setting() {
	cat "/proc/sys/net/$1"
}

# no_slot WHAT ERE [VAR=VALUE...]: none is to be had, the reason is given, nothing is left.
no_slot() {
	what=$1
	why=$2
	shift 2
	run env "$@" timeout 20 "$WDR_BUILD/tests/helpers/net_try" count "$NET" 1
	if [ "$RC" -eq 1 ] && printf '%s\n' "$ERR" | grep -qE -e "$why"; then
		tap_result 0 "$what is named"
	else
		tap_result 1 "$what is named" || tap_show
	fi
	ok "and nothing is left" wait_for 5 is_clean
}

# slot WHAT [VAR=VALUE...]: one is made and given back.
slot() {
	what=$1
	shift
	ok "$what" env "$@" timeout 20 "$WDR_BUILD/tests/helpers/net_try" count "$NET" 1
}

# A router advertisement from outside, as a router sends it.
advertise() {
	in_ns out /usr/bin/python3 - <<-'EOF'
	import socket, struct
	s = socket.socket(socket.AF_INET6, socket.SOCK_RAW, socket.IPPROTO_ICMPV6)
	s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_HOPS, 255)
	s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, socket.if_nametoindex("out0"))
	s.sendto(struct.pack("!BBHBBHII", 134, 0, 0, 64, 0, 1800, 0, 0), ("ff02::1", 0, 0, 0))
	EOF
}
learnt() {
	ip -6 route show default proto ra | grep -q fe80
}

need ip nft nsenter bash
lab_up
sysctl -q net.ipv6.conf.up0.accept_ra=1 net.ipv6.conf.up0.accept_ra_defrtr=1
wait_for 5 eval '! ip -6 addr show dev up0 | grep -q tentative'
wait_for 5 eval '! in_ns out ip -6 addr show dev out0 | grep -q tentative'
BEFORE=$(forwarding)
begin
serve out 8000
note "kernel $(uname -r)"

# Forwarding.
advertise
ok "the host has a default route from a router" wait_for 5 learnt
ok "a slot" hold j-1
is "IPv4 forwards by interface" \
	"$(setting ipv4/conf/all/forwarding) $(setting ipv4/conf/up0/forwarding)" "0 1"
if [ -e /proc/sys/net/ipv6/conf/all/force_forwarding ]; then
	is "so does IPv6" "$(setting ipv6/conf/all/forwarding) $(setting \
		ipv6/conf/up0/force_forwarding) $(setting ipv6/conf/up0/accept_ra)" "0 1 1"
else
	is "IPv6 forwards, and up0 goes on listening to routers" \
		"$(setting ipv6/conf/all/forwarding) $(setting ipv6/conf/up0/accept_ra)" "2 2"
fi
ok "the default route has stayed" learnt
ip -6 route flush proto ra
advertise
ok "and would be learnt again" wait_for 5 learnt
is "a job can't advertise to the host" "$(setting ipv6/conf/wdr0/accept_ra)" 0
ok "a second slot" hold j-2
ok "the first is given back" drop j-1
is "what the second needs stays" "$(setting ipv4/conf/up0/forwarding)" 1
is "and it works" "$(ask j-2 $OUT4 8000)" 203.0.113.1
ok "the second, too" drop j-2
ok "then everything is as it was" wait_for 5 is_clean
# What follows is the same on every kernel.
if in_guest; then
	end
fi

ok "a slot" hold j-1
sysctl -q net.ipv4.ip_forward=1
ok "is given back after somebody has made the host a router" drop j-1
is "which it stays" "$(setting ipv4/conf/up0/forwarding)" 1
wait_for 5 links_gone
ok "on a router" hold j-1
is "transit goes on" "$(ask lan $OUT4 8000)" 192.0.2.2
ok "and the slot is given back" drop j-1
is "and a router it stays" "$(setting ipv4/ip_forward)" 1
sysctl -q net.ipv4.ip_forward=0
ok "nothing is left" wait_for 5 is_clean

# Rules that others flush.
ok "a slot" hold j-1
nft flush ruleset
try mend
is "flushed rules are made again" "$OUT" "mended 1"
try mend
is "once" "$OUT" "mended 0"
is "and the job's network works" "$(ask j-1 $OUT4 8000)" 203.0.113.1
ok "as ever" drop j-1
wait_for 5 is_clean
try mend
is "without slots there is nothing to mend" "$OUT" "mended 0"

# Firewalls.
nft add table ip filter
nft add chain ip filter FORWARD '{ type filter hook forward priority filter; policy drop; }'
no_slot "a firewall that drops what is forwarded" \
	'IPv4 .*table ip filter, chain FORWARD \(policy drop\)'
nft add rule ip filter FORWARD iifname '"wdr*"' accept
nft add rule ip filter FORWARD ct state established accept
ok "one that lets jobs through is none" hold j-1
is "and answers come" "$(ask j-1 $OUT4 8000)" 203.0.113.1
drop j-1
nft delete table ip filter
nft add table inet fw
nft add chain inet fw forw '{ type filter hook forward priority 10; }'
nft add rule inet fw forw meta nfproto ipv6 reject
no_slot "one that refuses IPv6" 'IPv6 .*table inet fw, chain forw:'
nft delete table inet fw
nft add table ip other
nft add chain ip other pre '{ type filter hook prerouting priority 0; }'
nft add rule ip other pre iifname '"wdr*"' drop
no_slot "one in another hook" 'IPv4 that jobs send is not forwarded'
nft delete table ip other
nft add table ip6 noise
nft add chain ip6 noise out '{ type filter hook output priority 0; policy drop; }'
slot "one that drops only what the host itself sends is none"
nft delete table ip6 noise
ip route del default
slot "a host without a default route has slots all the same"
ip route add default via $OUT4

# Addresses.
A=WARDER_NET_POOL4=10.9.0.0/30
no_slot "a malformed range" 'WARDER_NET_POOL4: .*want an IPv4 range' WARDER_NET_POOL4=10.9.0.0/31
no_slot "a range with host bits" '^WARDER_NET_POOL6: ' WARDER_NET_POOL6=fd00::1/112
export WARDER_NET_POOL4=10.9.0.0/29
ok "a range for two: one" hold j-1
is "which gets its address there" "$(told_of j-1 job4)" 10.9.0.2
ok "two" hold j-2
try count 1
like "three is one too many" "$ERR" 'address pool 10\.9\.0\.0/29 is used up: all 2 slots'
ok "one is given back" drop j-1
wait_for 5 eval '! ip link show wdr0'
ok "and can be had again" hold j-3
drop j-2
drop j-3
unset WARDER_NET_POOL4
wait_for 5 is_clean

ip route add 10.0.0.0/8 via 192.0.2.2 dev lan0
ok "a range that the host has a route into is passed over" hold j-1
like "for another" "$(told_of j-1 job4)" '^172\.30\.'
drop j-1
wait_for 5 is_clean
no_slot "a configured range that overlaps one" \
	'10\.9\.0\.0/30 overlaps the host.s route to 10\.0\.0\.0/8: set WARDER_NET_POOL4' "$A"
for net in 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 198.18.0.0/15; do
	ip route add blackhole $net
done
no_slot "a host with routes everywhere" 'no private range is free .*WARDER_NET_POOL4'
ip addr add 10.213.0.2/32 dev lo
ip route del 10.0.0.0/8
ok "a single address of the host inside the range" hold j-1
is "takes one slot" "$(told_of j-1 link)" wdr1
drop j-1
ip addr del 10.213.0.2/32 dev lo

export WARDER_NET_POOL6=none
ok "IPv6 can be left out" hold j-1
is "then a job has none" "$(in_ns j-1 ip -6 -o addr show dev eth0 | wc -l)" 0
drop j-1
unset WARDER_NET_POOL6
sysctl -q net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
BEFORE=$(forwarding)
slot "so it is on a host without"
ok "nothing is left" wait_for 5 is_clean

for i in $(seq 65); do
	echo "link add br$i type bridge"
	echo "addr add 10.99.$i.1/24 dev br$i"
	echo "link set br$i up"
done | ip -batch -
BEFORE=$(forwarding)
no_slot "a host with very many ways" 'more than 64 interfaces'
sysctl -q net.ipv4.ip_forward=1
slot "which is no matter if it forwards by itself"
end

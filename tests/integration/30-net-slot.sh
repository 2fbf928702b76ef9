#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a job's network lets through and what it refuses, on the real kernel; each refusal is shown to
# be ours: without our rules the same attempt succeeds.
# guest: yes
# timeout: 60
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

# drops KIND: packets that the rules have counted.
drops() {
	"$WDR_BUILD/tests/helpers/net_try" drops "$NET" | sed -n "s/^$1 //p"
}

# refused WHAT KIND WHO ADDR PORT: not reached, at once, and counted.
refused() {
	before=$(drops "$2")
	run ask "$3" "$4" "$5" 1
	if [ "$RC" -eq 1 ] && [ "$(drops "$2")" -gt "$before" ]; then
		tap_result 0 "$1: refused at once"
	else
		tap_result 1 "$1: refused at once" || note "$2 was $before, is $(drops "$2")" && tap_show
	fi
}

without_rules() {
	nft delete table inet warder
}
with_rules() {
	try mend
	is "the rules are made again" "$OUT" "mended 1"
}

# send SOURCE DEST TEXT: a UDP packet from j-1 with that source address, whoever has it.
send() {
	in_ns j-1 /usr/bin/python3 /run/send.py "$@"
}
write_sender() {
	cat >/run/send.py <<-'EOF'
	import socket, struct, sys
	src, dst, text = sys.argv[1], sys.argv[2], sys.argv[3].encode()
	family = socket.AF_INET6 if ":" in dst else socket.AF_INET
	a, b = socket.inet_pton(family, src), socket.inet_pton(family, dst)
	udp = struct.pack("!HHHH", 4000, 8000, 8 + len(text), 0) + text
	s = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW)
	if family == socket.AF_INET:
	    s.sendto(struct.pack("!BBHHHBBH", 69, 0, 0, 1, 0, 64, 17, 0) + a + b + udp, (dst, 0))
	else:
	    data = a + b + struct.pack("!II", len(udp), 17) + udp + b"\0" * (len(udp) % 2)
	    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
	    total = (total & 65535) + (total >> 16)
	    udp = udp[:6] + struct.pack("!H", ~(total + (total >> 16)) & 65535) + udp[8:]
	    s.sendto(struct.pack("!IHBB", 6 << 28, len(udp), 17, 64) + a + b + udp, (dst, 0))
	EOF
}
got() {
	grep -q " $1\$" /run/udp.8000
}

need ip nft nsenter bash
lab_up
BEFORE=$(forwarding)
begin
serve out 8000
serve host 9000
write_sender
note "kernel $(uname -r)"

ok "a slot is made" hold j-1
is "a job reaches the outside with its first packet, and looks like the host" \
	"$(ask j-1 $OUT4 8000)" 203.0.113.1
is "over IPv6 as well, without waiting" "$(ask j-1 $OUT6 8000)" 2001:db8:1::1
is "loopback is up" "$(in_ns j-1 ip -o -4 addr show dev lo up | grep -c 127.0.0.1/8)" 1
HOST4=$(told_of j-1 host4)
JOB4=$(told_of j-1 job4)
JOB6=$(told_of j-1 job6)

is "somebody listens on the host" "$(ask host 203.0.113.1 9000)" 203.0.113.1
refused "the host's address on the slot" to_host j-1 "$HOST4" 9000
refused "the host's own address" to_host j-1 203.0.113.1 9000
refused "the host's address on another interface" to_host j-1 192.0.2.1 9000
refused "the host's own IPv6 address" to_host j-1 2001:db8:1::1 9000
nft add table ip published
nft add chain ip published pre '{ type nat hook prerouting priority dstnat; }'
nft add rule ip published pre ip daddr 203.0.113.1 tcp dport 8080 dnat to $OUT4:8000
refused "a port that the host publishes" to_host j-1 203.0.113.1 8080
without_rules
like "without our rules the host is open to it" "$(ask j-1 203.0.113.1 9000)" "$JOB4"
with_rules

ok "a second slot" hold j-2
JOB4_2=$(told_of j-2 job4)
serve j-2 7000
refused "another job" to_job j-1 "$JOB4_2" 7000
refused "another job over IPv6" to_job j-1 "$(told_of j-2 job6)" 7000
before=$(drops inbound)
fails "nobody outside begins with a job" ask out "$JOB4_2" 7000 1
is "which is counted" "$([ "$(drops inbound)" -gt "$before" ] && echo yes)" yes
before=$(drops transit)
fails "nobody goes through the host because of us" ask lan $OUT4 8000 1
is "which is counted, too" "$([ "$(drops transit)" -gt "$before" ] && echo yes)" yes
if in_guest; then
	ok "a slot is given back" drop j-1
	ok "and the other" drop j-2
	ok "nothing is left" wait_for 10 links_gone
	end
fi
without_rules
is "without our rules jobs reach each other" "$(ask j-1 "$JOB4_2" 7000)" "$JOB4"
is "and so does the outside" "$(ask out "$JOB4_2" 7000)" $OUT4
is "and the host is a router" "$(ask lan $OUT4 8000)" 192.0.2.2
with_rules

before=$(drops spoofed)
send 203.0.113.77 $OUT4 from-afar
send "$JOB4_2" $OUT4 from-a-job
send 203.0.113.1 $OUT4 from-the-host
send 2001:db8:1::77 $OUT6 from-afar-6
send "$JOB4" $OUT4 true-4
send "$JOB6" $OUT6 true-6
ok "a packet under the job's own address arrives" wait_for 5 got true-4
ok "over IPv6 as well" wait_for 5 got true-6
fails "none under a false one" grep -E 'from-(afar|a-job|the-host)' /run/udp.8000
is "all four are counted" "$(($(drops spoofed) - before))" 4
without_rules
sysctl -q net.ipv4.conf.wdr0.rp_filter=0
send 203.0.113.77 $OUT4 now-from-afar
ok "without our rules it arrives" wait_for 5 got now-from-afar
with_rules
sysctl -q net.ipv4.conf.wdr0.rp_filter=1

nft add table netdev marker
nft add chain netdev marker in '{ type filter hook ingress device wdr0 priority 0; }'
nft add rule netdev marker in meta mark set 0x57445201
is "what the packet filter has marked may go to the host" "$(ask j-1 203.0.113.1 9000)" "$JOB4"
nft delete table netdev marker

# A narrow way: the host answers for it, and the job learns.
narrow() {
	in_ns j-1 /usr/bin/python3 - <<-'EOF'
	import socket, sys, time
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
	s.connect(("192.0.2.2", 7))
	for i in range(50):
	    try:
	        s.send(b"x" * 1472)
	    except OSError as e:
	        print(e.errno == 90, s.getsockopt(socket.IPPROTO_IP, 14))  # EMSGSIZE, IP_MTU
	        sys.exit(0)
	    time.sleep(0.02)
	EOF
}
is "a job has the MTU of the default route" "$(told_of j-1 mtu)" 1500
ip link set lan0 mtu 1400
is "and hears of a narrower way" "$(narrow)" "True 1400"

ok "a slot is given back" drop j-1
ok "its link goes" wait_for 5 eval '! ip link show wdr0'
is "the other one still works" "$(ask j-2 $OUT4 8000)" 203.0.113.1
ok "and the last" drop j-2

ok "a namespace that belongs to a user namespace gets a slot, too" hold j-3 own
OWN=$(told_of j-3 netns_own)
is "and reaches the outside" \
	"$(nsenter --net="$OWN" bash -c 'head -n 1 </dev/tcp/203.0.113.2/8000')" 203.0.113.1
ok "and is given back" drop j-3
ok "a slot made ahead is taken" hold j-4 ahead
is "and works" "$(ask j-4 $OUT4 8000)" 203.0.113.1
like "under the job's name" "$(ip link show dev "$(told_of j-4 link)")" 'alias warder j-4$'
ok "and is given back, with the other that was ahead" drop j-4
ok "nothing is left" wait_for 5 is_clean
end

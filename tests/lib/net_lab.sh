# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A small internet for tests of a job's network, all of it in namespaces that end with the test:
#
#	job --- wdrN [ host ] up0 --- out0 [ out ]     203.0.113.0/24, 2001:db8:1::/64; default route
#	             [ host ] lan0 -- in0  [ lan ]     192.0.2.0/24
#
# The script is started again as "the host", in namespaces of its own with /run empty. Source this
# first of all, then tap.sh.

if [ -z "${WDR_IN_LAB:-}" ]; then
	[ "$(id -u)" -eq 0 ] || {
		echo "1..0 # SKIP needs root"
		exit 77
	}
	export WDR_IN_LAB=1
	# Whatever the test starts ends with its process namespace. In the guests of check-kernels
	# busybox's sh and /usr/bin would come up with an ip and an unshare of their own.
	export PATH="/usr/sbin:/sbin:$PATH"
	exec /usr/bin/unshare --net --mount --propagation private --pid --fork --kill-child --mount-proc bash "$0" "$@"
fi

# in_guest: below check-kernels, where everything takes ten times as long.
in_guest() {
	[ "$TOP" = /warder ]
}

NET=/run/net
OUT4=203.0.113.2
OUT6=2001:db8:1::2
export NET OUT4 OUT6

# in_ns WHERE COMMAND...: WHERE is host, the name of a namespace, or a job that "hold" told of.
in_ns() {
	lab_where=$1
	shift
	if [ "$lab_where" = host ]; then
		"$@"
	elif [ -e "/run/netns/$lab_where" ]; then
		nsenter --net="/run/netns/$lab_where" "$@"
	else
		nsenter --net="$(told_of "$lab_where" netns)" "$@"
	fi
}

# lab_link HOST_END NAMESPACE FAR_END HOST4 FAR4
lab_link() {
	ip netns add "$2"
	ip link add "$1" type veth peer name "$3" netns "$2"
	ip addr add "$4" dev "$1"
	ip link set "$1" up
	ip -n "$2" link set lo up
	ip -n "$2" addr add "$5" dev "$3"
	ip -n "$2" link set "$3" up
}

lab_up() {
	# The programs that hang on the cgroups of jobs are the machine's: there must not be two sets,
	# each of which would deny the other's jobs.
	if grep -q " /run/warder/bpf " /proc/mounts; then
		mkdir "$TMPDIR/bpf"
		mount --bind /run/warder/bpf "$TMPDIR/bpf"
	fi
	mount -t tmpfs none /run
	if [ -d "$TMPDIR/bpf" ]; then
		mkdir -p /run/warder/bpf
		mount --bind "$TMPDIR/bpf" /run/warder/bpf
	fi
	mkdir /run/netns
	# A new namespace has the machine's settings, and one with engines of containers forwards.
	sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
	ip link set lo up
	lab_link up0 out out0 203.0.113.1/24 203.0.113.2/24
	lab_link lan0 lan in0 192.0.2.1/24 192.0.2.2/24
	ip -6 addr add 2001:db8:1::1/64 dev up0 nodad
	ip -n out -6 addr add 2001:db8:1::2/64 dev out0 nodad
	ip route add default via 203.0.113.2
	ip -6 route add default via 2001:db8:1::2
	# What knows the host as a router tries to go through it.
	ip -n out route add 10.0.0.0/8 via 203.0.113.1
	ip -n out route add 192.0.2.0/24 via 203.0.113.1
	ip -n lan route add default via 192.0.2.1
}

# try DEED...: net_try, its output into OUT, ERR, RC.
try() {
	deed=$1
	shift
	run timeout 30 "$WDR_BUILD/tests/helpers/net_try" "$deed" "$NET" "$@"
}

# hold NAME [WORD...]: a slot for job NAME that lives until "drop NAME"; what it tells is in
# /run/NAME. Fails if there is none.
hold() {
	lab_name=$1
	shift
	rm -f "/run/$lab_name" "/run/$lab_name.in"
	mkfifo "/run/$lab_name.in"
	"$WDR_BUILD/tests/helpers/net_try" hold "$NET" "$lab_name" "$@" \
		<"/run/$lab_name.in" >"/run/$lab_name" 2>"/run/$lab_name.err" &
	echo $! >"/run/$lab_name.pid"
	# Open without waiting for it: the write end stays with this function's shell.
	sleep 1000 >"/run/$lab_name.in" &
	echo $! >"/run/$lab_name.keeper"
	wait_for 20 told "$lab_name"
	grep -qs "^ready" "/run/$lab_name" || {
		cat "/run/$lab_name.err" >&2
		return 1
	}
}

told() {
	grep -qs "^ready" "/run/$1" || ! kill -0 "$(cat "/run/$1.pid")"
}

# drop NAME: give the slot back, and wait until it is.
drop() {
	kill "$(cat "/run/$1.keeper")" 2>/dev/null
	wait "$(cat "/run/$1.pid")" 2>/dev/null
	lab_rc=$?
	rm -f "/run/$1.in"
	return $lab_rc
}

# crash NAME: kill -9 its supervisor.
crash() {
	kill -KILL "$(cat "/run/$1.pid")"
	wait "$(cat "/run/$1.pid")" 2>/dev/null
	kill "$(cat "/run/$1.keeper")" 2>/dev/null
	rm -f "/run/$1.in"
}

# told_of NAME KEY
told_of() {
	sed -n "s/^$2 //p" "/run/$1"
}

# serve WHERE PORT [close]: a server on the host, in a namespace or with a job, TCP and UDP, both families: answers TCP with the
# peer's address, closes then if that is asked for, and writes a line for each UDP packet to /run/udp.$2.
serve() {
	cat >/run/serve.py <<-'EOF'
	import os, select, socket, sys
	port = int(sys.argv[1])
	socks = []
	for family, any_ in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
	    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
	        s = socket.socket(family, kind)
	        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
	        if family == socket.AF_INET6:
	            s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
	        s.bind((any_, port))
	        if kind == socket.SOCK_STREAM:
	            s.listen(64)
	        socks.append(s)
	log = open(f"/run/udp.{port}", "a", buffering=1)
	kept = []
	open(f"/run/up.{port}", "w").close()
	while True:
	    for s in select.select(socks, [], [])[0]:
	        if s.type == socket.SOCK_STREAM:
	            c, peer = s.accept()
	            c.send((peer[0] + "\n").encode())
	            if "close" in sys.argv:
	                c.close()
	            kept = kept[-100:] + [c]
	        else:
	            data, peer = s.recvfrom(100)
	            log.write(f"{peer[0]} {data.decode()}\n")
	EOF
	in_ns "$1" /usr/bin/python3 /run/serve.py "$2" "${3:-}" &
	wait_for 60 test -e "/run/up.$2"
}

# ask WHO ADDR PORT [SECONDS]: who the peer says we are.
ask() {
	# shellcheck disable=SC2016
	in_ns "$1" timeout "${4:-2}" bash -c \
		'read -r line <"/dev/tcp/$0/$1" && echo "$line"' "$2" "$3"
}

# Nothing of ours is left on the host.
links_gone() {
	! ip -o link | grep -q ' wdr[0-9]'
}
is_clean() {
	links_gone && ! nft list tables | grep -q warder && [ ! -e $NET/sysctls ] &&
		[ ! -s $NET/slots ] && [ "$(forwarding)" = "$BEFORE" ]
}

# Every forwarding setting of the host, to compare.
forwarding() {
	grep -H . /proc/sys/net/ipv4/conf/*/forwarding /proc/sys/net/ipv6/conf/*/forwarding \
		/proc/sys/net/ipv6/conf/*/accept_ra /proc/sys/net/ipv6/conf/*/force_forwarding \
		2>/dev/null | grep -v /wdr
}

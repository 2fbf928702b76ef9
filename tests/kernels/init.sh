#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guest's first process: sets the machine up, runs the tests and powers off. With WDR_INIT=systemd
# on the kernel's command line systemd becomes the first process, and runs this as a service.
# What boot.py is to read begins with "WDR| ": "= NAME" starts a test, ". STATUS" ends it, its
# output is between.

# Once this script stands on a root that can be left: pivot_root(2) refuses the kernel's first one.
move_root() {
	mount -t devtmpfs dev /dev
	mount --bind / /n
	cd /n && mount --move . / && exec chroot . /init set-up
}

seconds() {
	cut -d ' ' -f 1 /proc/uptime
}

set_up() {
	mount -t devtmpfs dev /dev # the bind mount above did not take it along
	mount -t proc proc /proc
	mount -t sysfs sys /sys
	mount -t tmpfs -o mode=755 run /run
	mount -t tmpfs -o mode=1777 tmp /tmp
	mkdir -p /dev/pts /dev/shm /run/lock /run/netns
	mount -t devpts -o ptmxmode=666 pts /dev/pts
	mount -t tmpfs shm /dev/shm
	ln -sf /proc/self/fd /dev/fd
	mount -t cgroup2 cgroup /sys/fs/cgroup
	mount -t bpf bpf /sys/fs/bpf
	mount -t tracefs trace /sys/kernel/tracing
	mount -t securityfs security /sys/kernel/security
	ip link set lo up 2>/dev/null || ifconfig lo 127.0.0.1 up
	echo "WDR| # $(uname -r), up $(seconds) s"
}

become_systemd() {
	mkdir -p /run/systemd/system
	cat >/run/systemd/system/tests.service <<-EOF
	[Unit]
	DefaultDependencies=no
	Requires=dbus.socket
	After=dbus.socket
	[Service]
	Type=oneshot
	ExecStart=/bin/sh -c 'exec /init tests >/dev/console 2>&1'
	Environment=WDR_ONLY=${WDR_ONLY:-*}
	EOF
	exec /lib/systemd/systemd --unit=tests.service --log-target=null
}

# comes_now TEST: a test comes under the init that it names by `# init: systemd` or `both`, or else
# without systemd; one from outside this folder only if it says `# guest: yes`.
comes_now() {
	head=$(head -n 20 "$1")
	said=$(echo "$head" | sed -n 's/^# init: //p')
	case $1 in
	tests/kernels/guest/*) ;;
	*.sh | *.py) echo "$head" | grep -q '^# guest: yes$' || return 1 ;;
	esac
	# shellcheck disable=SC2254 # a pattern
	case ${1##*/} in
	${WDR_ONLY:-*}) ;;
	*) return 1 ;;
	esac
	case ${said:-plain} in
	both) ;;
	*) [ "${said:-plain}" = "${WDR_INIT:-plain}" ] ;;
	esac
}

# measure: how many times as long as on a real machine the start of a program takes here: what emulation and
# the machine's other work cost just now. A real one needs about a millisecond.
measure() {
	began=$(seconds)
	i=0
	while [ $i -lt 100 ]; do
		i=$((i + 1))
		/bin/true
	done
	WDR_SLOW=$(echo "$began $(seconds)" | awk '{ n = int(($2 - $1) * 10 + 0.5); print n < 1 ? 1 : n }')
	export WDR_SLOW
	echo "WDR| # programs start $WDR_SLOW times slower than they should"
}

# A limit is that of the test's tier, times what was measured; a test that hangs ends within 8 minutes all the same.
run_test() {
	limit=$(head -n 20 "$1" | sed -n 's/^# timeout: \([0-9]*\)$/\1/p')
	limit=$((${limit:-60} * WDR_SLOW))
	[ $limit -le 480 ] || limit=480
	echo "WDR| = ${1##*/}"
	{
		case $1 in
		*.sh) timeout -s KILL $limit /bin/sh "$1" ;;
		*.py) timeout -s KILL $limit /usr/bin/python3 "$1" ;;
		*) CMOCKA_MESSAGE_OUTPUT=TAP timeout -s KILL $limit "$1" ;;
		esac
		echo ". $?"
	} </dev/null 2>&1 | while IFS= read -r line; do
		echo "WDR| $line"
	done
	echo "WDR| # ${1##*/} ended at $(seconds) s"
	rm -rf /tmp/*
}

run_tests() {
	cd /warder || return
	measure
	for t in tests/kernels/guest/*.sh tests/integration/*.sh tests/e2e/*.sh tests/e2e/*.py \
		build/plain/tests/bpf/test_* build/plain/tests/unit/test_*; do
		[ -f "$t" ] && comes_now "$t" && run_test "$t"
	done
	echo "WDR| # done, up $(seconds) s"
	echo "WDR| end"
}

export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LANG=C.UTF-8 TMPDIR=/tmp
export WDR_BUILD=/warder/build/plain
case ${1:-} in
set-up)
	set_up
	[ "${WDR_INIT:-}" = systemd ] && become_systemd
	echo "+cpu +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
	run_tests
	poweroff -f
	;;
tests)
	export WDR_INIT=systemd
	run_tests
	poweroff -f
	;;
*) move_root ;;
esac

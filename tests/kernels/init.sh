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
	*.sh) echo "$head" | grep -q '^# guest: yes$' || return 1 ;;
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

run_test() {
	limit=$(head -n 20 "$1" | sed -n 's/^# timeout: \([0-9]*\)$/\1/p')
	echo "WDR| = ${1##*/}"
	{
		case $1 in
		*.sh) timeout -s KILL $((3 * ${limit:-20})) /bin/sh "$1" ;;
		*) CMOCKA_MESSAGE_OUTPUT=TAP timeout -s KILL 60 "$1" ;;
		esac
		echo ". $?"
	} </dev/null 2>&1 | sed 's/^/WDR| /'
	echo "WDR| # ${1##*/} ended at $(seconds) s"
	rm -rf /tmp/*
}

run_tests() {
	cd /warder || return
	for t in tests/kernels/guest/*.sh tests/integration/*.sh tests/e2e/*.sh \
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

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The guest's first process: sets the machine up, runs the tests and powers off. What boot.py is to
# read begins with "WDR| ": "= NAME" starts a test, ". STATUS" ends it, its output is between.

if [ -z "$WDR_MOVED" ]; then
	mount -t devtmpfs dev /dev
	/bin/busybox --install -s /usr/bin 2>/dev/null
	# pivot_root(2) refuses the first root file system: stand on a bind mount of it.
	mount --bind / /n
	cd /n && mount --move . / && WDR_MOVED=1 exec chroot . /init
fi

export PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root LANG=C.UTF-8 TMPDIR=/tmp
export WDR_BUILD=/warder/build/plain
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
echo "+cpu +memory +pids" >/sys/fs/cgroup/cgroup.subtree_control
ip link set lo up 2>/dev/null || ifconfig lo 127.0.0.1 up
while read -r m; do
	insmod "/modules/$m" || echo "WDR| # insmod $m failed"
done </modules/order
echo "WDR| # $(uname -r), up $(cut -d ' ' -f 1 /proc/uptime) s"

# told_to_come TEST: it says `# guest: yes` near its top.
told_to_come() {
	head -n 20 "$1" | grep -q '^# guest: yes$'
}

cd /warder || exit
for t in tests/kernels/guest/*.sh tests/integration/*.sh tests/e2e/*.sh \
	build/plain/tests/bpf/test_*; do
	[ -f "$t" ] || continue
	case $t in
	tests/kernels/guest/*) ;;
	*.sh) told_to_come "$t" || continue ;;
	esac
	limit=$(head -n 20 "$t" | sed -n 's/^# timeout: \([0-9]*\)$/\1/p')
	echo "WDR| = ${t##*/}"
	{
		case $t in
		*.sh) timeout -s KILL $((3 * ${limit:-20})) sh "$t" ;;
		*) CMOCKA_MESSAGE_OUTPUT=TAP timeout -s KILL 60 "$t" ;;
		esac
		echo ". $?"
	} </dev/null 2>&1 | sed 's/^/WDR| /'
	rm -rf /tmp/*
done
echo "WDR| # done, up $(cut -d ' ' -f 1 /proc/uptime) s"
echo "WDR| end"
poweroff -f

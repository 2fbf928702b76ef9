#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# systemd is the first process, on a pure cgroup v2, and gives a delegated scope over the bus.
# init: systemd
# shellcheck disable=SC2016 # the scope's shell expands it
. "$(dirname "$0")/../../lib/tap.sh"

begin
is "systemd is process 1" "$(cat /proc/1/comm)" systemd
is "cgroups are version 2 only" "$(grep -c cgroup /proc/mounts)" 1
ok "it answers on the bus" busctl get-property org.freedesktop.systemd1 \
	/org/freedesktop/systemd1 org.freedesktop.systemd1.Manager Version
ok "it makes a scope that is ours to divide" systemd-run --scope --quiet -p Delegate=yes \
	--unit=warder-test.scope sh -c 'cg=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)
	case $cg in */warder-test.scope) ;; *) exit 1 ;; esac
	mkdir $cg/leaf && echo $$ >$cg/leaf/cgroup.procs && mkdir $cg/job &&
	echo "+memory +pids" >$cg/cgroup.subtree_control && test -f $cg/job/memory.max'
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What every test here stands on: a pure cgroup v2 with our controllers, BTF, the modules, and our
# program, which starts.
. "$(dirname "$0")/../../lib/tap.sh"

begin
is "root is process 1" "$(id -u):$(cat /proc/1/comm)" "0:init"
is "cgroups are version 2 only" "$(grep -c cgroup /proc/mounts)" 1
for c in cpu memory pids; do
	like "children get $c" "$(cat /sys/fs/cgroup/cgroup.subtree_control)" "(^| )$c( |\$)"
done
ok "the kernel describes its types" test -s /sys/kernel/btf/vmlinux
for m in veth sch_ingress cls_bpf overlay nf_tables; do
	ok "there is $m" modprobe "$m"
done
ok "a root can be pivoted" unshare -m sh -c 'mount -t tmpfs x /mnt && mkdir /mnt/old &&
	cd /mnt && pivot_root . old'
if command -v warder >/dev/null; then
	run warder version
	is "warder starts" "$RC" 0
	like "and says its version" "$OUT" '[0-9]+\.[0-9]+'
else
	skip "warder starts" "no warder was built"
fi
end

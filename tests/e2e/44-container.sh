#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Warder in a container: in cgroup, pid and mount namespaces of its own, below cgroups that it does
# not see. The kernel's programs find its jobs all the same, and call processes as the host does.
# timeout: 120
# guest: yes
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck disable=SC2016 # what shells inside expand
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
need ip nft python3 jq
CG2=/sys/fs/cgroup
[ ! -e $CG2/unified/cgroup.procs ] || CG2=$CG2/unified
OUTER=$CG2/$T
undo() {
	echo 1 >"$OUTER/cgroup.kill"
	wait_for 5 grep -q 'populated 0' "$OUTER/cgroup.events"
	find "$OUTER" -depth -type d -exec rmdir {} +
}
lab_up
begin undo
serve out 8000

# As an engine does: every controller on the way down.
mkdir -p "$OUTER/deep"
for d in "$CG2" "$OUTER" "$OUTER/deep"; do
	sed 's/[^ ]*/+&/g' "$d/cgroup.controllers" >"$d/cgroup.subtree_control"
done
# Nobody who is in the container's cgroup is outside of its pid namespace: such could not be moved.
cat >/run/box.sh <<'S'
echo 0 >"$BOX/cgroup.procs" && exec /usr/bin/unshare -C sh /run/inside.sh "$@"
S
cat >/run/inside.sh <<'S'
umount -l "$CG2" && mount -t cgroup2 none "$CG2" || exit 9
exec "$@"
S
# box: the cgroup of a fresh container, in BOX: one in which a Warder was has only children.
box() {
	N=$((${N:-0} + 1))
	BOX=$OUTER/deep/box$N
	export CG2 BOX
	mkdir "$BOX"
}
# boxed COMMAND...: in the container.
boxed() {
	/usr/bin/unshare -m -p -f --kill-child --mount-proc sh /run/box.sh "$@"
}
r() { jq -rc "$1" /run/r.json; }
e() { jq -src "$1" /run/events; }
job() { box && run boxed warder run --result /run/r.json --events /run/events --cpus 1 "$@"; }

box
is "the container does not see what is above it" "$(boxed grep ^0: /proc/self/cgroup)" 0::/
cat >/run/try.py <<'P'
import os, socket
for i in range(100):
    os.getppid()
print(socket.create_connection(("203.0.113.2", 8000), 3).recv(100).decode().strip())
try:
    socket.create_connection(("203.0.113.2", 9000), 3)
except OSError as e:
    print(e.strerror)
P
BUDGET=500ms
in_guest && BUDGET=8s
job --allow $OUT4:8000 --syscalls --cpu-time $BUDGET -v /run/try.py:/try.py -- \
	sh -c 'python3 /try.py; while :; do :; done'
is "a job reaches what it may" "$(printf %s "$OUT" | head -1)" 203.0.113.1
is "and nothing else" "$(printf %s "$OUT" | sed -n 2p)/$(r '.denials[0].to')" "Operation not permitted/$OUT4:9000/tcp"
is "its system calls are counted" "$(r '.usage.syscalls.by_name.getppid >= 100')" true
is "its CPU budget ends it" "$RC/$(r .exit.reason)" 137/cpu-budget
is "its processes are told of" "$(e '[.[] | select(.event == "exec") | .path] | map(select(test("python3"))) | length')" 1
is "by one name for one process" "$(e 'map(select(.event == "exit" and .comm == "warder-init"))[0].pid')" \
	"$(e 'map(select(.event == "started"))[0].pid')"

# The whole job, and not only what runs: that needs its first process's pid in the first namespace.
mkfifo /run/go
box
boxed warder run --result /run/r.json --events /run/events2 --cpus 1 --cpu-time $BUDGET -- \
	sh -c 'sleep 98765 & echo go; while :; do :; done' >/run/go 2>/dev/null &
BOXED=$!
read -r GO </run/go
PID=$(grep -lx warder /proc/[0-9]*/comm | sed 's/[^0-9]//g')
kill -STOP "$PID"
none_left() { ! grep -qs 'populated 1' "$BOX"/warder/*/cgroup.events; }
fails "a job's processes are seen" none_left
ok "the kernel kills all of a job while the supervisor is stopped" wait_for 60 none_left
kill -CONT "$PID"
wait $BOXED
is "and the reason is known afterwards" "$GO/$(r .exit.reason)" go/cpu-budget
end

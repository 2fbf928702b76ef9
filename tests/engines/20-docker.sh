#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Docker's daemon starts warder-runsc as one of its runtimes, on the bridge network that it makes.
# timeout: 90
# shellcheck disable=SC2016 # what a container's own shell expands
# shellcheck source=tests/lib/net_lab.sh
. "$(dirname "$0")/../lib/net_lab.sh"
# shellcheck source=tests/lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"
# shellcheck source=tests/lib/engine_lab.sh
. "$(dirname "$0")/../lib/engine_lab.sh"
need containerd jq busybox nft
DOCKER=$TOP/build/engines/docker
[ -x "$DOCKER/usr/sbin/dockerd" ] || skip_all "needs $DOCKER (packaging/engines.sh docker)"
RUNSC=$TOP/build/runsc/new/runsc
[ -x "$RUNSC" ] || skip_all "needs $RUNSC (packaging/runsc.sh)"
PATH=$DOCKER/usr/bin:$DOCKER/usr/sbin:$PATH
E=$TMPDIR/e
DOCKERD=
d() { timeout 60 docker -H "unix://$E/d.sock" "$@"; }
undo() {
	[ -z "$DOCKERD" ] || d ps -aq | while read -r id; do d rm -f "$id"; done
	[ -z "$DOCKERD" ] || { kill "$DOCKERD" && wait "$DOCKERD"; }
	for m in $(sed -n "s,[^ ]* \($E/[^ ]*\) .*,\1,p" /proc/mounts | sort -r); do umount -l "$m"; done
	engine_lab_down
}
begin undo
mkdir -p "$E/image/bin"
engine_lab_up
policy lab '"network": {"mode": "egress", "rules": [{"action": "allow", "to": "203.0.113.2", "ports": ["8000"]}]}'
policy burn '"limits": {"cpu": "2s"}'
policy count '"syscalls": {"count": true}'
use() { settings "\"runsc\": \"$RUNSC\"${1:+, \"default\": \"$1\"}"; }
use ""

sysctl -qw net.ipv4.ip_forward=1
nft 'table ip engine { chain post { type nat hook postrouting priority 100; ip saddr 172.31.0.0/16 oifname "up0" masquerade; }; }'
echo "{\"runtimes\": {\"warder\": {\"path\": \"$WDR_BUILD/bin/warder-runsc\"}}, \"bip\": \"172.31.9.1/24\"}" >"$E/daemon.json"
dockerd --config-file "$E/daemon.json" --data-root "$E/data" --exec-root "$E/exec" -p "$E/pid" -H "unix://$E/d.sock" \
	--iptables=false --ip6tables=false --storage-driver vfs >"$E/log" 2>&1 &
DOCKERD=$!
ok "dockerd is there" wait_for 20 d version
[ "$RC" -eq 0 ] || end
image() {
	cp /bin/busybox "$E/image/bin/busybox" && for p in sh sleep nc timeout echo; do ln -s busybox "$E/image/bin/$p"; done
	tar -C "$E/image" -c . | d import - box
}
ok "an image of our own" image

ASK='for p in 8000 9000; do o=$(timeout 2 nc 203.0.113.2 $p </dev/null); echo ${o:-refused}; done'
run d run --rm --runtime warder box /bin/sh -c "$ASK; echo err >&2; exit 3"
is "without a policy: both servers, streams, status" "$(echo "$OUT" | tr '\n' ' ')/$(echo "$ERR" | tail -n 1)/$RC" "203.0.113.1 203.0.113.1 /err/3"
use lab
run d run --rm --runtime warder box /bin/sh -c "$ASK"
is "with a default policy, what it allows and no more" "$(echo "$OUT" | tr '\n' ' ')" "203.0.113.1 refused "
is "the report says so" "$(reported '[.policy, .end, .denials[0].to]')$(remains)" '["lab","deleted","203.0.113.2:9000/tcp"]'
ok "docker run -d" d run -d --name t1 --runtime warder box /bin/sleep 100
run d exec t1 /bin/sh -c "$ASK; exit 5"
is "docker exec is held to the same" "$(echo "$OUT" | tr '\n' ' ')/$RC" "203.0.113.1 refused /5"
ok "docker pause" d pause t1
ok "docker unpause" d unpause t1
ok "docker stop" d stop -t 1 t1
ok "docker rm" d rm t1
is "nothing is left" "$(remains)" ""
use burn
run d run --rm --runtime warder box /bin/sh -c 'timeout 10 /bin/sh -c "while :; do :; done"; echo survived'
is "docker sees that the CPU budget is used up" "$OUT/$RC" /137
is "the report says why" "$(reported '[.policy, .verdict.reason]')$(remains)" '["burn","cpu-budget"]'
use count
run d run --rm --runtime warder box /bin/echo ran
like "a policy that can't be enforced starts nothing, and docker says why" "$OUT/$ERR/$RC" '^/.*syscalls.count needs a supervisor.*'
is "nothing is left of that" "$(remains)" ""
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What is kept from job to job is what the job would have made itself. A root follows the host's
# /etc, shows nothing that is not public and belongs to nobody inside; a network namespace goes on
# to another job only if it was not used. Neither grows without end.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"
need python3
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
if [ -z "$WDR_IN_NS" ]; then
	WDR_IN_NS=1 exec unshare -m --propagation private sh "$0"
fi
begin
CACHE=/run/warder/cache
mkdir -p /run/warder && mount -t tmpfs -o mode=0755,nodev none /run/warder
cp -a /etc "$TMPDIR/etc" && mount --bind "$TMPDIR/etc" /etc
kept() { find $CACHE -maxdepth 1 -name 'root-*' | wc -l; }
# A start keeps a root only once what it was made of has been left alone for two seconds.
keeps() { warder run -q "$@" -- true && [ "$(kept)" -ge "$WANT" ]; }

is "the owner of what pid 1 makes is the job's user" "$(warder run -- stat -c %U / /etc/passwd | tr '\n' ' ')" "user user "
WANT=1
ok "a root is kept" wait_for 10 keeps
is "and nobody's" "$(warder run -- stat -c %U / /dev /etc/passwd | tr '\n' ' ')" "nobody nobody nobody "
run warder run -- sh -c 'echo x >/dev/null && head -c 2 /dev/zero | od -An -tx1 && echo >/x'
is "its nodes are devices" "$(echo "$OUT" | tr -d ' ')" 0000
like "its files can't be changed" "$ERR" 'Read-only'
is "its generated files are the policy's" "$(warder run --user 7:8 -- sed -n /x:7:8:/p /etc/passwd)" "user:x:7:8:user:/home/user:/bin/sh"
is "what lies below /tmp is the job's alone" "$(warder run -- sh -c 'ls -a /tmp /tmp/.. | grep -c -e shm -e "^t0"')" 0
is "with a mount the root is made for it" "$(warder run -v /usr:/data -- stat -c %U /)" user

is "as many as there are kinds" "$(kept)" 2
WANT=3
touch /etc/wdr-new
ok "another /etc is another root" wait_for 10 keeps
chmod 600 /etc/ld.so.cache
WANT=4
ok "and so is another file of it" wait_for 10 keeps
is "a file that is not public is not shown" "$(warder run -- ls /etc/ld.so.cache 2>&1 | grep -c 'No such')" 1
chmod 644 /etc/ld.so.cache
mkdir $CACHE/root-new-1 && touch -d yesterday $CACHE/root-new-1

mkfifo "$TMPDIR/in"
warder run -- sh -c 'read -r x; cat /etc/group' <"$TMPDIR/in" >"$TMPDIR/late" &
exec 5>"$TMPDIR/in"
many() {
	for u in $(seq 2000 2024); do
		warder run -q --user "$u" -- true || return 1
	done
	[ ! -e "$CACHE/root-new-1" ]
}
ok "many kinds come, and what a killed start left goes" wait_for 15 many
is "as do older ones" "$(kept)" 16
echo >&5
exec 5>&-
wait
like "but none that is used" "$(tr '\n' ' ' <"$TMPDIR/late")" '^root:x:0: user:x:1000: '

warder run -- true
net() { warder run "$@" -- readlink /proc/self/ns/net | tr -dc 0-9; }
nets() { stat -f -c %t $CACHE/net-* | grep -c 6e736673; } # NSFS_MAGIC of linux/magic.h
# Counts of loopback, and of what could not be sent at all, before and after.
use() {
	warder run -- python3 -c "
import socket
s = socket.socket($1)
try:
    $2
except OSError:
    pass"
}
A=$(net)
is "a job without network gets the namespace of the last one" "$(net)" "$A"
is "in which loopback is up" "$(warder run -- sed -n 's/ .*//p' /proc/net/if_inet6)" 00000000000000000000000000000001
for u in 'socket.AF_INET, socket.SOCK_DGRAM|s.sendto(b"x", ("127.0.0.1", 9))' \
	'socket.AF_INET6, socket.SOCK_DGRAM|s.sendto(b"x", ("::1", 9))' \
	'socket.AF_INET|s.connect(("127.0.0.1", 9))' \
	'socket.AF_INET|s.connect(("192.0.2.1", 9))' \
	'socket.AF_INET6|s.connect(("2001:db8::1", 9))'; do
	A=$(net)
	use "${u%%|*}" "${u#*|}"
	unlike "but not after ${u#*|}" "$(net)" "$A"
done
use socket.AF_UNIX 's.bind("/tmp/s")'
A=$(net)
warder run -- sh -c 'readlink /proc/self/ns/net; read -r x' <"$TMPDIR/in" >"$TMPDIR/late" &
exec 5>"$TMPDIR/in"
ok "one that is in use" wait_for 5 grep -qF "$A" "$TMPDIR/late"
unlike "is not another's" "$(net)" "$A"
exec 5>&-
wait
warder run -- sh -c 'readlink /proc/self/ns/net; read -r x' <"$TMPDIR/in" >"$TMPDIR/late" &
exec 5>"$TMPDIR/in"
wait_for 5 grep -q net "$TMPDIR/late"
kill -9 $!
exec 5>&-
wait
is "two are kept then" "$(nets)" 2
unlike "one whose supervisor was killed is not taken" "$(net)" "$(tr -dc 0-9 <"$TMPDIR/late")"
is "and others go with it" "$(nets)" 1
ok "all of them can be removed" warder unload
is "at once" "$(nets)" 0

find $CACHE -name binds -delete
run warder run -- stat -c %U /
is "where none can be had, a job makes its own" "$OUT/$RC" user/0
rm -rf $CACHE/root-*
chmod 0777 $CACHE
exits "a cache that others may write to is refused" 125 warder run -- true
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A root that is kept ready from job to job is what the job would have made itself: it follows the
# host's /etc, shows nothing that is not public, belongs to nobody inside, and does not grow.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"
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
find $CACHE -name binds -delete
run warder run -- stat -c %U /
is "where none can be had, a job makes its own" "$OUT/$RC" user/0
rm -rf $CACHE/root-*
chmod 0777 $CACHE
exits "a cache that others may write to is refused" 125 warder run -- true
end

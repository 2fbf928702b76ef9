#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Mounts and roots: what is granted is there, with the owner's rights, and nothing else is touched.
# shellcheck disable=SC2016 # what the other shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 jq busybox
D=$TMPDIR/data
cleanup() { rm -rf "$D" "$TMPDIR/root"; }
begin cleanup
mkdir -p "$D/sub" && echo text >"$D/file" && chown -R 4242:4343 "$D" && chmod 700 "$D" "$D/sub" && chmod 600 "$D/file"

is "a mount shows its source" "$(warder run -v "$D:/data" -- cat /data/file)" text
is "read-only unless rw" "$(warder run -v "$D:/data" -- sh -c 'touch /data/x 2>&1 | grep -c Read-only')" 1
is "the owner is the job's user inside" "$(warder run -v "$D:/data:rw" -- busybox stat -c %u:%g /data /data/file | tr '\n' ' ')" "1000:1000 1000:1000 "
warder run -v "$D:/data:rw" -- sh -c 'echo new >/data/new; mkdir /data/dir; mv /data/file /data/sub/file'
is "new files are the owner's outside" "$(stat -c %u:%g "$D/new" "$D/dir" "$D/sub/file" | tr '\n' ' ')" "4242:4343 4242:4343 4242:4343 "
warder run -v "$D:/data:rw" -- sh -c 'cp /usr/bin/id /data/suid; chmod 4755 /data/suid' 2>/dev/null
is "a setuid program in it gains nothing" "$(warder run -v "$D:/data" --user 2000 -- /data/suid -u 2>/dev/null)" 2000
is "a file can be mounted" "$(warder run -v "$D/sub/file:/etc/my.conf" -- cat /etc/my.conf)" text
is "a missing target is made in the view" "$(warder run -v "$D/sub:/opt/a/b" -- cat /opt/a/b/file)" text
is "also below the host's /usr" "$(warder run -v "$D/sub:/usr/local/here" -- sh -c 'cat /usr/local/here/file; busybox ls /usr/local | grep -c ^bin')" "$(printf 'text\n1')"
ok "never on the host" test ! -e /opt/a -a ! -e /usr/local/here -a ! -e /etc/my.conf
exits "not inside a mount of the user's" 125 warder run -v "$D:/data" -v "$D/sub:/data/deeper/x" -- true
like "and says so" "$ERR" '/data/deeper/x would have to be created'
ok "where it is there, it is used" warder run -v "$D:/data" -v "$D/sub:/data/dir" -- cat /data/dir/file

# Targets that are missing in what is read-only: each is there, and hides no other.
echo A >"$TMPDIR/a" && echo B >"$TMPDIR/b"
is "two missing files in one folder" "$(warder run -v "$TMPDIR/a:/usr/local/bin/a" -v "$TMPDIR/b:/usr/local/bin/b" -- cat /usr/local/bin/a /usr/local/bin/b | tr '\n' ' ')" "A B "
is "a deep one, then one above it" "$(warder run -v "$TMPDIR/a:/usr/local/lib/x/a" -v "$TMPDIR/b:/usr/local/b" -- cat /usr/local/lib/x/a /usr/local/b | tr '\n' ' ')" "A B "
is "and the other way round" "$(warder run -v "$TMPDIR/b:/usr/b" -v "$TMPDIR/a:/usr/local/lib/x/a" -- cat /usr/local/lib/x/a /usr/b | tr '\n' ' ')" "A B "
set --
for i in $(seq 64); do set -- "$@" -v "$TMPDIR/a:/usr/m$((i % 8))/$i"; done
is "64 of them" "$(warder run "$@" -- sh -c 'cat /usr/m*/* | grep -c A; busybox ls -d /usr/bin')" "$(printf '64\n/usr/bin')"
exits "but not 65" 125 warder run "$@" -v "$TMPDIR/a:/usr/m" -- true
is "a later mount on the same target counts" "$(warder run -v "$TMPDIR/a:/x" -v "$TMPDIR/b:/x" -- cat /x)" B
if native; then
	is "below what is mounted there on the host" "$(unshare -m sh -c 'mount -t tmpfs none /usr/local && mkdir /usr/local/there && warder run -v "$0:/usr/local/new" -v "$0:/usr/local/there/new" -- cat /usr/local/new /usr/local/there/new' "$TMPDIR/a" | tr '\n' ' ')" "A A "
	is "a link into /proc is no target" "$(warder run -v "$TMPDIR:/dev/fd" -- true 2>&1 | grep -c '/dev/fd leads into /proc')" 1
fi
exits "nor is a file a folder" 125 warder run -v "$TMPDIR/a:/usr/x" -v "$TMPDIR/b:/usr/x/y" -- true
exits "a file system that can't be idmapped is refused for rw" 125 warder run -v /proc:/host:rw -- true
like "with what is possible" "$ERR" 'mount /proc read-write: .*read-only'
ok "which is" warder run -v /proc:/host -- true
ln -s /etc/shadow "$D/link"
is "a link in a mount leads nowhere" "$(warder run -v "$D:/data" -- cat /data/link 2>&1 | grep -c 'No such file')" 1
exits "a missing source is refused" 125 warder run -v /no/such:/x -- true
like "and named" "$ERR" '/no/such'
exits "a target that is no path, too" 125 warder run -v "$D:data" -- true
exits "and a mount without one" 125 warder run -v "$D" -- true
exits "a missing workdir is refused" 125 warder run -w /no/dir -- true
ok "a mounted one is good" warder run -v "$D:/data" -w /data/sub -- test -f file
is "a job can't remount" "$(warder run -v "$D:/data" -- sh -c 'mount -o remount,rw /data 2>&1 | grep -c superuser')" 1
is "nor unmount" "$(warder run -v "$D:/data" -- sh -c '(umount /data; umount -l /data) 2>/dev/null; busybox ls /data | grep -c sub')" 1

R=$TMPDIR/root
mkdir -p "$R/bin" "$R/lib64" "$R/etc"
cp /bin/busybox "$R/bin/sh"
echo image >"$R/etc/name"
is "a root of one's own" "$(warder run --root "$R" -- /bin/sh -c 'cat /etc/name; cd /; echo *' | tr '\n' ' ')" "image bin dev etc home lib64 proc sys tmp "
ok "lacks nothing that is missing in it" warder run --root "$R" -- /bin/sh -c 'test -c /dev/null && test -d /proc/1 && echo x >/tmp/x && test -w /home/user'
is "and is not written to" "$(warder run --root "$R" -- /bin/sh -c 'echo x >/etc/new 2>&1; echo $?')/$(ls "$R")" "1/$(printf 'bin\netc\nlib64')"
jq -n --arg r "$R" '{version: 1, filesystem: {root: $r, readonly: false}}' >"$TMPDIR/p.json"
is "writable, in memory only" "$(warder run -p "$TMPDIR/p.json" -- /bin/sh -c 'echo x >/etc/new; cat /etc/new /etc/name' | tr '\n' ' ')/$(ls "$R/etc")" "x image /name"
mkdir -p "$R/evil" && ln -s /etc "$R/evil/etc" && ln -s ../../../../../etc "$R/up"
echo mine >"$TMPDIR/hosts"
is "links of an image stay in it" "$(warder run --root "$R" -v "$TMPDIR/hosts:/up/motd" -- /bin/sh -c 'cat /etc/motd')/$(ls "$R/etc")" "mine/name"
ok "the host's /etc is untouched" sh -c '! grep -q mine /etc/motd 2>/dev/null'
mkdir -p "$R/real" "$R/usr" && ln -s /real "$R/linked" && ln -s /nowhere "$R/dangling" && ln -s /usr "$R/u"
is "missing targets in an image, through its links" "$(warder run --root "$R" -v "$TMPDIR/hosts:/linked/a" -v "$TMPDIR/hosts:/linked/b/c" -v "$TMPDIR/hosts:/u/d" -v "$TMPDIR/hosts:/usr/e" -v "$TMPDIR/hosts:/bin/f" -- /bin/sh -c 'cat /real/a /real/b/c /usr/d /usr/e /bin/f' | grep -c mine)/$(find "$R/real" "$R/usr" -mindepth 1 | wc -l)" 5/0
if native; then
	is "and in place of one that leads nowhere" "$(warder run --root "$R" -v "$TMPDIR/hosts:/dangling/g" -- /bin/sh -c 'cat /dangling/g')" mine
fi
rm "$R/linked" "$R/dangling"
mkdir "$R/a b"
is "what is mounted in an image is there" "$(unshare -m sh -c 'mount -t tmpfs none "$0/a b" && mkdir "$0/a b/c" && mount -t tmpfs none "$0/a b/c" && echo one >"$0/a b/f" && echo two >"$0/a b/c/f" && warder run --root "$0" -v "$1:/a b/missing/x" -- /bin/sh -c "cat \"/a b/f\" \"/a b/c/f\" \"/a b/missing/x\"; echo x 2>/dev/null >\"/a b/g\" || echo read-only"' "$R" "$TMPDIR/a" | tr '\n' ' ')" "one two A read-only "
rmdir "$R/a b"
exits "a root that is not there is refused" 125 warder run --root /no/such/root -- true
exits "one that is a file, too" 125 warder run --root "$TMPDIR/hosts" -- true
end

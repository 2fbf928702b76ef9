#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: root.sh KERNEL-FOLDER OUT [systemd]: make the guest's root, an uncompressed cpio: busybox, our
# programs and tests with their libraries, the tools that tests call, the kernel's modules; systemd
# and a message bus where asked for.
# Nothing is compressed: that would cost more in an emulated processor than it saves.
set -eu
kernel=$1
out=$2
init=${3:-}
top=$(cd "$(dirname "$0")/../.." && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root" # it becomes / of the guest
PATH=$PATH:/usr/sbin:/sbin

# What tests call beside busybox's own; what is missing here is missing there.
TOOLS="dash bash ip tc nft jq unshare nsenter setpriv prlimit strace python3 bpftool modprobe"
# Modules, by folder below kernel/, and what they need: the kernel asks modprobe for them by itself.
MODULES="drivers/net/[a-z_]*.ko* net/sched net/netfilter net/ipv4 net/ipv6 net/bridge net/8021q
	net/packet fs/overlayfs"

SYSTEMD="systemctl busctl systemd-run dbus-daemon"
[ "$init" = systemd ] && TOOLS="$TOOLS $SYSTEMD"

for d in usr/bin usr/sbin usr/lib usr/lib64; do
	mkdir -p "$root/$d"
	if [ -L "/${d#usr/}" ]; then
		ln -s "$d" "$root/${d#usr/}"
	else
		mkdir -p "$root/${d#usr/}"
	fi
done
mkdir -p "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/run" "$root/etc" "$root/root" \
	"$root/var/tmp" "$root/n" "$root/warder" "$root/mnt" "$root/home"

# copy FILE...: to where it is here, links followed.
copy() {
	for f; do
		dst=$root$(realpath "$(dirname "$f")")
		mkdir -p "$dst"
		cp -L "$f" "$dst/"
	done
}

# What ldd says of many programs at once.
libraries() {
	ldd "$@" 2>/dev/null | sed -n 's,^.*[ \t]\(/[^ :]*\) (.*$,\1,p' | sort -u
}

copy /bin/busybox
programs=
for tool in $TOOLS; do
	path=$(command -v "$tool" || :)
	[ "$tool" = python3 ] && path=$(realpath /usr/bin/python3)
	[ -n "$path" ] || continue
	copy "$path"
	programs="$programs $path"
done
# The shell is not busybox's, which prefers its own applets to the programs of the same name; these
# stand in only for what is not there.
ln -s dash "$root$(realpath /bin)/sh"
for applet in $(busybox --list); do
	[ -e "$root/usr/bin/$applet" ] || [ -e "$root/usr/sbin/$applet" ] || [ "$applet" = sh ] ||
		ln -s "$(realpath /bin)/busybox" "$root/usr/bin/$applet"
done
# Our programs load it when they need it, so ldd does not tell.
systemd=$(ldconfig -p | sed -n 's/.*libsystemd\.so\.0.*=> //p' | head -1)
[ -z "$systemd" ] || copy "$systemd"
programs="$programs $systemd"
python=$(basename "$(realpath /usr/bin/python3)")
ln -sf "$python" "$root/usr/bin/python3"
(cd /usr/lib && find "$python" \( -name test -o -name idlelib -o -name lib2to3 -o -name 'config-*' \
	-o -name pydoc_data -o -name ensurepip -o -name tkinter -o -name turtledemo -o -name sqlite3 \
	-o -name '*.opt-*.pyc' \) -prune -o -type f -print | cpio -pdm --quiet "$root/usr/lib")

if [ "$init" = systemd ]; then
	bus=/usr/share/dbus-1
	copy /lib/systemd/systemd /lib/systemd/system/dbus.service /lib/systemd/system/dbus.socket \
		$bus/system.conf $bus/system.d/org.freedesktop.systemd1.conf \
		$bus/system-services/org.freedesktop.systemd1.service
	[ ! -f /lib/systemd/systemd-executor ] || copy /lib/systemd/systemd-executor
	programs="$programs /lib/systemd/systemd"
	for unit in sysinit basic sockets paths timers slices shutdown umount final; do
		copy "/lib/systemd/system/$unit.target"
	done
fi

cd "$top"
find tests/lib tests/kernels/guest tests/integration tests/e2e tests/bpf policies \
	build/plain/bin build/plain/tests/bpf build/plain/tests/helpers build/plain/tests/e2e \
	build/plain/tests/unit/test_seccomp build/plain/tests/unit/test_seccomp_args \
	build/plain/tests/unit/test_landlock build/runsc/new -type f \
	! -name '*.[cdo]' 2>/dev/null | cpio -pdm --quiet "$root/warder"
# shellcheck disable=SC2046,SC2086
copy $(libraries $programs $(find build/plain/bin build/plain/tests -type f -perm -1 2>/dev/null) \
	$(find /usr/lib/"$python"/lib-dynload -name '_ctypes.*' -o -name '_json.*' 2>/dev/null))
copy /usr/lib/locale/C.utf8/LC_CTYPE 2>/dev/null || :

version=$(cat "$kernel/version")
modules=lib/modules/$version
# shellcheck disable=SC2086 # patterns
(cd "$kernel/$modules/kernel" && find $MODULES -name '*.ko*') |
	sed 's,.*/,,; s/\.ko.*//' |
	xargs modprobe -a -d "$kernel" -S "$version" --show-depends |
	sed -n "s,^insmod .*/\($modules/[^ ]*\).*,\1,p" | sort -u >"$root/wanted"
(cd "$kernel" && { cat "$root/wanted" && ls "$modules"/modules.*; } | cpio -pdm --quiet "$root/usr")
rm "$root/wanted"

cp tests/kernels/init.sh "$root/init"
chmod 755 "$root/init"
printf '%s:x:%d:%d::/:/bin/sh\n' root 0 0 messagebus 100 100 nobody 65534 65534 >"$root/etc/passwd"
printf '%s:x:%d:\n' root 0 messagebus 100 nogroup 65534 >"$root/etc/group"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$out"

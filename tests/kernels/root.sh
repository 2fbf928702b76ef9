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
TOOLS="bash ip tc nft jq unshare nsenter setpriv prlimit strace python3 bpftool"
# Modules that are loaded at boot, with what they need.
MODULES="veth dummy sch_ingress cls_bpf act_bpf overlay nf_tables nft_masq nft_chain_nat nft_ct
	nft_fib_ipv4 nft_fib_ipv6 nft_reject_inet nft_limit"

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
ln -s busybox "$root$(realpath /bin)/sh"
programs=
for tool in $TOOLS; do
	path=$(command -v "$tool" || :)
	[ "$tool" = python3 ] && path=$(realpath /usr/bin/python3)
	[ -n "$path" ] || continue
	copy "$path"
	programs="$programs $path"
done
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
	build/plain/bin build/plain/tests/bpf build/plain/tests/helpers \
	build/plain/tests/unit/test_seccomp build/plain/tests/unit/test_seccomp_args \
	build/plain/tests/unit/test_landlock -type f \
	! -name '*.[cdo]' 2>/dev/null | cpio -pdm --quiet "$root/warder"
# shellcheck disable=SC2046,SC2086
copy $(libraries $programs $(find build/plain/bin build/plain/tests -type f -perm -1 2>/dev/null) \
	$(find /usr/lib/"$python"/lib-dynload -name '_ctypes.*' -o -name '_json.*' 2>/dev/null))
copy /usr/lib/locale/C.utf8/LC_CTYPE 2>/dev/null || :

version=$(cat "$kernel/version")
for m in $MODULES; do
	modprobe -d "$kernel" -S "$version" --show-depends "$m" 2>/dev/null || :
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' >"$root/modules.list"
mkdir "$root/modules"
while read -r ko; do
	name=$(basename "$ko" | sed 's/\.ko.*//').ko
	case $ko in
	*.xz) xz -dc "$ko" ;;
	*.zst) zstd -qdc "$ko" ;;
	*) cat "$ko" ;;
	esac >"$root/modules/$name"
	echo "$name"
done <"$root/modules.list" >"$root/modules/order"
rm "$root/modules.list"

cp tests/kernels/init.sh "$root/init"
chmod 755 "$root/init"
printf '%s:x:%d:%d::/:/bin/sh\n' root 0 0 messagebus 100 100 nobody 65534 65534 >"$root/etc/passwd"
printf '%s:x:%d:\n' root 0 messagebus 100 nogroup 65534 >"$root/etc/group"
(cd "$root" && find . | cpio -o -H newc -R 0:0 --quiet) >"$out"

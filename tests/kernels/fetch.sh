#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: fetch.sh 6.1|6.12|newest: unpack Debian's cloud kernel of that series, without installing
# it, and print the folder: vmlinuz, version, lib/modules/VERSION with modules.dep.
# It stays under build/kernels until `make distclean`, and is then there without a network.
# Needs no root: apt works with lists of its own. Exit 77: no Debian archive is configured here.
set -eu
series=$1
dir=$(cd "$(dirname "$0")/../.." && pwd)/build/kernels
mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial"
exec 9>"$dir/lock"
flock 9

if [ -f "$dir/$series/vmlinuz" ]; then
	echo "$dir/$series"
	exit 0
fi

# The mirrors are those that this machine's own apt sources name; the suites are ours.
uris=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] *\)\{0,1\}\([^ ]*\) .*/\2/p' \
	/etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | tr ' ' '\n' | sed 's,/*$,,')
main=$(echo "$uris" | grep '/debian$' | head -n 1) || :
security=$(echo "$uris" | grep '/debian-security$' | head -n 1) || :
key=/usr/share/keyrings/debian-archive-keyring.gpg
if [ -z "$main" ] || [ ! -f "$key" ]; then
	echo "no Debian archive among this machine's apt sources"
	exit 77
fi
{
	echo "deb [signed-by=$key arch=amd64] $main trixie-backports main"
	echo "deb [signed-by=$key arch=amd64] ${security:-$main-security} bookworm-security main"
} >"$dir/apt/list"

apt() {
	tool=$1
	shift
	"$tool" -q -o Dir::State::lists="$dir/apt/lists" -o Dir::Cache="$dir/apt/cache" \
		-o Dir::Etc::sourcelist="$dir/apt/list" -o Dir::Etc::sourceparts=/dev/null \
		-o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=2 \
		-o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false "$@"
}

# Once a run of the matrix is enough.
if [ -z "$(find "$dir/apt/updated" -mmin -60 2>/dev/null)" ]; then
	apt apt-get update >"$dir/apt/log" 2>&1 || tail -n 5 "$dir/apt/log" >&2
	touch "$dir/apt/updated"
fi

case $series in
newest) pattern='[0-9.]+' ;;
*) pattern=$(echo "$series" | sed 's/\./\\./g')'\.[0-9]+' ;;
esac
image=$(apt apt-cache search --names-only "^linux-image-$pattern.*cloud-amd64\$" |
	sed 's/ .*//' | sort -V | tail -n 1)
if [ -z "$image" ]; then
	echo "no cloud kernel $series in $main" >&2
	exit 1
fi
# Newer packages keep the kernel and its modules in packages of their own.
parts=$(apt apt-cache show "$image" | sed -n 's/^Depends: //p' | tr ',' '\n' |
	sed -n 's/^ *\(linux-\(binary\|modules\)-[^ ]*\).*/\1/p')

work=$(mktemp -d "$dir/unpack.XXXXXX")
trap 'rm -rf "$work"' EXIT
cd "$work"
# shellcheck disable=SC2086
apt apt-get download "$image" $parts >log 2>&1 || { cat log >&2 && exit 1; }
for deb in *.deb; do
	dpkg-deb -x "$deb" root
done
# In /boot and /lib, or all of it beside the modules in /usr/lib.
mkdir out
[ -d root/lib/modules ] || mv root/usr/lib root/lib
version=$(ls root/lib/modules)
mv "$(find root/boot root/lib -name 'vmlinuz*' 2>/dev/null | head -n 1)" out/vmlinuz
mv root/lib out/lib
echo "$version" >out/version
PATH=$PATH:/sbin:/usr/sbin depmod -b out "$version"
rm -rf "${dir:?}/$series"
mv out "$dir/$series"
echo "$dir/$series"

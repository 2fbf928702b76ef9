#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Install what building and testing need, by ordinary package names: Debian 12 and 13, Ubuntu 24.04.
# Quick and silent when all is there. Anywhere else it only says so: the Makefile names what it
# misses by pkg-config name.
#
# usage: packaging/deps.sh [--build] [--test]     (default: both)
set -eu

# Subset, package, why. `a|b`: the first that this distribution has. `@`: its clang's version.
table() {
	cat <<-'EOF'
	build  build-essential         gcc, make, libc and kernel headers
	build  pkg-config|pkgconf      where libraries are
	build  git                     the version string
	build  clang                   BPF objects
	build  bpftool|linux-tools-generic  BPF skeletons
	build  libbpf-dev              load and attach BPF
	build  libelf-dev              for libbpf
	build  zlib1g-dev              for libbpf
	build  libjansson-dev          JSON
	build  libcap-dev              capabilities
	build  libsystemd-dev          event loop, D-Bus scopes, notify
	build  libnftables-dev         NAT
	build  libssl-dev              SHA-256, Ed25519
	build  libprotobuf-c-dev       seccheck messages
	build  protobuf-c-compiler     seccheck messages
	test   libcmocka-dev           unit tests
	test   libclang-rt-@-dev       fuzzers
	test   llvm-@                  symbols in a fuzzer's report
	test   clang-format            lint
	test   clang-tidy              analyze
	test   shellcheck              lint
	test   mandoc                  lint of man pages
	test   valgrind                check-valgrind
	test   python3                 test runner and tools
	test   python3-pip             brings gVisor's Python package (packaging/engines.sh)
	test   python3-jsonschema      policies and results against their schemas
	test   jq                      results in shell tests
	test   procps                  ps, pgrep in shell tests
	test   util-linux              unshare, nsenter, setpriv in shell tests
	test   iproute2                namespaces and links in shell tests
	test   nftables                what the NAT table looks like
	test   strace                  fault injection, what a start does
	test   bpftrace                bench: system call counting
	test   nodejs                  e2e: runs under the default policy
	test   golang-go               e2e: the same; builds the current runsc
	test   sqlite3                 e2e: the same
	test   bubblewrap              bench
	test   crun                    bench
	test   runc                    bench
	test   firejail                bench
	test   podman                  e2e: an engine that runs warder-runsc
	test   containerd              e2e: the same
	test   containernetworking-plugins  check-engines: a pod's network
	test   qemu-system-x86         check-kernels
	test   busybox-static          check-kernels: the guest's shell
	test   systemd                 check-kernels: a guest with systemd as its first process
	test   dbus                    check-kernels: the same
	test   cpio                    check-kernels: the guest's root
	test   xz-utils                check-kernels: modules
	test   zstd                    check-kernels: modules
	test   kmod                    check-kernels: what a module needs
	EOF
}

say() {
	echo "packaging/deps.sh: $*" >&2
}

want=
for arg; do
	case $arg in
	--build | --test) want="$want ${arg#--}" ;;
	*) say "unknown option $arg: want --build or --test" && exit 2 ;;
	esac
done
[ -n "$want" ] || want="build test"

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	say "no apt here: install these or their like:" \
		"$(table | while read -r _ pkg _; do printf '%s ' "$pkg"; done)"
	exit 1
fi

# The distribution's own clang, without asking apt where it is known: that takes longer than the rest.
codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
case $codename in
bookworm) clang=14 ;;
trixie) clang=19 ;;
noble) clang=18 ;;
*) clang=$(apt-cache depends clang | sed -n 's/.*Depends: clang-\([0-9]*\).*/\1/p' | head -n 1) ;;
esac

wanted=$(table | sed "s/@/$clang/g" | while read -r subset pkg _; do
	case " $want " in *" $subset "*) echo "$pkg" ;; esac
done)

# One question for all of them; unknown names only make it exit 1.
# shellcheck disable=SC2016,SC2046
have=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $(echo "$wanted" | tr '|' ' ') \
	2>/dev/null | sed -n 's/^installed //p' || :)
have=" $(echo "$have" | tr '\n' ' ') "
missing=
for entry in $wanted; do
	found=
	for pkg in $(echo "$entry" | tr '|' ' '); do
		case $have in *" $pkg "*) found=1 ;; esac
	done
	[ -n "$found" ] || missing="$missing $entry"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ]; then
	say "missing:$missing (run it as root)"
	exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
		-o DPkg::Lock::Timeout=300 "$@" </dev/null >>"$log" 2>&1
}

# first_known A|B: the first that apt can install.
first_known() {
	for pkg in $(echo "$1" | tr '|' ' '); do
		if apt-cache show "$pkg" >/dev/null 2>&1; then
			echo "$pkg"
			return 0
		fi
	done
	return 1
}

# Sets pick and unknown.
choose() {
	pick=
	unknown=
	for entry in $missing; do
		if pkg=$(first_known "$entry"); then
			pick="$pick $pkg"
		else
			unknown="$unknown $entry"
		fi
	done
}

say "installing:$missing"
choose
# shellcheck disable=SC2086
if [ -n "$unknown" ] || ! apt install $pick; then
	apt update || :
	choose
	if [ -n "$pick" ] && ! apt install $pick; then
		tail -n 20 "$log" >&2
		say "apt could not install:$pick"
		exit 1
	fi
fi
if [ -n "$unknown" ]; then
	say "no such package here:$unknown"
	exit 1
fi

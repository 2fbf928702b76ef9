#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each header compiles alone and twice: it brings what it needs and guards itself.
set -eu
rc=0
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# alone HEADER COMPILER...: by the name that an #include would use.
alone() {
	h=$1
	shift
	printf '#include "%s"\n#include "%s"\n' "$PWD/$h" "$PWD/$h" >"$tmp/one.c"
	"$@" -Wall -Wextra -Wmissing-prototypes -Werror -fsyntax-only "$tmp/one.c" || {
		echo "$h: does not compile alone" >&2
		rc=1
	}
}

for h in $(find loader runsc-glue tests -name '*.h' 2>/dev/null); do
	alone "$h" "${CC:-gcc}" -std=gnu11 -D_GNU_SOURCE -Iloader -Irunsc-glue -Ibpf/include \
		-Itests/lib -Ibuild/gen -Ibuild/skel
done
[ -n "$(find bpf -name '*.bpf.c')" ] || exit $rc
for h in $(find bpf/lib bpf/maps -name '*.bpf.h'); do
	alone "$h" "${CLANG:-clang}" -target bpf -mcpu=v3 -O2 -D__TARGET_ARCH_x86 -Ibpf \
		-idirafter "/usr/include/$(uname -m)-linux-gnu"
done
exit $rc

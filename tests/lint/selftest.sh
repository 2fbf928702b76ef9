#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Each lint, and the test runner, is seen to fail on a planted fault and to pass without it.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"

# One row a fault: the lint, the file to write, its contents (printf's escapes).
faults() {
	cat <<-'EOF'
	format.sh|loader/base/a.c|int a;\nint  b;\n
	layers.py|loader/base/a.c|#include "policy/policy.h"\n
	layers.py|loader/cgroup/a.c|#include "native/seccomp.h"\n
	layers.py|loader/cgroup/a.c|#include <jansson.h>\n
	layers.py|loader/job/a.c|#include "cgroup/cgroup_priv.h"\n
	layers.py|loader/elsewhere/a.c|int a;\n
	sizes.py|loader/base/a.c|int f(void)\n{\n%LINES%}\n
	sizes.py|loader/base/a.h|%LINES%%LINES%%LINES%%LINES%%LINES%%LINES%%LINES%
	abi.sh|bpf/include/wdr_abi_x.h|#include "wdr_abi.h"\nstruct wdr_x {\n\t__u64 a;\n};\n
	abi.sh|bpf/include/wdr_abi_x.h|#include "wdr_abi.h"\nstruct wdr_x {\n\tint a;\n};\nWDR_ABI_SIZE(wdr_x, 4);\n
	abi.sh|bpf/include/wdr_abi_x.h|#include "wdr_abi.h"\nstruct wdr_x {\n\t__u32 a;\n\t__u64 b;\n};\nWDR_ABI_SIZE(wdr_x, 16);\n
	abi.sh|bpf/include/wdr_abi_x.h|#include "wdr_abi.h"\nstruct wdr_x {\n\t__u64 b;\n};\nWDR_ABI_SIZE(wdr_x, 16);\n
	headers.sh|loader/base/a.h|#pragma once\nsize_t a(void);\n
	headers.sh|loader/base/a.h|struct a {\n\tint b;\n};\n
	text.py|loader/base/a.c|int a;\n
	text.py|bpf/a.bpf.c|/* SPDX-License-Identifier: Apache-2.0 */\n
	text.py|a.sh|#!/bin/sh\n# SPDX-License-Identifier: MIT\n
	text.py|docs/a.md|see /wo%NOTHING%rk/here\n
	text.py|docs/a.md|from deb.debian%NOTHING%.org\n
	text.py|docs/a.md|blank at the end \n
	text.py|docs/a.md|no newline
	text.py|docs/a.md|not UTF-8: \377\n
	text.py|loader/base/a.c|/* SPDX-License-Identifier: Apache-2.0 */\nint a = system("x");\n
	text.py|loader/base/a.c|/* SPDX-License-Identifier: Apache-2.0 */\n/* TO%NOTHING%DO: more */\n
	text.py|policies/a.json|{"a": 1,}\n
	text.py|tests/a.py|# SPDX-License-Identifier: Apache-2.0\nif\n
	shell.sh|packaging/a.sh|#!/bin/sh\nrm -rf $1\n
	shell.sh|.ci/run|#!/bin/bash\nrm -rf $1\n
	man.sh|docs/man/a.1|.Dd today\n.Dt A 1\n.Os\n.Sh NAME\n.Bogus x\n
	links.py|docs/a.md|[there](b.md)\n
	links.py|docs/a.md|# Here\n\n[there](#elsewhere)\n
	EOF
}

# The tree in small: the lints, what they look at, and nothing wrong with it.
plant() {
	tree=$TMPDIR/tree
	rm -rf "$tree"
	mkdir -p "$tree/tests/lib" "$tree/tests/unit" "$tree/docs/man" "$tree/bpf/include" "$tree/packaging"
	cp -r "$TOP/.clang-format" "$TOP/.shellcheckrc" "$tree/"
	mkdir -p "$tree/tests/lint"
	for name in $(faults | cut -d '|' -f 1 | sort -u); do
		cp "$TOP/tests/lint/$name" "$tree/tests/lint/"
	done
	cp "$TOP/tests/lib/tap.sh" "$tree/tests/lib/"
	cp "$TOP/bpf/include/wdr_abi.h" "$tree/bpf/include/"
	for h in base/wdr_err policy/policy native/seccomp cgroup/cgroup_priv; do
		mkdir -p "$tree/loader/${h%/*}"
		printf '/* SPDX-License-Identifier: Apache-2.0 */\n#pragma once\n' \
			>"$tree/loader/$h.h"
	done
}

lint_here() {
	(cd "$TMPDIR/tree" && "tests/lint/$1")
}

begin
plant
lines=$(yes '\tx();\n' | head -n 61 | tr -d '\n')
for lint in $(faults | cut -d '|' -f 1 | sort -u); do
	plant
	ok "$lint passes without a fault" lint_here "$lint"
done
faults >"$TMPDIR/faults"
while IFS='|' read -r lint file text; do
	text=$(printf %s "$text" | sed "s/%LINES%/$(printf %s "$lines" | sed 's/\\/\\\\/g')/g; s/%NOTHING%//g")
	plant
	mkdir -p "$(dirname "$TMPDIR/tree/$file")"
	# shellcheck disable=SC2059
	printf "$text" >"$TMPDIR/tree/$file"
	fails "$lint refuses $file: $(printf %s "$text" | tr '\n\t' '  ' | head -c 60)" lint_here "$lint"
	like "and names it" "$OUT$ERR" "$file"
done <"$TMPDIR/faults"
end

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: smoke.sh BUILD/fuzz_NAME SECONDS: fuzz for so long, beginning with the corpus.
# New inputs stay beside the binary; one that crashes is kept there and named. Put it into
# tests/fuzz/corpus/NAME together with the fix.
set -eu
fuzzer=$1
seconds=$2
name=$(basename "$fuzzer" | sed 's/^fuzz_//')
mkdir -p "$fuzzer.corpus"
set -- -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 -print_final_stats=1 \
	-error_exitcode=1 -artifact_prefix="$fuzzer.crash-" "$fuzzer.corpus" "tests/fuzz/corpus/$name"
dict=tests/fuzz/$name.dict
if [ -f "$dict" ]; then
	set -- -dict="$dict" "$@"
fi
exec "$fuzzer" "$@"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: static-libs.sh CC MODULE...: linker arguments for these pkg-config modules, each library as
# an archive where there is one that can be linked: Debian 13's libelf.a lacks some of its own
# objects, so asking whether the file is there is not enough.
set -eu
cc=$1
shift
libs=$(pkg-config --static --libs "$@")

# shellcheck disable=SC2086 # one argument each
# whole NAME: does all of libNAME.a link, with what it needs shared?
whole() {
	echo 'int main(void) { return 0; }' |
		"$cc" -x c - -o /dev/null -Wl,--whole-archive "-l:lib$1.a" -Wl,--no-whole-archive \
			$libs 2>/dev/null
}

for arg in $libs; do
	case $arg in
	-lc | -lm | -lpthread | -ldl | -lrt) ;; # the C library stays shared
	-l*)
		if whole "${arg#-l}"; then
			echo "-l:lib${arg#-l}.a"
		else
			echo "$arg"
		fi
		;;
	*) echo "$arg" ;;
	esac
done

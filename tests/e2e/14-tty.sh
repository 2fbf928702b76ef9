#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# With a terminal on stdin the job has a terminal of its own, and ours is as before afterwards.
# shellcheck disable=SC2016 # what the job's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3
begin

# term SCRIPT PROGRAM...: tests/lib/term.py
term() { /usr/bin/python3 "$TOP/tests/lib/term.py" "$@"; }

NAME=/dev/pts/0
native || NAME=yes # of the host's terminals the sentry shows no name
is "a job sees a terminal" "$(term '' warder run -- sh -c 'test -t 0 && test -t 1 && test -t 2 && { tty >/dev/null && tty || echo yes; }')" "$NAME|0|same"
is "of the caller's size" "$(term '' warder run -- sh -c 'sleep 0.3; stty size')" "33 77|0|same"
is "that follows it" "$(term 'read("go")
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 88, 0, 0))' warder run -- sh -c 'echo go; sleep 0.5; stty size' | tr '\n' ' ')" "go 44 88|0|same "
is "lines are read as typed" "$(term 'read("?"); say("abc\n")' warder run -- sh -c 'stty -echo; echo "?"; read x; echo "got $x"' | tr '\n' ' ')" "? got abc|0|same "
is "Ctrl-C is a byte for the job" "$(term 'read("?"); say("\x03")' warder run -- sh -c 'trap "echo int; exit 4" INT; echo "?"; sleep 9 & wait' | tr -d '^C' | tr '\n' ' ')" "? int|4|same "
is "Ctrl-D is the end" "$(term 'read("?"); say("x\n\x04")' warder run -- sh -c 'stty -echo; echo "?"; wc -c' | tr '\n' ' ')" "? 2|0|same "
is "a killed job restores the terminal" "$(term '' warder run -q -t 300ms -- sleep 9)" "|124|same"
is "-T gives none" "$(term '' warder run -T -- sh -c 'test -t 0 || echo none')" "none|0|same"
is "-i forces one" "$(warder run -i -- sh -c 'test -t 0 && { tty >/dev/null && tty || echo yes; }' </dev/null | tr -d '\r')" "$NAME"
is "whose input ends" "$(printf 'a\n' | warder run -i -- cat | tr -d '\r' | tr '\n' ' ')" "a a "
is "in the middle of a line, too" "$(printf 'abc' | timeout 9 warder run -i -- cat)" abcabc
is "TIOCSTI is refused" "$(term '' warder run -- python3 -c 'import fcntl, termios
try: fcntl.ioctl(0, termios.TIOCSTI, b"x"); print("pushed")
except OSError as e: print(e.errno in (1, 25))')" "True|0|same"
SID=2
native || SID=1 # no process of ours before it
is "its session is its own" "$(term '' warder run -- sh -c 'ps -o sid= -p $$ | tr -d " "')" "$SID|0|same"
end

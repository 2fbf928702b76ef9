#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# `warder run`: a program's streams, status, files and surroundings are what the README says.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"
need python3 sqlite3 gcc bash busybox
begin
flat() { printf %s "$OUT" | tr -s '\n\t ' ' '; } # on one line

run warder run -- echo hello
is "a program's output is ours" "$OUT/$ERR/$RC" "hello//0"
run warder run -- sh -c 'echo out; echo err >&2; exit 3'
is "both streams and the status come through" "$OUT/$ERR/$RC" "out/err/3"
run warder run -- sh -c 'kill -TERM $$'
is "a signal is 128 and its number" "$RC" 143
like "and is said in one line" "$ERR" '^warder: j-[a-z0-9]+ killed: signaled: ended by SIGTERM'
run warder run -q -- sh -c 'kill -TERM $$'
is "unless -q" "$ERR/$RC" "/143"
exits "a program that is not there is 127" 127 warder run -- no-such-program
like "and named" "$ERR" 'no-such-program: not found'
exits "no name at all, too" 127 warder run ""
exits "a file that is no program is 126" 126 warder run -- /etc/passwd
exits "and so is a folder" 126 warder run -- /usr/bin

is "stdin is relayed" "$(printf 'a b' | warder run -- cat)" "a b"
is "to its end" "$(head -c 3000000 /dev/zero | warder run -- wc -c | tr -d ' ')" 3000000
is "an empty one is empty" "$(warder run -- cat </dev/null)" ""
is "one that nobody reads holds nothing up" "$(yes 2>/dev/null | warder run -- echo "done")" "done"
head -c 3000000 /dev/urandom >"$TMPDIR/bytes"
is "every byte comes through" "$(warder run -- cat <"$TMPDIR/bytes" | cksum)" "$(cksum <"$TMPDIR/bytes")"
warder run -- sh -c 'head -c 100000 /dev/zero' >"$TMPDIR/file"
is "into a file" "$(wc -c <"$TMPDIR/file")" 100000
warder run -- echo more >>"$TMPDIR/file"
is "at its end with >>" "$(tail -c 5 "$TMPDIR/file")" more

run warder run -- sh -c 'id -u; id -g; id -G; whoami; pwd; umask; hostname'
is "a job is user 1000 at home" "$(flat)" "1000 1000 1000 user /home/user 0022 warder"
run warder run --user 0 -- sh -c 'id -u; grep CapEff /proc/self/status'
is "or root without rights" "$(flat)" "0 CapEff: 0000000000000000"
SECRET=hidden PASSED=seen run warder run -e PASSED -e OTHER=x -- env
is "it sees no variable but those named" "$(echo "$OUT" | sort | tr '\n' ' ')" \
	"HOME=/home/user LANG=C.UTF-8 OTHER=x PASSED=seen PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin USER=user "
run warder run -w /tmp -- pwd
is "it starts where it is told" "$OUT" /tmp
run warder run -- sh -c 'busybox ls /proc/self/fd | wc -w'
is "it inherits three descriptors (and ls one more)" "$OUT" 4
exec 7</etc/passwd
run warder run -- sh -c 'cat <&7'
exec 7<&-
unlike "and none of the caller's" "$OUT" root
run warder run -- sh -c 'trap "" USR1; (trap) | wc -l; grep -E "Sig(Ign|Blk)" /proc/self/status'
if native; then # gVisor's /proc does not say, and its pid 1 is the program
	like "no signal is ignored at its start" "$OUT" 'SigBlk:.0000000000000000'
	is "its pid 1 is ours" "$(warder run -- cat /proc/1/comm)" warder-init
fi
unlike "which hides our command line" "$(warder run -e TOKEN=abc -- sh -c 'tr "\0" " " </proc/1/cmdline')" 'abc|run'

run warder run -- sh -c 'echo x >/tmp/a && echo y >~/b && echo z >/dev/shm/c && cat /tmp/a ~/b /dev/shm/c'
is "it can write to /tmp, home and /dev/shm" "$(flat)" "x y z"
run warder run -- sh -c 'touch /x /usr/x /etc/x /dev/x 2>&1 | grep -c Read-only'
native || run warder run -- sh -c 'touch /x /usr/x /etc/x /dev/x 2>&1 | grep -c denied'
is "and nowhere else" "$OUT" 4
run warder run -- sh -c 'echo a >/dev/stdout; echo b >/dev/stderr; cat /dev/stdin'
is "/dev/stdin, stdout, stderr can be opened" "$OUT/$ERR" a/b
run warder run -- sh -c 'busybox ls /..; cd /; cd ..; pwd; busybox ls /proc/1/root/ 2>&1'
is "above its root is its root" "$(echo "$OUT" | sed -n 1,12p)" "$(warder run -- busybox ls / | sed -n 1,12p)"
run warder run -- sh -c 'cat /etc/resolv.conf; grep -c . /etc/passwd; getent hosts localhost | wc -l'
is "its /etc is its own" "$(flat)" "3 1"
run warder run -- python3 -c 'import socket as s
a=s.socket(); a.bind(("127.0.0.1",0)); a.listen(); b=s.create_connection(a.getsockname()); print("up")'
is "its loopback is up" "$OUT" up

is "python3 works" "$(warder run -- python3 -c 'import ssl,sqlite3,json,threading,subprocess; print(subprocess.check_output(["echo","py"]).decode(),end="")')" py
is "bash pipelines work" "$(warder run -- bash -c 'seq 1000 | sort -rn | head -1 | tee >(cat >/dev/null)')" 1000
is "gcc and its output work" "$(warder run -- sh -c 'printf "#include <stdio.h>\nint main(){puts(\"c\");}" >a.c && gcc a.c && ./a.out')" c
is "sqlite works" "$(warder run -- sh -c 'sqlite3 f.db "create table t(a); insert into t values(6*7); select a from t"')" 42
if command -v node >/dev/null && warder run -- node --version >/dev/null 2>&1; then
	is "node works" "$(warder run -- node -e 'setTimeout(()=>console.log("js"),5)')" js
else
	skip "node works" "no node under /usr"
fi
if warder run -- go version >/dev/null 2>&1; then
	is "go run works" "$(warder run --disk 1G -m 1G -- sh -c 'printf "package main\nimport \"fmt\"\nfunc main(){fmt.Println(\"go\")}" >a.go && go run a.go')" go
else
	skip "go run works" "no go under /usr"
fi
end

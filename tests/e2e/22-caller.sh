#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# However the caller is set up, the job is as always: what it hands down is undone, and what its
# descriptors are holds nobody up and loses nothing.
# timeout: 120
# shellcheck disable=SC2016 # what the job's own shell expands
. "$(dirname "$0")/../lib/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 chrt ionice nice setarch nohup
begin

# py SCRIPT: run it; it prints what came of a warder that it started as W(ARGS...).
py() {
	timeout 30 /usr/bin/python3 -c 'import os, resource, signal, socket, subprocess, sys, time
NULL = subprocess.DEVNULL
def W(*args, **kw):
	return subprocess.Popen(["warder", "run", "-q", *args], **{"stdin": NULL, "stderr": NULL, **kw})
'"$1"
}

# Attributes that execve(2) and fork(2) keep.
is "ignored SIGCHLD" "$(py 'signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.execvp("warder", ["warder", "run", "-t", "5", "sh", "-c", "exit 3"])
'; echo $?)" 3
is "blocked signals" "$(py 'signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
os.execvp("warder", ["warder", "run", "-t", "5", "grep", "SigBlk", "/proc/self/status"])
')" "$(printf 'SigBlk:\t0000000000000000')"
is "real-time scheduling" "$(chrt -f 50 warder run chrt -p 2 | cut -d: -f2 | tr '\n' ' ')" " SCHED_OTHER  0 "
is "an urgent nice" "$(nice -n -15 warder run nice)" 0
is "but not a humble one" "$(nice -n 7 warder run nice)" "$(nice -n 7 nice)"
is "real-time I/O" "$(ionice -c 1 warder run ionice | cut -d: -f1)" none
is "a personality" "$(setarch -R warder run cat /proc/self/personality)" 00000000
is "a umask" "$(umask 777; warder run sh -c 'umask; stat -c %a /etc /etc/passwd /tmp' | tr '\n' ' ')" "0022 755 644 1777 "
if choom -n -500 -- true 2>/dev/null; then
	is "exemption from the OOM killer" "$(choom -n -500 -- warder run cat /proc/self/oom_score_adj)" 0
fi
is "its descriptors are not pid 1's either" "$(py 'p = W("sh", "-c", "echo go; sleep 5", stdout=subprocess.PIPE)
p.stdout.readline()
init = [int(l.split()[0]) for l in os.popen("ps -eo pid,ppid,comm") if l.split()[1:] == [str(p.pid), "warder-init"]]
print(sorted(os.readlink("/proc/%d/fd/%s" % (init[0], f)).split(":")[0] for f in os.listdir("/proc/%d/fd" % init[0])))
p.kill()')" "['anon_inode', 'socket']"

# Signals.
is "nohup keeps a job" "$(py 'p = W("sh", "-c", "echo go; sleep 0.5; exit 4", stdout=subprocess.PIPE,
	preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
p.stdout.readline(); p.send_signal(signal.SIGHUP); print(p.wait())')" 4
mkfifo "$TMPDIR/fifo"
is "one can interrupt a wait for a policy" "$(py 'p = subprocess.Popen(["warder", "run", "-p", "/dev/stdin", "true"], stdin=subprocess.PIPE)
time.sleep(0.2); p.send_signal(signal.SIGINT); print(p.wait(5))')" -2

# Descriptors: node.js and inetd hand in sockets.
is "a socket that nobody reads stops no clock" "$(py 'a, b = socket.socketpair()
p = W("-t", "500ms", "--output", "1G", "yes", stdout=b)
b.close(); time.sleep(1); p.send_signal(signal.SIGTERM); print(p.wait(5))')" 124
is "a slow one gets all of it" "$(py 'a, b = socket.socketpair()
p = W("seq", "300000", stdout=b)
b.close(); time.sleep(0.5)
print(sum(len(x) for x in iter(lambda: a.recv(65536), b"")), p.wait())')" "$(seq 300000 | wc -c) 0"
is "one that left ends the writer" "$(py 'a, b = socket.socketpair()
p = W("-t", "10", "yes", stdout=b)
b.close(); a.recv(100); a.close(); print(p.wait())')" 141
is "a quiet socket for stdin holds nothing up" "$(py 'a, b = socket.socketpair()
p = W("-t", "500ms", "sh", "-c", "read x; echo got $x; sleep 9", stdin=b, stdout=subprocess.PIPE)
b.close(); a.send(b"it\n"); print(p.communicate(timeout=5)[0], p.returncode)')" "b'got it\\n' 124"
is "a socket's end is the end" "$(py 'a, b = socket.socketpair()
p = W("wc", "-c", stdin=b, stdout=subprocess.PIPE)
b.close(); a.sendall(b"x" * 200000); a.close(); print(p.communicate(timeout=5)[0])')" "b'200000\\n'"
is "a file that may not grow is an error" "$(py 'f = open(os.environ["TMPDIR"] + "/big", "wb")
resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
print(W("head", "-c", "9999", "/dev/zero", stdout=f).wait())')" 125
is "of a result in memory, too" "$(py 'resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))
p = W("--json", "head", "-c", "9999", "/dev/zero", stdout=subprocess.PIPE)
print(b"File too large" in p.communicate()[0], p.returncode)')" "True 125"

# With few descriptors it runs or says so: never a job whose output went nowhere.
for opts in "" "-i"; do
	is "few descriptors ${opts:-without a terminal}" "$(OPTS=$opts py 'bad = []
for n in range(6, 60):
	p = W(*os.environ["OPTS"].split(), "-t", "2", "sh", "-c", "read x; echo $x", stdin=subprocess.PIPE,
		stdout=subprocess.PIPE, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n, n)))
	out = p.communicate(b"text\n")[0].replace(b"\r", b"").split()
	if (p.returncode, out) not in [(125, []), (0, [b"text"]), (0, [b"text", b"text"])]: bad.append((n, p.returncode, out))
print(bad, p.returncode)')" "[] 0"
done

# Where the result goes.
exits "a fifo that nobody reads is no place for a result" 125 timeout 5 warder run --result "$TMPDIR/fifo" true
like "and is named" "$ERR" 'fifo: nobody reads'
cat "$TMPDIR/fifo" >"$TMPDIR/read" &
wait_for 5 sh -c 'printf "" | dd oflag=nonblock of="$0" 2>/dev/null' "$TMPDIR/fifo"
wait
cat "$TMPDIR/fifo" >"$TMPDIR/read" &
ok "one that is read is one" wait_for 5 warder run --result "$TMPDIR/fifo" true
wait
like "and gets it" "$(cat "$TMPDIR/read")" '^\{.*\}$'
both=$TMPDIR/both
warder run --result "$TMPDIR/both" echo text >"$both"
is "in stdout's file it comes behind the text" "$(head -1 "$TMPDIR/both")/$(wc -l <"$TMPDIR/both")/$(tail -1 "$TMPDIR/both" | cut -c 1-12)" 'text/2/{"version": '
echo old >"$TMPDIR/both"
warder run --result "$TMPDIR/both" true
is "in a file of its own it is alone" "$(wc -l <"$TMPDIR/both")" 1
is "/dev/stdout is stdout" "$(warder run --result /dev/stdout echo text | cut -c 1-12 | tr '\n' ' ')" 'text {"version":  '

# An environment that can't be right.
while read -r range; do
	WARDER_UID_RANGE=$range run warder run true
	is "no uid range: $range" "$RC/$(echo "$ERR" | grep -c "WARDER_UID_RANGE=$range: want")" 125/1
done <<'ROWS'
-1:2
0:5
999:5
1000:0
1000:-1
1000:
:5
5
1000:5x
01000:5
0x1000:5
4294967295:1
4294967294:2
99999999999:1
1000:99999999999
18446744073709551615:2
ROWS
is "the last uid there is" "$(WARDER_UID_RANGE=4294967294:1 warder run id -u)" 1000
is "root of another user namespace is no root" "$(unshare -Ur warder run true 2>&1 | grep -c 'missing protection host_uid')/$(unshare -Ur warder run --allow-degraded id -u 2>/dev/null)" 1/1000
exits "no /dev/null" 125 unshare -m sh -c 'mount -t tmpfs none /dev; exec warder run true'
like "is named" "$ERR" '/dev/null: No such file'
end

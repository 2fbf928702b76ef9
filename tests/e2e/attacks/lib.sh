# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What the tests that read attacks/table share. Sourced after tap.sh, with SOURCES this folder; the
# test defines attack().

PROGRAMS=${WDR_BUILD%/*}/plain/tests/e2e/attacks

# What the host has that a job shall not reach: started and made here, ended and removed here.
set_up() {
	chmod 755 "$TMPDIR"
	A=$TMPDIR/a
	mkdir "$A" "$TMPDIR/d" "$TMPDIR/o"
	chmod 777 "$TMPDIR/o"
	find "$PROGRAMS" -type f -perm -1 -exec cp {} "$A" \;
	cp "$A/files" "$A/set-id"
	cp "$A/files" "$TMPDIR/d/victim"
	mknod -m 666 "$TMPDIR/o/kmsg" c 1 11
	cp "$A/files" "$A/file-caps"
	chmod 4755 "$A/set-id"
	"$A/files" add-caps "$A/file-caps" >/dev/null
	echo text >"$TMPDIR/d/file"
	chmod 666 "$TMPDIR/d/file"
	SECRET=$TMPDIR/secret
	echo secret >"$SECRET"
	ln -s "$SECRET" "$TMPDIR/o/out"
	POLICY=$TMPDIR/small-files.json
	echo '{"version": 1, "limits": {"file_size": "4M"}}' >"$POLICY"
	TRACING=$TMPDIR/tracing.json
	echo '{"version": 1, "syscalls": {"allow": ["ptrace"]}}' >"$TRACING"
	ROOT_FILE=$(find /root -maxdepth 1 -type f -size +0 | head -1)
	WARDER_SECRET=secret
	export WARDER_SECRET
	SOCKET=$TMPDIR/socket
	python3 "$SOURCES/listen.py" "$T" "$SOCKET" >"$TMPDIR/port" &
	LISTENER=$!
	wait_for 40 test -s "$TMPDIR/port" || skip_all "nobody listens"
	PORT=$(cat "$TMPDIR/port")
	"$A/others" make-shm "$SHM_KEY" >/dev/null
	QUEUE=/$T
	"$A/others" make-mqueue "$QUEUE" >/dev/null
	PID=$$
	HOSTNAME=$(uname -n)
	BLOCK=$(for dev in $(find /dev -maxdepth 1 -type b | sort); do
		[ -z "$(head -c 1 "$dev" | tr '\0' x)" ] || echo "$dev"
	done 2>/dev/null | tail -1)
	for ns in user mnt pid net ipc uts cgroup time; do
		eval "ns_$ns=\$(readlink /proc/self/ns/$ns)"
	done
	CG_AGENT=/sys/fs/cgroup/memory/release_agent
	if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
		CG_LIMIT=/sys/fs/cgroup/memory.max
		CG_PROCS=/sys/fs/cgroup/cgroup.procs
	else
		CG_LIMIT=/sys/fs/cgroup/memory/memory.limit_in_bytes
		CG_PROCS=/sys/fs/cgroup/memory/cgroup.procs
	fi
	# tmpfs can be idmapped from Linux 6.3 on.
	warder run -q -v "$TMPDIR/o:/out:rw" true && WRITABLE=yes || WRITABLE=
	# For the commands of the table.
	export ROOT_FILE POLICY TRACING PORT SOCKET SHM_KEY QUEUE PID HOSTNAME BLOCK
	export CG_LIMIT CG_PROCS CG_AGENT P D O
	prlimit --core=unlimited --pid $$
}

cleanup() {
	kill "$LISTENER" "$VICTIM"
	"$PROGRAMS/others" drop-shm "$SHM_KEY"
	"$PROGRAMS/others" drop-mqueue "/$T"
}

# inside: names of paths as a job has them; outside: as the host does.
inside() {
	P=/attacks D=/data O=/out
}

outside() {
	P=$A D=$TMPDIR/d O=$TMPDIR/o
}

# job OPTIONS COMMAND; the writable mount only where the command speaks of it
job() {
	case $2 in
	*\$O* | */out*) out="-v $TMPDIR/o:/out:rw" ;;
	*) out= ;;
	esac
	eval "run warder run -q -v $A:/attacks -v $TMPDIR/d:/data $out $1 -- $2"
}

# stopped EXPECT WHAT: the last job ended in that way, and the host's process lives
stopped() {
	case "$1 $RC $OUT" in
	*"refused 1 refused: "* | "bounded 1 refused: "* | "killed 137 "* | "bounded 137 "*) bad=0 ;;
	"native refused "*) native && bad=1 || bad=0 ;;
	*) bad=1 ;;
	esac
	kill -0 "$VICTIM" || bad=1
	tap_result "$bad" "$2: $1" || tap_show
}

# unmountable COMMAND: it needs a writable mount, and there can be none
unmountable() {
	case $1 in
	*\$O* | *\$D/victim) [ -z "$WRITABLE" ] ;;
	*) false ;;
	esac
}

# absent NAME:FILE
absent() {
	file=${1#*:}
	[ "$file" != "$1" ] && eval "[ ! -e \"$file\" ]"
}

trim() {
	echo "$1" | sed 's/^[ 	]*//; s/[ 	]*$//'
}

# For each line of the table that can be tried here: attack NAME PROTECTION EXPECT CONTROL OPTIONS COMMAND
each_attack() {
	while IFS='|' read -r name protection expect control options command; do
		case $name in '' | '#'*) continue ;; esac
		name=$(trim "$name")
		command=$(trim "$command")
		if absent "$name"; then
			note "${name%%:*}: nothing like ${name#*:} here"
		elif unmountable "$command"; then
			note "${name%%:*}: no idmapped mount of $TMPDIR here"
		else
			attack "${name%%:*}" "$(trim "$protection")" "$(trim "$expect")" \
				"$(trim "$control")" "$(trim "$options")" "$command" </dev/null
		fi
	done <"$SOURCES/table"
}

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need python3 unshare setpriv prlimit
SHM_KEY=0x$(echo "$T" | md5sum | cut -c 1-7)

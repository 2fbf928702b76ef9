#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every attack of attacks/table is refused as a job, and gets through without the protection.
# timeout: 120
. "$(dirname "$0")/../lib/tap.sh"

# What the host has that a job shall not reach: started and made here, ended and removed here.
set_up() {
	chmod 755 "$TMPDIR"
	A=$TMPDIR/a
	mkdir "$A" "$TMPDIR/d" "$TMPDIR/o"
	chmod 777 "$TMPDIR/o"
	find "$TOP/build/plain/tests/e2e/attacks" -type f -perm -1 -exec cp {} "$A" \;
	cp "$A/files" "$A/set-id"
	cp "$A/files" "$TMPDIR/d/victim"
	mknod -m 666 "$TMPDIR/o/zero" c 1 5
	cp "$A/files" "$A/file-caps"
	chmod 4755 "$A/set-id"
	setcap cap_net_raw+ep "$A/file-caps"
	echo text >"$TMPDIR/d/file"
	chmod 666 "$TMPDIR/d/file"
	SECRET=$TMPDIR/secret
	echo secret >"$SECRET"
	ln -s "$SECRET" "$TMPDIR/o/out"
	POLICY=$TMPDIR/small-files.json
	echo '{"version": 1, "limits": {"file_size": "4M"}}' >"$POLICY"
	ROOT_FILE=$(find /root -maxdepth 1 -type f -size +0 | head -1)
	WARDER_SECRET=secret
	export WARDER_SECRET
	SOCKET=$TMPDIR/socket
	/usr/bin/python3 "$TOP/tests/e2e/attacks/listen.py" "$T" "$SOCKET" >"$TMPDIR/port" &
	LISTENER=$!
	wait_for 10 test -s "$TMPDIR/port" || skip_all "nobody listens"
	PORT=$(cat "$TMPDIR/port")
	SHM_ID=$(ipcmk -M 4096 -p 0666 | sed 's/.*: //')
	SHM_KEY=$(ipcs -m | awk -v id="$SHM_ID" '$2 == id { print $1 }')
	QUEUE=/$T
	"$A/others" make-mqueue "$QUEUE" >/dev/null
	PID=$$
	UPTIME=$(cut -d . -f 1 /proc/uptime)
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
	# For the commands of the table.
	export ROOT_FILE POLICY PORT SOCKET SHM_KEY QUEUE PID UPTIME HOSTNAME BLOCK
	export CG_LIMIT CG_PROCS CG_AGENT P D O
	prlimit --core=unlimited --pid $$
}

cleanup() {
	kill "$LISTENER" "$VICTIM"
	ipcrm -m "$SHM_ID"
	"$TOP/build/plain/tests/e2e/attacks/others" drop-mqueue "/$T"
}

# inside: names of paths as a job has them; outside: as the host does.
inside() {
	P=/attacks D=/data O=/out
}

outside() {
	P=$A D=$TMPDIR/d O=$TMPDIR/o
}

# job OPTIONS COMMAND
job() {
	eval "run warder run -q -v $A:/attacks -v $TMPDIR/d:/data -v $TMPDIR/o:/out:rw $1 -- $2"
}

# control PROTECTION CONTROL OPTIONS COMMAND
control() {
	outside
	case $2 in
	bare) eval "run $4" ;;
	user) eval "run setpriv --reuid=65534 --regid=65534 --clear-groups $4" ;;
	scratch)
		eval "run unshare --mount --pid --fork --kill-child --mount-proc --ipc --uts \
			sh -c 'trap \"exit 0\" HUP INT QUIT TERM; \"\$@\" & wait \$!' sh $4"
		;;
	with*)
		inside
		job "${2#with }" "$4"
		;;
	off)
		case $1 in *mount_ns*) ;; *) inside ;; esac
		WARDER_DISABLE=$1
		export WARDER_DISABLE
		job "--allow-degraded $3" "$4"
		unset WARDER_DISABLE
		;;
	*)
		RC=2
		OUT="no control \"$2\""
		;;
	esac
}

# attack NAME PROTECTION EXPECT CONTROL OPTIONS COMMAND
attack() {
	file=${1#*:}
	if [ "$file" != "$1" ] && eval "[ ! -e \"$file\" ]"; then
		note "${1%%:*}: nothing like $file here"
		return
	fi
	set -- "${1%%:*}" "$2" "$3" "$4" "$5" "$6"
	sleep 100 &
	VICTIM=$!
	inside
	job "$5" "$6"
	case "$3 $RC $OUT" in
	"refused 1 refused: "* | "killed 137 "*) tap_result 0 "$1: $3" ;;
	*) tap_result 1 "$1: $3" || tap_show ;;
	esac
	control "$2" "$4" "$5" "$6"
	case "$RC $OUT" in
	*"Function not implemented" | *"Address family not supported by protocol")
		note "$1: not in this kernel: $OUT"
		;;
	"0 "*) tap_result 0 "$1: gets through, $4" ;;
	*) tap_result 1 "$1: gets through, $4" || tap_show ;;
	esac
	kill "$VICTIM" 2>/dev/null
	wait "$VICTIM" 2>/dev/null
}

trim() {
	echo "$1" | sed 's/^[ 	]*//; s/[ 	]*$//'
}

[ "$(id -u)" -eq 0 ] || skip_all "needs root"
need /usr/bin/python3 unshare setpriv setcap ipcmk
begin cleanup
set_up
while IFS='|' read -r name protection expect control options command; do
	case $name in '' | '#'*) continue ;; esac
	attack "$(trim "$name")" "$(trim "$protection")" "$(trim "$expect")" "$(trim "$control")" \
		"$(trim "$options")" "$(trim "$command")" </dev/null
done <"$TOP/tests/e2e/attacks/table"
end

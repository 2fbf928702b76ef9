# SPDX-License-Identifier: Apache-2.0
# bash completion for warder(1)
# shellcheck shell=bash disable=SC2207

_warder_commands='run check policy unload version help'
_warder_override='--backend --timeout --cpu-time --cpus --memory --pids --disk --output --net --allow
	--deny --mount --root --workdir --env --user --syscalls'
_warder_run="--policy --json --result --name --events --audit --metrics --allow-degraded --pty
	--no-pty --quiet --help $_warder_override"
_warder_flags=' --syscalls --json --allow-degraded --pty --no-pty --quiet --help -i -T -q -h '

_warder_words() {
	COMPREPLY=($(compgen -W "$1" -- "$2"))
}

_warder_files() {
	compopt -o filenames
	COMPREPLY=($(compgen -f -- "$1"))
}

_warder_policies() {
	local dir
	for dir in /etc/warder/policies /usr/local/share/warder/policies /usr/share/warder/policies; do
		[ -d "$dir" ] && (cd "$dir" && printf '%s\n' *.json) | sed -n 's/^\([^*]*\)\.json$/\1/p'
	done
}

# _warder_value OPTION CUR: what may be its value.
_warder_value() {
	case $1 in
	-b | --backend) _warder_words 'auto runsc native' "$2" ;;
	--net) _warder_words 'none egress host' "$2" ;;
	-p | --policy)
		_warder_files "$2"
		COMPREPLY+=($(compgen -W "$(_warder_policies)" -- "$2"))
		;;
	--root | -w | --workdir)
		compopt -o filenames
		COMPREPLY=($(compgen -d -- "$2"))
		;;
	-v | --mount)
		compopt -o nospace
		COMPREPLY=($(compgen -f -- "$2"))
		;;
	--result | --events | --audit | --metrics) _warder_files "$2" ;;
	-e | --env) COMPREPLY=($(compgen -e -- "$2")) ;;
	*) COMPREPLY=() ;; # a number, a size, an address: nothing to offer
	esac
}

# _warder_option FIRST CUR: complete CUR if it is the value of an option that COMP_WORDS hold from
# FIRST on. Else it fails, with words the number of words that are no options before CUR (after
# "--" there are only such), and 1 word ending the options where the command is run.
_warder_option() {
	local i=$1 word
	words=0
	while [ "$i" -lt "$COMP_CWORD" ]; do
		word=${COMP_WORDS[i]}
		i=$((i + 1))
		case $word in
		--) words=$((words + COMP_CWORD - i)) && ended=1 && return 1 ;;
		--* | -?)
			[[ $_warder_flags == *" $word "* ]] && continue
			[ "${COMP_WORDS[i]}" = = ] && i=$((i + 1))
			[ "$i" -ge "$COMP_CWORD" ] && _warder_value "$word" "$2" && return 0
			i=$((i + 1))
			;;
		-*) ;; # -t5
		*)
			words=$((words + 1))
			[ "${COMP_WORDS[1]}" = run ] && return 1
			;;
		esac
	done
	return 1
}

_warder_complete_run() {
	local words ended=0

	if _warder_option 2 "$1"; then
		return
	elif [ "$words" -gt 0 ]; then
		_warder_files "$1" # arguments of PROGRAM, files for all we know
	elif [[ $ended -eq 0 && $1 == -* ]]; then
		_warder_words "$_warder_run" "$1"
	else
		COMPREPLY=($(compgen -c -- "$1"))
	fi
}

_warder_complete_policy() {
	local words ended=0

	if [ "$COMP_CWORD" -eq 2 ]; then
		_warder_words 'check show explain' "$1"
	elif _warder_option 3 "$1"; then
		return
	elif [[ ${COMP_WORDS[2]} != check && $ended -eq 0 && $1 == -* ]]; then
		_warder_words "$_warder_override" "$1"
	elif [ "$words" -eq 0 ]; then
		_warder_files "$1"
	fi
}

_warder() {
	local cur=${COMP_WORDS[COMP_CWORD]}

	COMPREPLY=()
	[ "$cur" = = ] && cur= # --net=none is three words: --net, = and none
	if [ "$COMP_CWORD" -eq 1 ]; then
		_warder_words "$_warder_commands" "$cur"
		return
	fi
	case ${COMP_WORDS[1]} in
	run) _warder_complete_run "$cur" ;;
	policy) _warder_complete_policy "$cur" ;;
	check) _warder_words '--json --verbose -v --help' "$cur" ;;
	help) _warder_words "$_warder_commands" "$cur" ;;
	esac
}

complete -F _warder warder

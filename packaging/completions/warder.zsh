#compdef warder
# SPDX-License-Identifier: Apache-2.0
# zsh completion for warder(1)

_warder_policies() {
	local -a names
	names=(/etc/warder/policies/*.json(N:t:r) /usr/(local/|)share/warder/policies/*.json(N:t:r))
	_alternative 'names:policy:compadd -a names' 'files:file:_files -g "*.json"'
}

_warder() {
	local curcontext=$curcontext state line
	local -a commands override run
	commands=(
		'run:run one job'
		'check:what this machine can enforce'
		'policy:check, show or explain a policy'
		'unload:take what warder loaded out of the kernel'
		'version:the version of warder'
		'help:what a command does'
	)
	override=(
		'(-b --backend)'{-b+,--backend=}'[what contains the job]:backend:(auto runsc native)'
		'(-t --timeout)'{-t+,--timeout=}'[wall-clock limit]:duration:'
		'--cpu-time=[CPU seconds of the whole job]:duration:'
		'--cpus=[share of CPUs]:number:'
		'(-m --memory)'{-m+,--memory=}'[memory]:size:'
		'--pids=[processes and threads]:number:'
		'--disk=[bytes in writable tmpfs]:size:'
		'--output=[limit of stdout and stderr each]:size:'
		'--net=[network]:mode:(none egress host)'
		'*--allow=[allow a destination]:destination:'
		'*--deny=[deny a destination]:destination:'
		'*'{-v+,--mount=}'[SRC:DST\[:ro|rw\]]:mount:_files'
		'--root=[root file system]:directory:_files -/'
		'(-w --workdir)'{-w+,--workdir=}'[working directory inside]:directory:'
		'*'{-e+,--env=}'[set a variable]:variable:_parameters -g "*export*"'
		'--user=[user inside]:UID\:GID:'
		'--syscalls[count system calls by name]'
	)
	run=(
		'(-p --policy)'{-p+,--policy=}'[policy file or name]:policy:_warder_policies'
		'--json[print one result object]'
		'--result=[write the result object to a file]:file:_files'
		'--name=[a label for the job]:name:'
		'--events=[what happened, JSON lines]:file:_files'
		'--audit=[audit records]:file:_files'
		'--metrics=[metrics in text form]:file:_files'
		'--allow-degraded[go without missing protections]'
		'(-i --pty -T --no-pty)'{-i,--pty}'[a terminal for the job]'
		'(-i --pty -T --no-pty)'{-T,--no-pty}'[no terminal for the job]'
		'(-q --quiet)'{-q,--quiet}'[no line about how it ended]'
		'(- *)'{-h,--help}'[a summary]'
	)

	_arguments -C '1:command:->command' '*::argument:->argument'
	case $state in
	command) _describe command commands ;;
	argument)
		case $words[1] in
		run) _arguments -s $override $run '(-)1:program:_command_names -e' '*::argument:_normal' ;;
		check) _arguments '--json[one object in place of the table]' \
			'(-v --verbose)'{-v,--verbose}'[every program of the kernel side, too]' \
			'(-h --help)'{-h,--help}'[a summary]' ;;
		policy)
			if ((CURRENT == 2)); then
				compadd check show explain
			elif [[ $words[2] == explain ]]; then
				_arguments -s $override '--json[an array]' '1: :' '2:policy:_files -g "*.json"' '*:destination: '
			elif [[ $words[2] == show ]]; then
				_arguments -s $override '1: :' '2:policy:_files -g "*.json"'
			else
				_files -g '*.json'
			fi
			;;
		help) _describe command commands ;;
		esac
		;;
	esac
}

_warder "$@"

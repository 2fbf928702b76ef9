# SPDX-License-Identifier: Apache-2.0
# fish completion for warder(1)

function __warder_command
    set --local words (commandline -opc)
    test (count $words) -ge 2; and test $words[2] = $argv[1]
end

function __warder_policy_command
    set --local words (commandline -opc)
    test (count $words) -ge 3; and test "$words[2] $words[3]" = "policy $argv[1]"
end

function __warder_policies
    for file in /etc/warder/policies/*.json /usr/local/share/warder/policies/*.json \
        /usr/share/warder/policies/*.json
        basename $file .json
    end
end

set --local needs_command 'test (count (commandline -opc)) -eq 1'
set --local needs_policy_command 'test "$(commandline -opc)" = "warder policy"'
complete -c warder -f
complete -c warder -n $needs_command -a run -d 'run one job'
complete -c warder -n $needs_command -a check -d 'what this machine can enforce'
complete -c warder -n $needs_command -a policy -d 'check, show or explain a policy'
complete -c warder -n $needs_command -a unload -d 'take what warder loaded out of the kernel'
complete -c warder -n $needs_command -a version -d 'the version of warder'
complete -c warder -n $needs_command -a help -d 'what a command does'
complete -c warder -n '__warder_command help' -a 'run check policy unload version help'
complete -c warder -n $needs_policy_command -a check -d 'silent if the policy is good'
complete -c warder -n $needs_policy_command -a show -d 'the effective policy'
complete -c warder -n $needs_policy_command -a explain -d 'what becomes of a connection'
complete -c warder -n '__warder_policy_command check' -F
complete -c warder -n '__warder_policy_command show' -F
complete -c warder -n '__warder_policy_command explain' -F
complete -c warder -n '__warder_policy_command explain' -l json -d 'an array'

complete -c warder -n '__warder_command check' -l json -d 'one object in place of the table'
complete -c warder -n '__warder_command check' -s v -l verbose -d 'every program of the kernel side, too'
complete -c warder -n '__warder_command check' -s h -l help -d 'a summary'

# The options of run end at its program, which fish completes by itself.
complete -c warder -n '__warder_command run' -F -a '(__fish_complete_subcommand --fcs-skip=2)'
for cond in '__warder_command run' '__warder_policy_command show' '__warder_policy_command explain'
    complete -c warder -n $cond -s b -l backend -x -a 'auto runsc native' -d 'what contains the job'
    complete -c warder -n $cond -s t -l timeout -x -d 'wall-clock limit'
    complete -c warder -n $cond -l cpu-time -x -d 'CPU seconds of the whole job'
    complete -c warder -n $cond -l cpus -x -d 'share of CPUs'
    complete -c warder -n $cond -s m -l memory -x -d memory
    complete -c warder -n $cond -l pids -x -d 'processes and threads'
    complete -c warder -n $cond -l disk -x -d 'bytes in writable tmpfs'
    complete -c warder -n $cond -l output -x -d 'limit of stdout and stderr each'
    complete -c warder -n $cond -l net -x -a 'none egress host' -d network
    complete -c warder -n $cond -l allow -x -d 'allow a destination'
    complete -c warder -n $cond -l deny -x -d 'deny a destination'
    complete -c warder -n $cond -s v -l mount -r -d 'SRC:DST[:ro|rw]'
    complete -c warder -n $cond -l root -x -a '(__fish_complete_directories)' -d 'root file system'
    complete -c warder -n $cond -s w -l workdir -r -d 'working directory inside'
    complete -c warder -n $cond -s e -l env -x -a '(set -nx)' -d 'a variable'
    complete -c warder -n $cond -l user -x -d 'UID[:GID] inside'
    complete -c warder -n $cond -l syscalls -d 'count system calls'
end

complete -c warder -n '__warder_command run' -s p -l policy -r -a '(__warder_policies)' \
    -d 'policy file or name'
complete -c warder -n '__warder_command run' -l json -d 'print one result object'
complete -c warder -n '__warder_command run' -l result -r -d 'write the result object to a file'
complete -c warder -n '__warder_command run' -l name -x -d 'a label for the job'
complete -c warder -n '__warder_command run' -l events -r -d 'what happened, JSON lines'
complete -c warder -n '__warder_command run' -l audit -r -d 'audit records'
complete -c warder -n '__warder_command run' -l metrics -r -d 'metrics in text form'
complete -c warder -n '__warder_command run' -l allow-degraded -d 'go without missing protections'
complete -c warder -n '__warder_command run' -s i -l pty -d 'a terminal for the job'
complete -c warder -n '__warder_command run' -s T -l no-pty -d 'no terminal for the job'
complete -c warder -n '__warder_command run' -s q -l quiet -d 'no line about how it ended'
complete -c warder -n '__warder_command run' -s h -l help -d 'a summary'

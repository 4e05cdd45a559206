"""mistakes.py - typical mistakes of people who write a slice or type a command, and what each must be told.

A row: its title; what is written other than in the good files; the command; the exit status; words that must be in what
is printed, the place among them. test_mistakes.py plays each on the real program.
"""
GOOD = {"slice": "mini", "hosts": "n[0-3]", "launcher": "local", "profile": "plain", "cache": "{mode: off}",
        "ladder": "./ladder.yaml"}  # one line each, in this order; further keys from line 7
RUNGS = ("{id: host-facts, builtin: facts, timeout: 30s}", "{id: hello, command: [echo, hello], timeout: 30s}")


def slice_of(**changes):
    """The good slice file with these values; None leaves a key out."""
    lines = {**GOOD, **changes}
    return "".join(f"{key}:{value}\n" if value.startswith("\n") else f"{key}: {value}\n"
                   for key, value in lines.items() if value is not None)


def S(**changes):
    return {"slice.yaml": slice_of(**changes)}


def R(*rungs, more=None, **changes):
    """The good slice with further rungs, from line 5 of the ladder."""
    return {"slice.yaml": slice_of(**changes), "ladder.yaml": ladder_of(*RUNGS, *rungs), **(more or {})}


def P(line, **changes):
    """A profile of one's own with this line 5."""
    return {"slice.yaml": slice_of(profile="./profile.yaml", **changes),
            "profile.yaml": f"profile: ours\nfrontend: plain\nbackend: cpu\ndevices_per_host: 2\n{line}\n"}


def ladder_of(*rungs):
    return "ladder: mini\nrungs:\n" + "".join(f"  - {rung}\n" for rung in rungs)


def ssh(settings, host="127.0.0.1"):
    return {"hosts": f"\n  - {{name: n0, address: {host}}}", "launcher": "ssh", "ssh": settings,
            "start": "{directory: @DIR@/far, deadline: 5s}"}


CHECK = "check slice.yaml"

YAML = [
    ("a tab indents a key", S(cache="\n\tmode: off"), CHECK, 2, "slice.yaml:6:1: not YAML: a tab", "blanks only, expected 2"),
    ("a tab indents an item", S(hosts="\n\t- n0"), CHECK, 2, "slice.yaml:3:1: not YAML: a tab", "expected 2"),
    ("a tab among blanks", S(cache="\n  mode: off\n\troot: /x"), CHECK, 2, "slice.yaml:7:1: not YAML: a tab", "expected 2"),
    ("CRLF line ends", {name: text.replace("\n", "\r\n") for name, text in R().items()}, CHECK, 0, "no mistakes"),
    ("a byte order mark", {"slice.yaml": "\ufeff" + slice_of()}, CHECK, 0, "no mistakes"),
    ("line ends of an old Mac", {"slice.yaml": slice_of().replace("\n", "\r")}, CHECK, 2, "slice.yaml:1:1: a carriage return within a line", "tr '\\r' '\\n'"),
    ("UTF-16", {"slice.yaml": slice_of().encode("utf-16")}, CHECK, 2, "slice.yaml:1:1: the file is UTF-16", "iconv -f UTF-16 -t UTF-8"),
    ("a program as the slice file", {"slice.yaml": b"\x7fELF\x02\x01\x01\0\0"}, CHECK, 2, "slice.yaml:1:1: this line has bytes that are not text, expected UTF-8"),
    ("a word where a map belongs: cache", S(cache="off"), CHECK, 2, "slice.yaml:5:8: cache is 'off', expected a map; write cache: {mode: off}"),
    ("a word where a map belongs: ssh", S(launcher="ssh", ssh="root"), CHECK, 2, "slice.yaml:7:6: ssh is 'root', expected a map; write ssh: {user: root}"),
    ("a word where a map belongs: mesh", S(mesh="4x2"), CHECK, 2, "slice.yaml:7:7: mesh is '4x2', expected a map, such as mesh: {data: 4, model: 2}"),
    ("a value where a map belongs: limits", S(limits="30s"), CHECK, 2, "slice.yaml:7:9: limits is '30s', expected a map; write limits: {join: 30s}"),
    ("an address where a map belongs", S(coordinator="10.0.0.1:7000"), CHECK, 2, "slice.yaml:7:14: coordinator is '10.0.0.1:7000', expected a map, such as coordinator: {address:"),
    ("a list where a map belongs", S(mesh="[data: 4, model: 2]"), CHECK, 2, "slice.yaml:7:7: mesh is a list, expected a map in braces", "such as mesh: {data: 4, model: 2}"),
    ("a map where a list belongs", {"slice.yaml": slice_of(), "ladder.yaml": "ladder: mini\nrungs:\n  hello: {command: [echo]}\n"}, CHECK, 2, "ladder.yaml:3:3: rungs is a map, expected a list, each item after '- '", "{id: facts, builtin: facts}"),
    ("a word where a list belongs", S(signatures="jax, xla"), CHECK, 2, "slice.yaml:7:13: signatures is 'jax, xla', expected a list; write signatures: [jax, xla]"),
    ("a map where a name belongs", S(ladder="{file: ./ladder.yaml}"), CHECK, 2, "slice.yaml:6:9: ladder is a map, expected a name or a path, such as ladder: ./ladder.yaml"),
    ("a key one blank off", {"slice.yaml": slice_of(), "ladder.yaml": "ladder: mini\nrungs:\n  - id: a\n    builtin: facts\n   timeout: 30s\n"}, CHECK, 2, "ladder.yaml:5:4: not YAML: this line is indented otherwise", "begin in the same column"),
    ("keys deeper than the value before", S(cache="\n  mode: off\n    root: /x"), CHECK, 2, "slice.yaml:6:9: not YAML: the value that begins here ends in the next line", "same column"),
    ("keys of a map that are not indented", S(limits="\njoin: 30s"), CHECK, 2, "slice.yaml:7:1: limits is nothing, expected a map: the keys below it", "slice.yaml:8:1: unknown key 'join' in a slice file: it belongs below limits"),
    ("a key of the profile in the slice file", S(backend="cpu"), CHECK, 2, "slice.yaml:7:1: unknown key 'backend' in a slice file: it is a key of a profile"),
    ("no quotes around a host set in braces", S(groups="{spare: n[2-3]}"), CHECK, 2, "slice.yaml:7:18: not YAML: a comma or the closing bracket is missing", "stands in quotes: {spare: 'n[2-3]'}"),
    ("no quotes around @", S(exclude="@spare"), CHECK, 2, "slice.yaml:7:10: not YAML: a text that begins with this character stands in quotes, such as '@spare'"),
    ("no quotes around !", S(hosts="!spare"), CHECK, 2, "slice.yaml:2:8: a tag (!name)", "begins with ! stands in quotes"),
    ("no quotes around *", S(hosts="*all"), CHECK, 2, "slice.yaml:2:8: an alias (*name)", "begins with * stands in quotes"),
    ("anchors that multiply", S(limits="&a {join: 30s}", expect="*a"), CHECK, 2, "slice.yaml:7:9: an anchor", "slice.yaml:8:9: an alias"),
    ("no blank after a colon", {"slice.yaml": slice_of().replace("profile: ", "profile:")}, CHECK, 2, "slice.yaml:4:9: not YAML: a blank is missing behind the colon; write 'profile: plain'"),
    ("a line without a colon", {"slice.yaml": slice_of().replace("profile: ", "profile ")}, CHECK, 2, "slice.yaml:4:1: not YAML: this line is no 'key: value'"),
    ("a second key in one line", S(coordinator="address: 10.0.0.1"), CHECK, 2, "slice.yaml:7:21: not YAML: a second key in one line", "in braces: {key: value}"),
    ("a bracket that is not closed", {"slice.yaml": slice_of(), "ladder.yaml": ladder_of("{id: a, command: [echo, hello, timeout: 30s}")}, CHECK, 2, "ladder.yaml:3:22: not YAML: this [ is not closed; expected a ]"),
    ("a brace that is not closed", S(cache="{mode: off"), CHECK, 2, "slice.yaml:5:8: not YAML: this { is not closed; expected a }"),
    ("a quote that is not closed", S(slice='"mini'), CHECK, 2, 'slice.yaml:1:8: not YAML: the " that begins here is not closed'),
    ("a quote within quotes", S(slice="'it's'"), CHECK, 2, "slice.yaml:1:", "not YAML: more text behind the closing quote"),
    ("items without a blank after the dash", S(hosts="\n  -n0\n  -n1"), CHECK, 2, "slice.yaml:3:3: host set", "a blank behind its '-'"),
    ("a conflict of a merge", {"slice.yaml": slice_of().replace("launcher", "<<<<<<< ours\nlauncher")}, CHECK, 2, "slice.yaml:3:1: not YAML: a conflict of a merge"),
    ("a word where a number belongs", S(limits="{retries: one}"), CHECK, 2, "slice.yaml:7:19: retries is 'one', expected a whole number from 0 to 5"),
    ("the same key twice", {"slice.yaml": slice_of() + "hosts: n4\n"}, CHECK, 2, "slice.yaml:7:1: the key 'hosts' is given twice, first in line 2"),
    ("a key misspelt", {"slice.yaml": slice_of().replace("launcher", "lancher")}, CHECK, 2, "slice.yaml:3:1: unknown key 'lancher' in a slice file, did you mean 'launcher'?"),
    ("a key of a rung misspelt", R("{id: a, builtin: facts, time_out: 30s}"), CHECK, 2, "ladder.yaml:5:29: unknown key 'time_out' in a rung, did you mean 'timeout'?"),
    ("a word of a list misspelt", S(launcher="loacl"), CHECK, 2, "slice.yaml:3:11: launcher is 'loacl', expected one of local, join, ssh, slurm; did you mean 'local'?"),
    ("yes for true", R("{id: a, builtin: facts, rehearse: yes}"), CHECK, 2, "ladder.yaml:5:39: rehearse is 'yes', expected true or false"),
    ("a country as an argument", P("args: {country: no}"), CHECK, 2, "profile.yaml:5:17: the argument country is 'no'", "a text in quotes", "YAML readers differ"),
    ("an empty file", {"slice.yaml": ""}, CHECK, 2, "slice.yaml:1:1: an empty file, expected a slice file: a map with at least the keys slice, hosts, profile, ladder"),
    ("the ladder in place of the slice", {"ladder.yaml": ladder_of(*RUNGS)}, "check ladder.yaml", 2, "ladder.yaml:1:1: by its keys this is a ladder, expected a slice file"),
    ("the slice file as its own ladder", S(ladder="./slice.yaml"), CHECK, 2, "slice.yaml:1:1: by its keys this is a slice file, expected a ladder"),
    ("a receipt in place of the slice", {"r.json": '{"schema": "sliceup.receipt/2", "run": "ab"}'}, "run ./r.json", 2, "by its keys this is a document 'sliceup.receipt/2', expected a slice file"),
    ("two documents", {"slice.yaml": slice_of() + "---\n" + slice_of()}, CHECK, 2, "slice.yaml:7:1: a second document (---), expected one document in a file"),
    ("a required key is missing", S(profile=None), CHECK, 2, "slice.yaml:1:1: the key 'profile' is missing in a slice file", "such as profile: plain"),
    ("a command line as one text", R("{id: a, command: dmesg | tail -1}"), CHECK, 2, "ladder.yaml:5:22: command is 'dmesg | tail -1', expected a list; write command: [sh, -c, 'dmesg | tail -1']", "without a shell"),
    ("words as one text", R("{id: a, command: echo hello}"), CHECK, 2, "ladder.yaml:5:22:", "write command: [echo, hello]"),
    ("a rung twice", R(RUNGS[1]), CHECK, 2, "ladder.yaml:5:10: the rung 'hello' is given twice, first in line 4"),
    ("a rung that is a word", R("hello"), CHECK, 2, "ladder.yaml:5:5: 'hello' stands here, expected a map with the keys of a rung, each as 'key: value'"),
]

HOSTS = [
    ("a bracket of a host set", S(hosts="n[0-3"), CHECK, 2, "slice.yaml:2:8: host set, character 2 (at [0-3): this bracket is never closed"),
    ("a range that goes down", S(hosts="n[3-0]"), CHECK, 2, "slice.yaml:2:8:", "this range is reversed: the smaller number comes first"),
    ("a host twice", S(hosts="n[0-3],n3"), CHECK, 2, "slice.yaml:2:8:", "n3 is named twice"),
    ("a wildcard", S(hosts="n*"), CHECK, 2, "slice.yaml:2:8:", "wildcards are not supported", "such as v6e[0-3]"),
    ("blanks between hosts", S(hosts="n0 n1 n2"), CHECK, 2, "slice.yaml:2:8:", "expected an operator between two names: ','"),
    ("--hosts of a stranger", S(), CHECK + " --hosts n[2-5]", 2, "--hosts: the hosts 'n[4-5]' are not in this slice, expected hosts of 'n[0-3]'"),
    ("--hosts of nothing", S(), "run slice.yaml --hosts ''", 2, "--hosts: host set", "the set is empty"),
    ("--exclude of a stranger", S(), CHECK + " --exclude n9", 0, "--exclude: warning: the hosts to exclude 'n9' are not in this slice"),
    ("--exclude of all", S(), CHECK + " --exclude n[0-3]", 2, "slice.yaml:2:8: the slice has no hosts left", "--exclude takes them out"),
    ("a group that is not there", S(), CHECK + " --exclude @spare", 2, "--exclude: host set", "there is no group spare", "groups: {spare:"),
    ("a group misspelt", S(groups="{spare: 'n[2-3]'}"), CHECK + " --hosts @spaer", 2, "--hosts: host set", "there is no group spaer", "the groups of the slice file: spare"),
    ("a mesh that does not fit", S(mesh="{data: 8, model: 2}"), CHECK, 2, "slice.yaml:7:7: the sizes of the mesh multiply to 16 devices, expected 8: 4 hosts times 2", "{data: 4, model: 2} would fit"),
    ("a mesh after --exclude", S(mesh="{data: 4, model: 2}"), "run slice.yaml --exclude n3", 2, "slice.yaml:7:7:", "expected 6: 3 hosts (without n3, left out)"),
    ("a writer that is no host", S(cache="{mode: single-writer, writer: n9}"), CHECK, 2, "slice.yaml:5:38: the writer 'n9' is not a host of this slice, expected one of its hosts, 'n[0-3]'"),
    ("Slurm outside of an allocation", S(hosts="{from: slurm}"), CHECK, 2, "slice.yaml:2:15:", "SLURM_JOB_NODELIST is not set", "salloc or sbatch"),
    ("hosts by name in a map", S(hosts="{n0: a, n1: b}"), CHECK, 2, "slice.yaml:2:8: hosts is a map without the key from, expected a host set"),
]

VALUES = [
    ("a profile misspelt", S(profile="palin"), CHECK, 2, "slice.yaml:4:10: profile 'palin' does not exist", "did you mean 'plain'?"),
    ("a file of one's own without ./", S(ladder="ladder"), CHECK, 2, "slice.yaml:6:9: ladder 'ladder' does not exist", "for the file here write ./ladder.yaml"),
    ("a pin set misspelt", S(pins="jax-cup"), CHECK, 2, "slice.yaml:7:7: pin set 'jax-cup' does not exist", "did you mean 'jax-cpu'?"),
    ("a duration without its unit", R("{id: a, builtin: facts, timeout: 30}"), CHECK, 2, "ladder.yaml:5:38: timeout is '30', expected a duration", "such as 90s (one number, and ms, s, m, h or d)"),
    ("a duration as people say it", R("{id: a, builtin: facts, timeout: 30sec}"), CHECK, 2, "ladder.yaml:5:38: timeout is '30sec'", "and ms, s, m, h or d"),
    ("a duration of two parts", R("{id: a, builtin: facts, timeout: 1h30m}"), CHECK, 2, "ladder.yaml:5:38: timeout is '1h30m'", "one number"),
    ("a size with a decimal unit", S(limits="{log: 4MB}"), CHECK, 2, "slice.yaml:7:15: log is '4MB', expected a size", "such as 4MiB (one number, and B, KiB, MiB or GiB)"),
    ("suspect longer than lost", S(limits="{suspect: 40s}"), CHECK, 2, "slice.yaml:7:19: limits.suspect is 40000 ms and limits.lost is 30000 ms, expected suspect to be shorter"),
    ("a port out of range", S(coordinator="{control_port: 70000}"), CHECK, 2, "slice.yaml:7:29: control_port is '70000', expected a whole number from 0 to 65535"),
    ("one port for two things", S(coordinator="{control_port: 47311, bulk_port: 47311}"), CHECK, 2, "slice.yaml:7:47: bulk_port is 47311, the same port as control_port"),
    ("a variable of the worker", P("env: {SLICEUP_HOST: n0}"), CHECK, 2, "profile.yaml:5:7: the worker sets SLICEUP_HOST itself"),
    ("a key of another launcher", S(start="{directory: /var/tmp/sliceup}"), CHECK, 2, "slice.yaml:7:8: the key start is set with launcher: local, expected it with join, ssh, slurm only"),
    ("~ in a path of the hosts", S(cache="{root: ~/cache}"), CHECK, 2, "slice.yaml:5:15: root is '~/cache'", "~ stands for no folder here"),
    ("a relative cache over ssh", S(launcher="ssh", cache="{root: cache}"), CHECK, 2, "slice.yaml:5:15: launcher: ssh with a relative cache.root, expected cache.root as an absolute path", "or mode: per-host or off"),
    ("a port behind the address", S(launcher="ssh", coordinator="{address: '10.0.0.1:7000'}"), CHECK, 2, "slice.yaml:7:24: the coordinator's address is '10.0.0.1:7000', expected a host name or an IP address"),
]

FILES = [
    ("no such slice file", S(), "check slcie.yaml", 2, "slice 'slcie.yaml' does not exist, expected the file @DIR@/slcie.yaml on this machine; did you mean 'slice.yaml'?"),
    ("standard input that has nothing", S(), "check -", 2, "-:1:1: "),
    ("a ladder on standard input", S(), CHECK + " --ladder -", 2, "a ladder is read from a file; standard input is not taken"),
    ("a folder in place of the slice", {"conf/slice.yaml": slice_of()}, "run conf", 2, "slice 'conf' does not exist", "conf here is a folder"),
    ("a folder by its path", {"conf/slice.yaml": slice_of()}, "check ./conf/", 2, "slice './conf/' cannot be read: it is a folder"),
    ("a slice file with another ending", {"slice.yml": slice_of()}, "check slice.yml", 2, "slice 'slice.yml' does not exist", "for the file here write ./slice.yml"),
    ("no such ladder", S(ladder="./laddr.yaml"), CHECK, 2, "slice.yaml:6:9: ladder './laddr.yaml' does not exist, expected the file @DIR@/laddr.yaml", "did you mean './ladder.yaml'?"),
    ("the program of a rung is not there", R("{id: a, command: [./step.sh]}"), CHECK, 2, "ladder.yaml:5:23: file './step.sh' does not exist, expected the file @DIR@/step.sh on this machine"),
    ("a file of a rung is not there", R("{id: a, command: [cat], files: [./data.txt]}"), CHECK, 2, "ladder.yaml:5:37: file './data.txt' does not exist, expected the file @DIR@/data.txt"),
    ("a canary that is not there", R("{id: a, canary: ./own.py}"), CHECK, 2, "ladder.yaml:5:21: canary './own.py' does not exist, expected the file @DIR@/own.py"),
    ("a shipped canary misspelt", R("{id: a, canary: plain/helo.py}"), CHECK, 2, "ladder.yaml:5:21: canary 'plain/helo.py' does not exist", "did you mean 'plain/hello.py'?"),
    ("a script with CRLF", R("{id: a, command: [./step.sh]}", more={"step.sh": "#!/bin/sh\r\necho ok\r\n"}), CHECK, 2, "ladder.yaml:5:23: the first line of step.sh ends in a carriage return (CR LF)", "dos2unix"),
    ("a script without #!", R("{id: a, command: [./step.sh]}", more={"step.sh": "echo ok\n"}), CHECK, 2, "ladder.yaml:5:23: step.sh has no first line such as #!/bin/sh"),
    ("a script that is not executable", R("{id: a, command: [./step.sh]}", more={"step.sh": "#!/bin/sh\n"}), CHECK, 2, "ladder.yaml:5:23: step.sh is not executable: chmod +x"),
    ("no setup script", S(pins="{file: jax-cpu, setup: ./prepare.sh}"), CHECK, 2, "slice.yaml:7:30: setup script './prepare.sh' does not exist, expected the file @DIR@/prepare.sh on this machine"),
    ("no pin file", S(pins="./ours.txt"), CHECK, 2, "slice.yaml:7:7: pin set './ours.txt' does not exist, expected the file @DIR@/ours.txt on this machine"),
    ("no folder of wheels", S(pins="{file: jax-cpu, wheels: @DIR@/wheels}"), CHECK, 2, "slice.yaml:7:31: the wheel folder '@DIR@/wheels' cannot be found on this machine"),
    ("no file of hosts", S(hosts="{from: file, file: ./hosts.txt}"), CHECK, 2, "slice.yaml:2:27: host file './hosts.txt' does not exist, expected the file @DIR@/hosts.txt on this machine"),
    ("no private key", S(**ssh("{identities: [@DIR@/kye]}")), CHECK, 2, "slice.yaml:8:20: '@DIR@/kye' cannot be read on this machine: No such file", "ssh-keygen"),
    ("no known hosts", S(**ssh("{known_hosts: @DIR@/known}")), "run slice.yaml", 2, "slice.yaml:8:20: '@DIR@/known' cannot be read on this machine: No such file", "ssh-keyscan"),
    ("a relative path of this machine", S(**ssh("{known_hosts: known_hosts}")), CHECK, 2, "slice.yaml:8:20: known_hosts is 'known_hosts', expected a path of this machine: absolute, or beginning with ~/ or ./"),
]

COMMAND_LINE = [
    ("a command misspelt", {}, "staus", 2, "there is no command 'staus'; did you mean status?"),
    ("a command of cache misspelt", {}, "cache gcc", 2, "there is no command 'gcc'; did you mean gc?; see sliceup cache --help"),
    ("the file before the command", S(), "slice.yaml run", 2, "there is no command 'slice.yaml'; the command comes first"),
    ("an option misspelt", S(), CHECK + " --exlude n3", 2, "sliceup check: unknown argument '--exlude'; did you mean --exclude?"),
    ("an option of another command", S(), "run slice.yaml --dry-run", 2, "sliceup run: unknown argument '--dry-run'", "see sliceup run --help"),
    ("-f as with kubectl", S(), "run -f slice.yaml", 2, "sliceup run: unknown argument '-f'", "see sliceup run --help"),
    ("an option without its value", S(), CHECK + " --hosts", 2, "sliceup check: --hosts needs a value, SET"),
    ("an option twice", S(), CHECK + " --ladder ./ladder.yaml --ladder plain", 2, "--ladder is given twice: './ladder.yaml' and 'plain'; give it once"),
    ("two forms at once", {}, "receipt --json --markdown", 2, "--json and --markdown exclude each other"),
    ("no slice file", {}, "run", 2, "sliceup run: expected SLICE.yaml; see sliceup run --help"),
    ("a word too many", S(), "run slice.yaml n[0-1]", 2, "sliceup run: one word too many: 'n[0-1]'"),
    ("a blank in a set of hosts", S(), CHECK + " --hosts n0, n2", 2, "one word too many: 'n2'; a set of hosts is one word, such as n0,n2"),
    ("a number that is a word", {}, "runs --limit all", 2, "--limit all: expected a number from 1"),
    ("a separator of nothing", {}, "hosts --separator ' ' n[0-3]", 2, "--separator: expected it with --expand"),
    ("more hosts than there are", S(), "run slice.yaml --min-hosts 9", 2, "--min-hosts", "4"),
    ("hosts in place of their number", S(), "run slice.yaml --min-hosts n[0-2]", 2, "--min-hosts n[0-2]: expected a number from 1"),
    ("a rung to begin with that is not there", S(), "run slice.yaml --from helo", 2, "helo", "hello"),
    ("a rung by itself that is not there", S(), "run slice.yaml --only dense", 2, "dense", "host-facts, hello"),
    ("to go on and to stop", S(), "run slice.yaml --keep-going --fail-fast", 2, "--fail-fast and --keep-going exclude each other: choose one"),
    ("completion of another shell", {}, "completion tcsh", 2, "bash"),
    ("~ that no shell saw", S(), "run slice.yaml --home '~/sliceup'", 2, "the home is '~/sliceup'", "expected a path in which the shell replaced ~"),
    ("a home that is a file", S(), "runs --home slice.yaml", 3, "the home (--home, SLICEUP_HOME): slice.yaml exists but is not a folder"),
    ("neither Slurm nor a TPU", {}, "hosts --from env", 3, "neither SLURM_JOB_NODELIST nor TPU_WORKER_HOSTNAMES is set: name the hosts in the slice file"),
    ("no run yet", {}, "receipt", 2, "there are no runs yet in @DIR@/home; start one with: sliceup run SLICE.yaml"),
    ("nothing to cancel", {}, "cancel last", 2, "there are no runs yet in @DIR@/home"),
    ("exec without hosts", {}, "exec -- uname -r", 2, "expected hosts: -w SET, or --slice FILE"),
    ("exec without a command", {}, "exec -w n[0-3] --launcher local --", 2, "sliceup exec: expected COMMAND"),
    ("exec with an open bracket", {}, "exec -w n[0-3 --launcher local -- date", 2, "-w: host set, character 2 (at [0-3): this bracket is never closed"),
    ("exec with a stranger", S(), "exec --slice slice.yaml -w n9 -- date", 2, "--hosts: n9 is no host of slice mini"),
]

# After a run of the good files, which passed. @RUN@: its id.
AFTER_A_RUN = [
    ("a run that does not exist", "receipt deadbeef", 2, "no run 'deadbeef', expected an id, the beginning of one, or 'last'; the newest is @RUN@", "sliceup runs lists them"),
    ("a slice file in place of a run", "status slice.yaml", 2, "no run 'slice.yaml', expected an id"),
    ("resume of a run that has ended", "resume", 0, "run @RUN@ has ended, and no run was interrupted", "sliceup receipt @RUN@"),
    ("cancel of a run that has ended", "cancel last", 0, "run @RUN@ had ended already"),
    ("prune without saying what stays", "runs prune", 2, "expected --keep N or --older-than DURATION"),
    ("logs of a rung that is not there", "logs --rung helo", 2, "--rung helo: this run has no such rung; it has host-facts, hello"),
    ("logs of a host that is not there", "logs --hosts n7", 2, "--hosts n7: this selects none of the hosts n[0-3]"),
    ("the cache of a run without one", "cache ls", 3, "no run of this home used a compile cache: name a cache root with --root DIR"),
    ("misses of a host that is not there", "cache explain n0 n9", 2, "run @RUN@ has no host 'n9'"),
    ("a baseline that is not there", "drift --against good.json", 3, "good.json is neither a run nor a file here", "sliceup drift --save FILE"),
]

# Rung 5 of a run: exit status, and what is said of it, once for all hosts.
PROGRAMS = [
    ("a program that no host has", "{id: a, command: [nosuchprogram]}", 3, "n[0-3] blocked: no program nosuchprogram on the PATH of this host", "its absolute path, or ./NAME for a file beside the ladder file"),
    ("a command of the shell", "{id: a, command: [cd, /tmp]}", 3, "no program cd on the PATH", "a command runs without a shell"),
    ("a program that says why", "{id: a, command: [sh, -c, 'echo loading; echo \"config: no field x\" >&2; exit 1']}", 1, "n[0-3] failed: config: no field x; exited with status 1", "sliceup logs --rung a"),
    ("a program that is killed", "{id: a, command: [sh, -c, 'kill -9 $$']}", 1, "n[0-3] failed: killed by signal 9 (Killed)", "dmesg"),
    ("an interpreter that no host has", "{id: a, builtin: restore}", 3, "n[0-3] blocked: the interpreter that pins.python names: cannot start python3.99"),
    ("a script that is no canary", "{id: a, canary: ./own.py, env: false}", 1, "n[0-3] failed: exited with status 0 but never reported that it was done", "a program without the protocol is the `command` of its rung"),
]

/* links: conf frontend model base */
#include "conf_share.h"

#define SLICE(LINES) "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n" LINES
/* launcher in line 2, hosts in 3, LINES from 7 on */
#define ELSEWHERE(LAUNCHER, LINES)                                                                                     \
    "slice.yaml", "slice: s\nlauncher: " LAUNCHER "\nhosts: h[0-1]\nprofile: p\nladder: l\ncache: {root: /c}\n" LINES
#define JOIN(LINES) ELSEWHERE ("join", "coordinator: {address: a, control_port: 1, bulk_port: 2}\n" LINES)
#define ONE_HOST(KEYS)                                                                                                 \
    "slice.yaml", "slice: s\nlauncher: ssh\nhosts: [{name: a, " KEYS "}]\nprofile: p\nladder: l\ncache: {root: /c}\n"
#define SLURM_WITH(OPTION) ELSEWHERE ("slurm", "slurm: {options: [" OPTION "]}\n")

static const struct bad bad_cases[] = {
    /* what goes with another launcher */
    { SLICE ("ssh: {user: tpu}\n"), "slice.yaml:6:6: the key ssh is set with launcher: local, expected it with ssh "
                                    "only; or set launcher: ssh" },
    { SLICE ("slurm: {account: ml}\n"), "slice.yaml:6:8: the key slurm is set with launcher: local, expected it with "
                                        "slurm only; or set launcher: slurm" },
    { SLICE ("start: {deadline: 5s}\n"),
      "slice.yaml:6:8: the key start is set with launcher: local, expected it with join, ssh, slurm only" },
    { ELSEWHERE ("ssh", "slurm: {}\n"),
      "slice.yaml:7:8: the key slurm is set with launcher: ssh, expected it with slurm only; or set" },
    { ELSEWHERE ("slurm", "ssh: {}\n"), "7:6: the key ssh is set with launcher: slurm, expected it with ssh only" },
    { ELSEWHERE ("slurm", "start: {outlive: true}\n"),
      "slice.yaml:7:18: outlive: true with launcher: slurm, expected the key outlive to be left out" },
    { JOIN ("start: {deadline: 5s}\n"),
      "slice.yaml:8:19: the key deadline is set with launcher: join, expected it with ssh, slurm only" },
    { JOIN ("start: {at_once: 5}\n"),
      "slice.yaml:8:18: the key at_once is set with launcher: join, expected it with ssh, slurm only" },
    { JOIN ("start: {outlive: true}\n"),
      "slice.yaml:8:18: the key outlive is set with launcher: join, expected it with ssh, slurm only" },
    { "slice.yaml", "slice: s\nhosts: [{name: a, ssh: {port: 22}}]\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:24: the key ssh is set with launcher: local, expected it with ssh only; or set launcher" },
    /* start, coordinator */
    { ELSEWHERE ("ssh", "start: {directory: tmp/x}\n"),
      "slice.yaml:7:20: directory is 'tmp/x', expected an absolute path of letters, digits and '/._+@-'" },
    { ELSEWHERE ("ssh", "start: {directory: '/a b'}\n"), "slice.yaml:7:20: directory is '/a b'" },
    { ELSEWHERE ("ssh", "start: {directory: /}\n"), "slice.yaml:7:20: directory is '/'" },
    { ELSEWHERE ("ssh", "start: {directory: /a/../b}\n"), "slice.yaml:7:20: the path '/a/../b' contains '..'" },
    { ELSEWHERE ("ssh", "start: {directory: ~/sliceup}\n"), "slice.yaml:7:20: directory is '~/sliceup'" },
    { ELSEWHERE ("ssh", "start: {at_once: 0}\n"),
      "slice.yaml:7:18: at_once is '0', expected a whole number from 1 to 4096" },
    { ELSEWHERE ("ssh", "start: {deadline: 60}\n"),
      "slice.yaml:7:19: deadline is '60', expected a duration from 1 s to 1 h" },
    { ELSEWHERE ("ssh", "start: {outlives: true}\n"), "unknown key 'outlives' in start, did you mean 'outlive'?" },
    { ELSEWHERE ("ssh", "coordinator: {address: 0.0.0.0}\n"),
      "slice.yaml:7:24: the coordinator's address is '0.0.0.0', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: '-x'}\n"),
      "slice.yaml:7:24: the coordinator's address is '-x', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: '10.0.0.1:7000'}\n"),
      "the coordinator's address is '10.0.0.1:7000', expected" },
    { ELSEWHERE ("ssh", "coordinator: {listen: eth0}\n"),
      "slice.yaml:7:23: coordinator.listen is 'eth0', expected an IP address of this machine, or 0.0.0.0 for "
      "all" },
    { ELSEWHERE ("ssh", "coordinator: {control_port: 65536}\n"),
      "control_port is '65536', expected a whole number from 0 to 65535" },
    { ELSEWHERE ("ssh", "coordinator: {control_port: 7001, bulk_port: 7001}\n"),
      "slice.yaml:7:46: bulk_port is 7001, the same port as control_port, expected another port" },
    { ELSEWHERE ("join", "coordinator: {control_port: 1, bulk_port: 2}\n"),
      "slice.yaml:7:14: launcher: join without coordinator.address, expected the address of this machine" },
    { ELSEWHERE ("join", "coordinator: {address: a, bulk_port: 2}\n"),
      "slice.yaml:7:14: launcher: join without coordinator.control_port, expected a port" },
    { ELSEWHERE ("join", "coordinator: {address: a, control_port: 2, bulk_port: 0}\n"),
      "slice.yaml:7:55: launcher: join without coordinator.bulk_port, expected a port" },
    /* ssh */
    { ELSEWHERE ("ssh", "ssh: {user: -oProxyCommand=x}\n"),
      "slice.yaml:7:13: user is '-oProxyCommand=x', expected a name" },
    { ELSEWHERE ("ssh", "ssh: {user: 'a;b'}\n"), "slice.yaml:7:13: user is 'a;b', expected a name of letters" },
    { ELSEWHERE ("ssh", "ssh: {user: a@b}\n"), "slice.yaml:7:13: user is 'a@b'" },
    { ELSEWHERE ("ssh", "ssh: {user: 'a b'}\n"), "slice.yaml:7:13: user is 'a b'" },
    { ELSEWHERE ("ssh", "ssh: {user: $USER}\n"), "slice.yaml:7:13: user is '$USER'" },
    { ELSEWHERE ("ssh", "ssh: {port: 0}\n"), "slice.yaml:7:13: port is '0', expected a whole number from 1 to 65535" },
    { ELSEWHERE ("ssh", "ssh: {identities: ~/.ssh/id_ed25519}\n"),
      "slice.yaml:7:19: identities is '~/.ssh/id_ed25519', expected a list" },
    { ELSEWHERE ("ssh", "ssh: {identities: [id_rsa]}\n"),
      "slice.yaml:7:20: an item of identities is 'id_rsa', expected the path of a private key" },
    { ELSEWHERE ("ssh", "ssh: {identities: [[a]]}\n"),
      "an item of identities is a list, expected the path of a private key" },
    { ELSEWHERE ("ssh", "ssh: {known_hosts: known}\n"),
      "slice.yaml:7:20: known_hosts is 'known', expected a path of this machine, absolute or beginning with ~/" },
    { ELSEWHERE ("ssh", "ssh: {agent: yes}\n"), "slice.yaml:7:14: agent is 'yes', expected true or false" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: '-J'}\n"),
      "slice.yaml:8:13: the jump host is '-J', expected [user@]host[:port]" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: 'a@b@c'}\n"), "the jump host is 'a@b@c', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: 'a b'}\n"), "the jump host is 'a b', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: '@b'}\n"), "the jump host is '@b', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: 'b:'}\n"), "the jump host is 'b:', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: 'b:0'}\n"), "the jump host is 'b:0', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: 'b:65536'}\n"),
      "the jump host is 'b:65536', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: 'b;c'}\n"), "the jump host is 'b;c', expected" },
    { ELSEWHERE ("ssh", "coordinator: {address: c}\nssh: {jump: 'a@-b'}\n"), "the jump host is 'a@-b', expected" },
    { ELSEWHERE ("ssh", "ssh: {jump: me@bastion:22}\n"),
      "slice.yaml:1:1: coordinator.address is missing and hosts are behind a jump host" },
    { "slice.yaml",
      "slice: s\nlauncher: ssh\nhosts: [{name: a, ssh: {jump: b}}]\nprofile: p\nladder: l\ncache: {root: /c}\n"
      "coordinator: {listen: '::'}\n",
      "slice.yaml:7:14: coordinator.address is missing and hosts are behind a jump host" },
    { ONE_HOST ("ssh: {user: '-l'}"), "slice.yaml:3:31: user is '-l', expected a name" },
    { ONE_HOST ("ssh: {address: 'b c'}"), "slice.yaml:3:34: the host's ssh address is 'b c', expected" },
    { ONE_HOST ("ssh: {address: '-b'}"), "slice.yaml:3:34: the host's ssh address is '-b', expected" },
    { ONE_HOST ("ssh: {address: 'b:22'}"), "slice.yaml:3:34: the host's ssh address is 'b:22', expected" },
    { ONE_HOST ("address: '-b'"),
      "slice.yaml:3:28: the host's address is '-b', expected a host name or an IP address" },
    { ONE_HOST ("ssh: {host_key_alias: 'a,b'}"),
      "slice.yaml:3:41: host_key_alias is 'a,b', expected one name of letters, digits and '._-+/:[]'" },
    { ELSEWHERE ("ssh", "ssh: {host_key_alias: a}\n"), "slice.yaml:7:7: unknown key 'host_key_alias' in ssh" },
    { ONE_HOST ("ssh: {prot: 22}"), "slice.yaml:3:25: unknown key 'prot' in ssh of a host, did you mean 'port'?" },
    { ONE_HOST ("ssh: tpu"), "slice.yaml:3:24: ssh is 'tpu', expected a map" },
    /* slurm */
    { SLURM_WITH ("'-p x'"), "slice.yaml:7:19: an item of options is '-p x', expected an option of srun: --name" },
    { SLURM_WITH ("-p"), "slice.yaml:7:19: an item of options is '-p', expected an option of srun" },
    { SLURM_WITH ("--"), "slice.yaml:7:19: an item of options is '--', expected an option of srun" },
    { SLURM_WITH ("---x"), "slice.yaml:7:19: an item of options is '---x', expected an option of srun" },
    { SLURM_WITH ("--=x"), "slice.yaml:7:19: an item of options is '--=x', expected an option of srun" },
    { SLURM_WITH ("--A"), "slice.yaml:7:19: an item of options is '--A', expected an option of srun" },
    { SLURM_WITH ("'--gres=a b'"), "slice.yaml:7:19: an item of options is '--gres=a b', expected an option of srun" },
    { SLURM_WITH ("'--gres=$x'"), "'--gres=$x', expected an option of srun" },
    { SLURM_WITH ("'--gres=`x`'"), "'--gres=`x`', expected an option of srun" },
    { SLURM_WITH ("'--gres=a;b'"), "'--gres=a;b', expected an option of srun" },
    { SLURM_WITH ("'--gres=a|b'"), "'--gres=a|b', expected an option of srun" },
    { SLURM_WITH ("'--gres=a&b'"), "'--gres=a&b', expected an option of srun" },
    { SLURM_WITH ("'--gres=a>b'"), "'--gres=a>b', expected an option of srun" },
    { SLURM_WITH ("'--gres=\"a\"'"), "expected an option of srun" },
    { SLURM_WITH ("--gres=\\a"), "expected an option of srun" },
    { SLURM_WITH ("--gres=\xc3\xa9"), "expected an option of srun" },
    { SLURM_WITH ("[a]"), "slice.yaml:7:19: an item of options is a list, expected an option of srun" },
    { SLURM_WITH ("--nodelist=a"), "slice.yaml:7:19: sliceup sets the option '--nodelist=a' itself, expected another" },
    { SLURM_WITH ("--nodel=a"), "slice.yaml:7:19: sliceup sets the option '--nodel=a' itself, expected another" },
    { SLURM_WITH ("--input=/x"), "sliceup sets the option '--input=/x' itself" },
    { SLURM_WITH ("--output=/x"), "sliceup sets the option '--output=/x' itself" },
    { SLURM_WITH ("--error=/x"), "sliceup sets the option '--error=/x' itself" },
    { SLURM_WITH ("--ntasks=2"), "sliceup sets the option '--ntasks=2' itself" },
    { SLURM_WITH ("--chdir=/"), "sliceup sets the option '--chdir=/' itself" },
    { SLURM_WITH ("--pty"), "sliceup sets the option '--pty' itself" },
    { SLURM_WITH ("--label"), "sliceup sets the option '--label' itself" },
    { SLURM_WITH ("--wrap=x"), "sliceup sets the option '--wrap=x' itself" },
    { SLURM_WITH ("--multi-prog"), "sliceup sets the option '--multi-prog' itself" },
    { SLURM_WITH ("--export=ALL"), "sliceup sets the option '--export=ALL' itself" },
    { SLURM_WITH ("--wait=0"), "sliceup sets the option '--wait=0' itself" },
    { SLURM_WITH ("--kill-on-bad-exit=0"), "sliceup sets the option '--kill-on-bad-exit=0' itself" },
    { SLURM_WITH ("--partition=x"), "sliceup sets the option '--partition=x' itself" },
    { ELSEWHERE ("slurm", "slurm: {account: -x}\n"), "slice.yaml:7:18: account is '-x', expected a name" },
    { ELSEWHERE ("slurm", "slurm: {partition: 'a b'}\n"), "slice.yaml:7:20: partition is 'a b', expected a name" },
    /* cache and paths elsewhere */
    { "slice.yaml", "slice: s\nlauncher: ssh\nhosts: a\nprofile: p\nladder: l\n",
      "slice.yaml:1:1: launcher: ssh without cache.root, expected cache.root as an absolute path on storage that all "
      "hosts "
      "share at this path, or mode: per-host or off" },
    { "slice.yaml", "slice: s\nlauncher: ssh\nhosts: a\nprofile: p\nladder: l\ncache: {root: cache}\n",
      "slice.yaml:6:15: launcher: ssh with a relative cache.root, expected cache.root as an absolute path" },
    /* groups, exclude, sources */
    { SLICE ("groups: {a b: h0}\n"), "slice.yaml:6:10: 'a b' is not a group name" },
    { SLICE ("groups: {a: [h0]}\n"), "slice.yaml:6:13: the group a holds a list, expected a host set" },
    { SLICE ("groups: {a: }\n"), "the group a holds nothing, expected a host set" },
    { SLICE ("groups: {a: 'h[0-'}\n"), "slice.yaml:6:13: " },
    { SLICE ("groups: {a: '@b'}\n"), "slice.yaml:6:13: " },
    { SLICE ("groups: {a: '@a'}\n"), "slice.yaml:6:13: " },
    { SLICE ("exclude: '@nope'\n"), "slice.yaml:6:10: " },
    { SLICE ("exclude: h[0-1]\n"), "slice.yaml:2:8: the slice has no hosts left, expected at least one" },
    { SLICE ("exclude: [h0]\n"), "slice.yaml:6:10: exclude is a list, expected a host set such as v6e[0-3]" },
    { SLICE ("exclude: h1\nmesh: {a: 2, b: 2}\n"),
      "multiply to 4 devices, expected 2: 1 hosts (without h1, left out) times 2 devices_per_host; a mesh of {a: 1, "
      "b: 2} would fit" },
    { SLICE ("exclude: h0\ncache: {writer: h0}\n"),
      "slice.yaml:7:17: the writer 'h0' is not a host of this slice, expected one of its hosts that are not excluded" },
    { SLICE ("mesh: {a: 3, b: 3}\n"),
      "multiply to 9 devices, expected 4: 2 hosts times 2 devices_per_host; a mesh of {host: 4}" },
    { SLICE ("mesh: {a: 4, b: 2}\n"), "; a mesh of {a: 2, b: 2} would fit" },
    { "slice.yaml", "slice: s\nhosts: {from: slurn}\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:15: from is 'slurn', expected one of slurm, tpu, file; did you mean 'slurm'?" },
    { "slice.yaml", "slice: s\nhosts: {from: slurm}\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:15: from: slurm is not available here, expected host sets" },
    { "slice.yaml", "slice: s\nhosts: {from: file}\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:8: from: file without the key file, expected the key file with from: file" },
    { "slice.yaml", "slice: s\nhosts: {from: slurm, file: x}\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:28: from: slurm with the key file, expected the key file with from: file" },
    { "slice.yaml", "slice: s\nhosts: {from: file, file: nowhere}\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:27: host file 'nowhere' does not exist, expected the file " },
};

static void each_mistake_is_one_problem_with_its_place (void **state)
{
    (void) state;
    each_is_one_problem (bad_cases, sizeof bad_cases / sizeof bad_cases[0]);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (each_mistake_is_one_problem_with_its_place),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}

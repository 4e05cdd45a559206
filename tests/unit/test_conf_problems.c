/* links: conf frontend model base */
#include "conf_share.h"
#include "test.h"

#define SLICE(LINES) "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n" LINES
#define PROFILE(LINES) "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 2\n" LINES
#define LADDER(LINES) "configs/ladders/l.yaml", "ladder: l\nrungs:\n" LINES
#define SIGNATURES(LINES) "configs/signatures/jax.yaml", "signatures: jax\nlist:\n" LINES

static const struct bad bad_cases[] = {
    /* variables by scope */
    { PROFILE ("env: {A: '{rnak}'}\n"),
      "p.yaml:5:10: the variable A holds {rnak}, expected a placeholder of these: {rank}, {world}" },
    { PROFILE ("host_env: {A-B: c}\n"), "p.yaml:5:12: 'A-B' is not a variable name" },
    { PROFILE ("slice_env: {HOME: c}\n"), "p.yaml:5:13: the worker sets HOME itself" },
    { PROFILE ("host_env: {JAX_COMPILATION_CACHE_DIR: null}\n"),
      "p.yaml:5:12: the worker sets JAX_COMPILATION_CACHE_DIR itself" },
    { PROFILE ("host_env: {TZ: null}\n"), "p.yaml:5:16: TZ is null, but programs always have it, expected a value" },
    { PROFILE ("host_env: {A: [b]}\n"), "p.yaml:5:15: the variable A holds a list, expected a single value" },
    { PROFILE ("env: {A: b}\ninherit: [A]\n"), "p.yaml:6:11: A is set by env and inherited, expected one of the two" },
    { PROFILE ("inherit: A\n"), "p.yaml:5:10: inherit is 'A', expected a list" },
    { PROFILE ("inherit: [[A]]\n"), "p.yaml:5:11: a list is not a variable name" },
    { PROFILE ("inherit: [SLICEUP_FD]\n"), "p.yaml:5:11: the worker sets SLICEUP_FD itself" },
    /* YAML itself */
    { "slice.yaml", "slice: [a\n", "slice.yaml:1:8: not YAML: this [ is not closed" },
    { "slice.yaml", "",
      "slice.yaml:1:1: an empty file, expected a slice file: a map with at least the keys slice, hosts" },
    { "slice.yaml", "# nothing\n",
      "slice.yaml:1:1: an empty file, expected a slice file: a map with at least the keys slice, hosts" },
    { "slice.yaml", "a:\n  b: >0\n", "slice.yaml:2:3: not YAML: the error is after this place" },
    { "slice.yaml", "- a\n", "slice.yaml:1:1: a list stands here, expected a map with the keys of a slice file" },
    { "slice.yaml", "slice: s\n---\na: b\n", "slice.yaml:2:1: a second document" },
    { "slice.yaml", "a: b\nc: \"\x01\"\n", "slice.yaml:2:1: this line has bytes that are not text" },
    { "slice.yaml", "a: b\nc: \xff\n", "slice.yaml:2:1: this line has bytes that are not text" },
    { SLICE ("env_dir: \"a\\0b\"\n"), "slice.yaml:6:10: a value with control characters" },
    { SLICE ("mesh: &m {host: 4}\n"), "slice.yaml:6:7: an anchor (&name), expected only the value" },
    { SLICE ("signatures: [*m]\n"), "slice.yaml:6:14: an alias (*name), expected the value itself" },
    { SLICE ("env_dir: !x e\n"), "slice.yaml:6:10: a tag (!name), expected only the value" },
    { SLICE ("pins: q\n"), "slice.yaml:6:1: the key 'pins' is given twice, first in line 4" },
    { SLICE ("mesh: {host: 4, host: 4}\n"), "slice.yaml:6:17: the key 'host' is given twice, first in line 6" },
    { SLICE ("[a]: b\n"), "slice.yaml:6:1: the key of this map is a list, expected a name" },
    { SLICE ("limits: [[[[[[[[[[[[[a]]]]]]]]]]]]]\n"), "too many levels of maps and lists, expected at most 12" },
    /* keys */
    { SLICE ("pinz: q\n"),
      "slice.yaml:6:1: unknown key 'pinz' in a slice file, did you mean 'pins'? Expected one of slice, hosts" },
    { SLICE ("zzzzzz: q\n"), "slice.yaml:6:1: unknown key 'zzzzzz' in a slice file, expected one of slice, hosts" },
    { SLICE ("limits: {jion: 3s}\n"), "slice.yaml:6:10: unknown key 'jion' in limits, did you mean 'join'?" },
    { SLICE ("cache: {wrtier: h0}\n"), "slice.yaml:6:9: unknown key 'wrtier' in cache, did you mean 'writer'?" },
    { "slice.yaml", "slice: s\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:1:1: the key 'hosts' is missing in a slice file" },
    { "slice.yaml", "slice:\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n", "slice is nothing, expected a name" },
    { "slice.yaml", "slice: a/b\nhosts: h[0-1]\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:1:8: slice is 'a/b', expected a name" },
    { SLICE ("limits: 3s\n"), "slice.yaml:6:9: limits is '3s', expected a map" },
    { SLICE ("signatures: jax\n"), "slice.yaml:6:13: signatures is 'jax', expected a list" },
    /* units and ranges */
    { SLICE ("limits: {join: 30}\n"),
      "slice.yaml:6:16: join is '30', expected a duration from 1 s to 1 h with its unit" },
    { SLICE ("limits: {join: 2h}\n"), "slice.yaml:6:16: join is '2h', expected a duration" },
    { SLICE ("limits: {log: 4MB}\n"),
      "slice.yaml:6:15: log is '4MB', expected a size from 4 KiB to 1 GiB with its unit" },
    { SLICE ("limits: {log: 1KiB}\n"), "slice.yaml:6:15: log is '1KiB', expected a size" },
    { SLICE ("limits: {log: 99999999999999999999GiB}\n"), "slice.yaml:6:15: log is" },
    { SLICE ("limits: {suspect: 40s}\n"), "slice.yaml:6:19: limits.suspect is 40000 ms and limits.lost is 30000 ms" },
    { SLICE ("limits: {lost: 2s}\n"), "slice.yaml:6:16: limits.suspect is 5000 ms and limits.lost is 2000 ms" },
    { SLICE ("limits: {exit: 60s}\n"), "slice.yaml:6:16: limits.orphan is 120000 ms and limits.exit is 60000 ms" },
    /* hosts */
    { "slice.yaml", "slice: s\nhosts: h[0-\nprofile: p\npins: q\nladder: l\n", "slice.yaml:2:8: " },
    { "slice.yaml", "slice: s\nhosts: [h0, h0]\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:13: the host 'h0' is given twice, first in line 2" },
    { "slice.yaml", "slice: s\nhosts: []\nprofile: p\npins: q\nladder: l\n", "slice.yaml:2:8: the slice has no hosts" },
    { "slice.yaml", "slice: s\nhosts: {a: b}\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:8: hosts is a map without the key from, expected a host set" },
    { "slice.yaml", "slice: s\nhosts: [[a]]\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:9: an item of hosts is a list, expected a host set" },
    { "slice.yaml", "slice: s\nhosts: [{name: 'a[0-1]'}]\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:16: name is 'a[0-1]', expected a name" },
    { "slice.yaml", "slice: s\nhosts: [{name: a, adress: b}]\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:19: unknown key 'adress' in a host, did you mean 'address'?" },
    { "slice.yaml", "slice: s\nhosts: [{name: a, address: 'b;c'}]\nprofile: p\npins: q\nladder: l\n",
      "slice.yaml:2:28: the host's address is 'b;c', expected a host name or an IP address" },
    { SLICE ("launcher: shs\n"),
      "slice.yaml:6:11: launcher is 'shs', expected one of local, join, ssh, slurm; did you mean 'ssh'?" },
    { SLICE ("launcher: [ssh]\n"), "slice.yaml:6:11: launcher is a list, expected one of local" },
    /* mesh */
    { SLICE ("mesh: {a: 3, b: 2}\n"),
      "slice.yaml:6:7: the sizes of the mesh multiply to 6 devices, expected 4: 2 hosts times 2 devices_per_host" },
    { SLICE ("mesh: {a: 0}\n"), "slice.yaml:6:11: the size of axis a is not usable, expected a whole number" },
    { SLICE ("mesh: {a-b: 4}\n"), "slice.yaml:6:8: 'a-b' is not an axis name" },
    { SLICE ("mesh: {}\n"), "slice.yaml:6:7: a mesh of 0 axes, expected 1 to 6" },
    { SLICE ("mesh: {a: 4, b: 1, c: 1, d: 1, e: 1, f: 1, g: 1}\n"), "slice.yaml:6:7: a mesh of 7 axes" },
    /* cache */
    { SLICE ("cache: {mode: two-writers}\n"),
      "slice.yaml:6:15: mode is 'two-writers', expected one of off, single-writer, per-host, read-only" },
    { SLICE ("cache: {mode: singel-writer}\n"), "did you mean 'single-writer'?" },
    { SLICE ("cache: {mode: none}\n"), "slice.yaml:6:15: mode is 'none'" },
    { SLICE ("cache: {writer: h7}\n"), "slice.yaml:6:17: the writer 'h7' is not a host of this slice" },
    { SLICE ("cache: {root: /a/../b}\n"), "slice.yaml:6:15: the path '/a/../b' contains '..'" },
    { SLICE ("cache: {writer: h1}\n"),
      "configs/ladders/l.yaml:5:53: warm: gang with the writer h1, expected the writer h0" },
    /* references */
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: pp\npins: q\nladder: l\n",
      "slice.yaml:3:10: profile 'pp' does not exist, expected the file " },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: pp\npins: q\nladder: l\n", "; did you mean 'p'?" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: ./p.yaml\npins: q\nladder: l\n",
      "profile './p.yaml' does not exist" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: q\nladder: ''\n",
      "ladder is '', expected a name or a path" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: qq\nladder: l\n",
      "slice.yaml:4:7: pin set 'qq' does not exist" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: [q]\nladder: l\n",
      "slice.yaml:4:7: pins is a list, expected the name of a pin set" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: {file: q, python: ./py}\nladder: l\n",
      "slice.yaml:4:25: the interpreter is './py', expected a name on the PATH" },
    { "slice.yaml", "slice: s\nhosts: h[0-1]\nprofile: p\npins: {file: q, setup: z}\nladder: l\n",
      "slice.yaml:4:24: setup script 'z' does not exist" },
    { SLICE ("signatures: [nine]\n"), "slice.yaml:6:14: signature list 'nine' does not exist" },
    { SLICE ("signatures: [[jax]]\n"), "slice.yaml:6:14: an item is a list, expected the name" },
    { SLICE ("signatures: [configs/]\n"), "slice.yaml:6:14: signature list 'configs/' cannot be read: it is a folder" },
    /* profile */
    { "configs/profiles/p.yaml", "profile: p\nfrontend: jaxx\nbackend: cpu\ndevices_per_host: 2\n",
      "p.yaml:2:11: unknown frontend 'jaxx', expected one of jax, torch_xla, plain; did you mean 'jax'?" },
    { "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cuda\ndevices_per_host: 2\n",
      "configs/profiles/p.yaml:3:10: backend is 'cuda', expected one of cpu, tpu, gpu" },
    { "configs/profiles/p.yaml", "profile: p\nfrontend: torch_xla\nbackend: gpu\ndevices_per_host: 2\n",
      "configs/profiles/p.yaml:3:10: backend is gpu with frontend: torch_xla, expected cpu or tpu" },
    { "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: 0\n",
      "configs/profiles/p.yaml:4:19: devices_per_host is '0', expected a whole number from 1 to 256" },
    { "configs/profiles/p.yaml", "profile: p\nfrontend: jax\nbackend: cpu\ndevices_per_host: '2'\n",
      "devices_per_host is '2'" },
    { PROFILE ("env: {1A: x}\n"), "configs/profiles/p.yaml:5:7: '1A' is not a variable name" },
    { PROFILE ("env: {A: }\n"), "the variable A holds nothing, expected a single value" },
    { PROFILE ("env: {A: [x]}\n"),
      "configs/profiles/p.yaml:5:10: the variable A holds a list, expected a single value" },
    { PROFILE ("env: {SLICEUP_FD: 3}\n"), "configs/profiles/p.yaml:5:7: the worker sets SLICEUP_FD itself" },
    { PROFILE ("env: {HOME: /h}\n"),
      "configs/profiles/p.yaml:5:7: the worker sets HOME itself, to the folder of the attempt" },
    { PROFILE ("env: {JAX_COMPILATION_CACHE_DIR: /x}\n"),
      "sets JAX_COMPILATION_CACHE_DIR itself, so that the frontend jax uses the slice's cache" },
    { PROFILE ("env: {TPU_PREMAPPED_BUFFER_SIZE: 4096}\n"), "expected the key premapped_buffer_bytes instead" },
    { PROFILE ("topology: 4y4\n"), "slice.yaml:3:10: the topology is 4y4, expected sizes such as 4x4" },
    { PROFILE ("topology: 4x4\n"), "the topology 4x4 has 16 chips, expected 4: hosts times devices_per_host" },
    { PROFILE ("accelerator: v6e-16\n"), "the profile's accelerator v6e-16 has 16 chips, expected 4" },
    { PROFILE ("splits: maybe\n"), "splits is 'maybe', expected" },
    { PROFILE ("premapped_buffer_bytes: 8192\n"),
      "premapped_buffer_bytes is set with backend: cpu, expected it with backend: tpu only" },
    { "configs/profiles/p.yaml",
      "profile: p\nfrontend: jax\nbackend: tpu\ndevices_per_host: 2\npremapped_buffer_bytes: 4097\n",
      "configs/profiles/p.yaml:5:25: premapped_buffer_bytes is 4097, expected a multiple of 4096" },
    { PROFILE ("args: {a: yes}\n"),
      "configs/profiles/p.yaml:5:11: the argument a is 'yes', expected true, false, a JSON number" },
    { PROFILE ("args: {a: {b: c}}\n"),
      "configs/profiles/p.yaml:5:11: the argument a holds a map, expected a single value or a list" },
    { PROFILE ("args: {a-b: 1}\n"), "configs/profiles/p.yaml:5:8: 'a-b' is not an argument name" },
    { PROFILE ("shapes: [batch]\n"), "shapes is a list, expected a map" },
    { PROFILE ("shapes: {padding: true}\n"), "p.yaml:5:9: shapes without a dimension, expected one, such as batch" },
    { PROFILE ("shapes: {batch: 8}\n"), "p.yaml:5:17: the dimension batch has no list of sizes, expected 1 to 32 of" },
    { PROFILE ("shapes: {batch: []}\n"), "the dimension batch has no list of sizes" },
    { PROFILE ("shapes: {batch: [8, 8]}\n"),
      "p.yaml:5:21: '8' is no size of the dimension batch here, expected a whole" },
    { PROFILE ("shapes: {batch: [16, 8]}\n"), "above the one before" },
    { PROFILE ("shapes: {batch: [0]}\n"), "'0' is no size" },
    { PROFILE ("shapes: {batch: [-1]}\n"), "'-1' is no size" },
    { PROFILE ("shapes: {batch: ['8']}\n"), "'8' is no size" },
    { PROFILE ("shapes: {batch: [2147483648]}\n"), "from 1 to 2147483647" },
    { PROFILE ("shapes: {batch: [8], padding: yes}\n"), "padding is 'yes', expected true or false" },
    { PROFILE ("shapes: {b-c: [8]}\n"), "p.yaml:5:10: 'b-c' is not the name of a dimension, expected letters, digits" },
    { PROFILE ("shapes: {a: [1], b: [1], c: [1], d: [1], e: [1], f: [1], g: [1], h: [1], padding: true, i: [1]}\n"),
      "a dimension too many, expected at most 8" },
    { PROFILE (
          "shapes: {a: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, "
          "26, 27, 28, 29, 30, 31, 32, 33]}\n"),
      "expected 1 to 32 of them" },
    /* ladder */
    { "configs/ladders/l.yaml", "ladder: l\nrungs: []\n", "l.yaml:2:8: the ladder has 0 rungs, expected 1 to 64" },
    { "configs/ladders/l.yaml", "ladder: l\nfrontend: torch_xla\nrungs:\n- {id: a, builtin: facts}\n",
      "configs/ladders/l.yaml:2:11: the ladder is for the frontend torch_xla, expected a ladder for jax" },
    { "configs/ladders/l.yaml", "ladder: l\nfrontend: jaxx\nrungs:\n- {id: a, builtin: facts}\n",
      "configs/ladders/l.yaml:2:11: the ladder is for the unknown frontend 'jaxx', expected one that a profile can "
      "name" },
    { LADDER ("- {id: a, builtin: facts}\n- {id: a, builtin: facts}\n"),
      "configs/ladders/l.yaml:4:8: the rung 'a' is given twice, first in line 3" },
    { LADDER ("- {id: a}\n"), "configs/ladders/l.yaml:3:3: a rung with 0 programs, expected exactly one" },
    { LADDER ("- {id: a, builtin: facts, command: [x]}\n"), "configs/ladders/l.yaml:3:3: a rung with 2 programs" },
    { LADDER ("- a\n"), "configs/ladders/l.yaml:3:3: 'a' stands here, expected a map with the keys of a rung" },
    { LADDER ("- {id: a, builtin: fcats}\n"),
      "builtin is 'fcats', expected one of facts, restore, cache, probe; did you mean 'facts'?" },
    { LADDER ("- {id: a, canary: jax/tony.py}\n"), "configs/ladders/l.yaml:3:19: canary 'jax/tony.py' does not exist" },
    { LADDER ("- {id: a, canary: jax/tony.py}\n"), "did you mean 'jax/tiny.py'?" },
    { LADDER ("- {id: a, canary: jax/tiny.py, timeout: soon}\n"),
      "configs/ladders/l.yaml:3:41: timeout is 'soon', expected a duration" },
    { LADDER ("- {id: a, canary: jax/tiny.py, scope: hosts}\n"),
      "scope is 'hosts', expected one of host, slice; did you mean 'host'?" },
    { LADDER ("- {id: a, canary: jax/tiny.py, warm: gang}\n"), "warm: gang with scope: host, expected warm: solo" },
    { LADDER ("- {id: a, canary: jax/tiny.py, warm: solo, scope: slice}\n"),
      "warm: solo with scope: slice, expected warm: gang" },
    { LADDER ("- {id: a, builtin: facts, warm: solo}\n"), "warm: solo for a rung with a builtin, expected warm: none" },
    { LADDER ("- {id: a, builtin: facts, args: {a: 1}}\n"), "args is set for a rung without a canary or probe" },
    { LADDER ("- {id: a, builtin: facts, env: true}\n"), "env is set for a rung with a builtin" },
    { LADDER ("- {id: a, builtin: facts, backend: required}\n"), "backend: required for a builtin other than probe" },
    { LADDER ("- {id: a, canary: jax/tiny.py, metrics: [m]}\n"),
      "metrics is set, expected it only for a canary or command with scope: slice" },
    { LADDER ("- {id: a, canary: jax/tiny.py, scope: slice, metrics: [m, m]}\n"),
      "this list has 'm' twice, expected once" },
    { LADDER ("- {id: a, canary: jax/tiny.py, scope: slice, metrics: [a b]}\n"),
      "an item of this list is 'a b', expected a name of letters, digits" },
    { LADDER ("- {id: a, canary: jax/tiny.py, scope: slice, metrics: [[m]]}\n"), "is a list, expected a name" },
    { LADDER ("- {id: a, canary: jax/tiny.py, env: maybe}\n"), "env is 'maybe', expected true or false" },
    { LADDER ("- {id: a, canary: jax/tiny.py, env: \"true\"}\n"), "env is 'true', expected true or false" },
    { LADDER ("- {id: a, command: []}\n"), "a command of 0 words, expected 1 to 32" },
    { LADDER ("- {id: a, command: [b/x]}\n"),
      "configs/ladders/l.yaml:3:21: the command is 'b/x', expected a name on the PATH" },
    { LADDER ("- {id: a, command: [./x]}\n"), "configs/ladders/l.yaml:3:21: file './x' does not exist" },
    { LADDER ("- {id: a, command: [x], files: [l.yaml]}\n"), "expected a path relative to the ladder file: ./l.yaml" },
    { LADDER ("- {id: a, command: [x], warm: aot}\n"),
      "warm: aot for a rung with a command, expected warm: none, solo" },
    { LADDER ("- {id: a, command: [x], at_most: {}}\n"), "at_most is empty" },
    { LADDER ("- {id: a, command: [x], at_most: {recompilations: 0x10}}\n"), "expected a number of at least 0" },
    { LADDER ("- {id: a, command: [x], at_most: {reads: 0}}\n"), "expected one of recompilations" },
    { LADDER ("- {id: a, command: [x], at_most: {fallbacks: few}}\n"), "expected a number of at least 0" },
    { LADDER ("- {id: a, builtin: facts, at_most: {fallbacks: 0}}\n"), "at_most is set for a rung without a command" },
    { LADDER ("- {id: a, command: [x, [y]]}\n"), "a word of a command is a list" },
    /* signatures */
    { SIGNATURES ("- {id: a, text: abc, layer: device, next: x}\n"),
      "text is 'abc', expected one line of 4 to 255 bytes" },
    { SIGNATURES ("- {id: a, text: abcd, layer: devise, next: x}\n"),
      "layer is 'devise', expected one of device, launch" },
    { SIGNATURES ("- {id: b, text: abcd, layer: device, next: x}\n"),
      "configs/signatures/system.yaml:3:10: the signature 'b' is given twice" },
    { SIGNATURES ("- {id: a, text: abcd, layer: device, next: x, also: [ok, [b]]}\n"), "a list, expected a text" },
    { SIGNATURES ("- {id: a, text: abcd, layer: device, next: x, unless: [b]}\n"),
      "'b', expected one line of 2 to 255 bytes" },
    { SIGNATURES ("- {id: a, text: abcd, layer: device, next: x, unless: [ok, ~]}\n"), "nothing, expected a text" },
    { SIGNATURES ("- {id: a, text: abcd, layer: device, next: x, also: [aa, bb, cc, dd, ee]}\n"),
      "configs/signatures/jax.yaml:3:53: this list of a signature has 5 texts, expected at most 4" },
    { SIGNATURES ("- {id: a, text: abcd, layer: device, next: x, also: ok}\n"), "also is 'ok', expected a list" },
    { SIGNATURES ("- {id: a, text: abcd, layer: device}\n"),
      "configs/signatures/jax.yaml:3:3: the key 'next' is missing in a signature" },
    { SIGNATURES ("- {id: a, layer: device, next: x}\n"),
      "a signature has neither text nor rule, expected one of them" },
    { SIGNATURES ("- {id: a, text: abcd, rule: cause, layer: device, next: x}\n"), "a signature has text and rule" },
    { SIGNATURES ("- {id: a, text: abcd, any: [b], layer: device, next: x}\n"),
      "with text has any, which is of a rule" },
    { SIGNATURES ("- {id: a, rule: clause, any: [b], layer: device, next: x}\n"), "did you mean 'cause'?" },
    { SIGNATURES ("- {id: a, rule: cause, errno: ENOTHING, layer: device, next: x}\n"),
      "errno is 'ENOTHING', which no rule can ask for" },
    { SIGNATURES ("- {id: a, rule: cause, raised: [user, me], layer: device, next: x}\n"), "raised has 'me'" },
};

TEST_FIXTURE (struct share, TEST_NOTHING, share_close)

TEST (each_mistake_is_one_problem_with_its_place)
{
    each_is_one_problem (bad_cases, sizeof bad_cases / sizeof bad_cases[0]);
}

TEST_ON (share, a_cold_pass_needs_a_frontend_with_a_cache)
{
    share_open (share);
    write_text (share, "configs/profiles/p.yaml", "profile: p\nfrontend: plain\nbackend: cpu\ndevices_per_host: 2\n");
    assert_int_equal (share_load (share), -1);
    assert_int_equal (share->report.n, 2);
    assert_has (line_of (share, 0), "l.yaml:4:43: warm: solo with the frontend plain, expected");
}

TEST_ON (share, all_mistakes_come_at_once_in_order)
{
    static const char slice[] =
        "slice: s\nhosts: h[0-1]\nprofile: p\npins: nope\nladder: l\nlimits: {log: 3}\nfoo: 1\n";
    static const char ladder[] = "ladder: l\nrungs:\n- {id: a, builtin: facts, scope: x}\n- {id: a, canary: no.py}\n";
    static const char *const expected[] = { "configs/ladders/l.yaml:3:34:",
                                            "configs/ladders/l.yaml:4:8:",
                                            "configs/ladders/l.yaml:4:19:",
                                            "slice.yaml:4:7:",
                                            "slice.yaml:6:15:",
                                            "slice.yaml:7:1:" };
    share_open (share);
    write_text (share, "slice.yaml", slice);
    write_text (share, "configs/ladders/l.yaml", ladder);
    assert_int_equal (share_load (share), -1);
    if (share->report.n != 6)
        dump (share);
    assert_int_equal (share->report.n, 6);
    for (int i = 0; i < 6; i++)
        assert_int_equal (strncmp (line_of (share, (uint32_t) i), expected[i], strlen (expected[i])), 0);
}

TEST_ON (share, a_failed_load_leaves_the_plan_alone)
{
    share_open (share);
    memset (&share->plan, 0x5a, sizeof share->plan);
    struct plan before = share->plan;
    write_text (share, "slice.yaml", "slice: s\n");
    assert_int_equal (share_load (share), -1);
    assert_memory_equal (&before, &share->plan, sizeof before);
}

TEST_ON (share, a_slice_that_does_not_exist_is_named)
{
    share_open (share);
    assert_int_equal (share_load_with (share, (struct conf_options){ .slice_path = "/nowhere/s.yaml" }), -1);
    assert_non_null (
        strstr (share->err.text, "slice '/nowhere/s.yaml' does not exist, expected the file /nowhere/s.yaml"));
}

TEST_ON (share, what_is_no_name_cannot_name_a_pin_set)
{
    char path[512];
    share_open (share);
    write_text (share, "q q.txt", "six==1.17.0\n");
    snprintf (path, sizeof path, "%s/q q.txt", share->root);
    assert_int_equal (share_load_with (share, (struct conf_options){ .pins = path }), -1);
    assert_has (line_of (share, 0), "the pin set is named 'q q', expected a file name of letters");
    assert_int_equal (share_load_with (share, (struct conf_options){ .pins = "" }), -1);
    assert_has (line_of (share, 0), "--pins: an empty name, expected the name or path of a pin set");
    assert_int_equal (unlink (path), 0);
}

TEST_ON (share, a_link_that_leads_nowhere_is_refused)
{
    share_open (share);
    assert_int_equal (unlink (share->slice), 0);
    assert_int_equal (symlink ("slice.yaml", share->slice), 0);
    assert_int_equal (share_load (share), -1);
    assert_has (line_of (share, 0), "cannot be read: Too many levels of symbolic links");
}

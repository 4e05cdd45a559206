#include "common/conf/conf_keys.h"

#define KIB (UINT64_C (1) << 10)
#define MIB (UINT64_C (1) << 20)
#define GIB (UINT64_C (1) << 30)
#define SECOND UINT64_C (1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)
#define SECTION(NAME, KEYS)                                                                                            \
    {                                                                                                                  \
        .name = NAME, .keys = KEYS, .keys_n = sizeof (KEYS) / sizeof ((KEYS)[0])                                       \
    }

/* Index 0 is unset and "none" is a value here, so these indices are one more than WARM_... */
static const struct enum_names warm_words = NAMED ("", "none", "solo", "gang", "aot");
static const struct enum_names backend_words = NAMED ("none", "cpu", "tpu", "gpu");
static const struct enum_names need_words = NAMED ("none", "required", "any");
static const struct enum_names builtin_words = NAMED ("none", "facts", "restore", "cache", "probe", "ways");
static const struct enum_names parse_words = NAMED ("none", "torch_xla-metrics");
static const struct enum_names same_words = NAMED ("none", "output");
static const struct enum_names from_words = NAMED ("none", "slurm", "tpu", "file");

static const struct conf_key slice_keys[SLICE_KEYS] = {
    [SLICE_SLICE] = { "slice", KEY_NAME, .required = true, .help = "Name of the slice in every view and receipt.",
                      .example = "my-slice" },
    [SLICE_HOSTS] = { "hosts", KEY_ANY, .required = true,
                      .help = "A host set such as `v6e[0-3]`, or a list of host sets and host maps, or a map that "
                              "names their source. The written order is the rank order.",
                      .example = "v6e-[0-3]" },
    [SLICE_EXCLUDE] = { "exclude", KEY_HOSTS, .help = "Hosts to leave out of `hosts`." },
    [SLICE_GROUPS] = { "groups", KEY_MAP,
                       .help = "Group name to host set. Write `@name` for it in the host sets of this file, in "
                               "`--hosts` and in `--exclude`.",
                       .example = "{spare: 'v6e-[2-3]'}" },
    [SLICE_LAUNCHER] = { "launcher", KEY_WORD, .words = &launcher_names, .fallback = "local",
                         .help = "How workers are started. `local`: as processes of this machine. `ssh`, `slurm`: "
                                 "sliceup copies them to their hosts and starts them. `join`: a service manager starts "
                                 "them, each with a ticket." },
    [SLICE_START] = { "start", KEY_MAP, .help = "Where and how a worker is started on its host; not with `local`.",
                      .section = &start_section, .example = "{directory: /var/tmp/sliceup}" },
    [SLICE_COORDINATOR] = { "coordinator", KEY_MAP,
                            .help = "Address and ports at which hosts and monitors reach the coordinator.",
                            .section = &coordinator_section, .example = "{address: 10.0.0.1, control_port: 7001}" },
    [SLICE_SSH] = { "ssh", KEY_MAP, .help = "Settings of the ssh connections; with launcher `ssh` only.",
                    .section = &ssh_section, .example = "{user: tpu, port: 22}" },
    [SLICE_SLURM] = { "slurm", KEY_MAP, .help = "Settings of srun; with launcher `slurm` only.",
                      .section = &slurm_section, .example = "{partition: tpu}" },
    [SLICE_MACHINE] = { "machine", KEY_NAME,
                        .help = "Machine type of all hosts, such as `ct6e-standard-4t`: a row of "
                                "`configs/machines/tpu.yaml`. Devices per host and the variables of a host that runs "
                                "alone follow from it." },
    [SLICE_TOPOLOGY] = { "topology", KEY_NAME,
                         .help = "The chips of the slice as a grid, such as `4x4`. The number of hosts must fit it." },
    [SLICE_SLICES] = { "slices", KEY_NUMBER, 1, SLICES_MAX, .fallback = "1",
                       .help = "How many TPU slices the hosts are, all of this topology, connected by the data-centre "
                               "network: "
                               "the first hosts are slice 0, as many follow for slice 1, and so on. The first axis of "
                               "the mesh "
                               "runs over them. Programs of scope slice get `MEGASCALE_*`." },
    [SLICE_MESH] = { "mesh", KEY_MAP,
                     .help = "Axis name to size, outermost first; the product is hosts times devices per host. "
                             "Default: one axis `host` over all devices.",
                     .example = "{data: 4, model: 2}" },
    [SLICE_PROFILE] = { "profile", KEY_REFERENCE, .required = true,
                        .help = "The profile: a file of `configs/profiles`.", .example = "plain" },
    [SLICE_PINS] = { "pins", KEY_ANY,
                     .help = "The pin set: a file of `configs/pins`, or a map. Leave it out when no rung needs an "
                             "environment.",
                     .example = "jax-cpu" },
    [SLICE_CACHE] = { "cache", KEY_MAP,
                      .help = "The compile cache. Default: one writer, below SLICEUP_HOME (`local` only).",
                      .section = &cache_section, .example = "{mode: off}" },
    [SLICE_LADDER] = { "ladder", KEY_REFERENCE, .required = true, .help = "The rungs: a file of `configs/ladders`.",
                       .example = "./ladder.yaml" },
    [SLICE_SIGNATURES] = { "signatures", KEY_LIST,
                           .help = "Files of `configs/signatures`, the most specific first. Default: `xla` and the "
                                   "frontend's own, then `system`." },
    [SLICE_BUNDLES] = { "bundles", KEY_LIST,
                        .help = "Files of `configs/bundles`: versions known to work together, or not to. Default: the "
                                "frontend's own, if there is one." },
    [SLICE_DRIFT] = { "drift", KEY_REFERENCE, .fallback = "default",
                      .help = "The drift policy, by which hosts are compared: a file of `configs/drift`." },
    [SLICE_ENV_DIR] = { "env_dir", KEY_PATH,
                        .help = "Where the environment is built; the worker appends the Python version. Default: "
                                "`envs/` and the first 16 digits of the pin set's sha256, below SLICEUP_HOME or "
                                "`start.directory`." },
    [SLICE_EXPECT] = { "expect", KEY_MAP,
                       .help = "Fact of every host to the value that it has to have, such as "
                               "`{os.version: '22.04', package.libc6: '2.35-*'}`. Compared at the rung with builtin: "
                               "facts.",
                       .example = "{os.version: '22.04'}" },
    [SLICE_LIMITS] = { "limits", KEY_MAP, .help = "Time and size limits. Every wait has one.",
                       .section = &limits_section, .example = "{join: 30s}" },
    [SLICE_ON_END] = { "on_end", KEY_ANY,
                       .help = "A command that this machine runs when the run has ended, as a list of words, or a map. "
                               "It gets the receipt on its standard input.",
                       .section = &on_end_section, .example = "[curl, -K, /home/me/.hook]" },
};

static const struct conf_key host_keys[HOST_KEYS] = {
    [HOST_NAME] = { "name", KEY_TEXT, 1, HOST_NAME_MAX_BYTES + 64, .required = true,
                    .help = "The host's name, or `user@name`." },
    [HOST_ADDRESS] = { "address", KEY_TEXT, 1, 255,
                       .help = "Name or IP address by which the other hosts reach this host. Default: `127.0.0.1` with "
                               "launcher `local`, else the host's name." },
    [HOST_ENV_DIR] = { "env_dir", KEY_PATH, .help = "This host's own environment directory. Default: the slice's." },
    [HOST_SSH] = { "ssh", KEY_MAP, .help = "Ssh settings of this host that differ from the slice's `ssh`.",
                   .section = &ssh_route_section, .example = "{address: 10.0.0.5, user: tpu}" },
};

static const struct conf_key way_keys[ROUTE_KEYS] = {
    [ROUTE_ADDRESS] = { "address", KEY_TEXT, 1, 255,
                        .help = "Name or IP address of the host's sshd, as this machine (or the jump host) reaches it. "
                                "Default: the host's `address`." },
    [ROUTE_PORT] = { "port", KEY_NUMBER, 1, 65535, .help = "Default: the slice's." },
    [ROUTE_USER] = { "user", KEY_NAME, .help = "Default: the slice's." },
    [ROUTE_JUMP] = { "jump", KEY_TEXT, 0, 255,
                     .help = "`[user@]host[:port]` of a jump host; `''`: a direct connection. Default: the slice's." },
    [ROUTE_HOST_KEY_ALIAS] = { "host_key_alias", KEY_TEXT, 1, 255,
                               .help = "Name under which `known_hosts` holds the key of this host, without a port. "
                                       "Default: the address and port that are connected to." },
};

static const struct conf_key from_keys[FROM_KEYS] = {
    [FROM_FROM] = { "from", KEY_WORD, .words = &from_words, .required = true,
                    .help = "`slurm`: SLURM_JOB_NODELIST, the allocation in which sliceup runs. `tpu`: the machines of "
                            "this TPU VM (TPU_WORKER_HOSTNAMES). `file`: a file." },
    [FROM_FILE] = { "file", KEY_REFERENCE,
                    .help = "With `from: file`: a path relative to the slice file. The file holds one or more host "
                            "sets a line, and comments after `#`." },
};

static const struct conf_key start_keys[START_KEYS] = {
    [START_DIRECTORY] = { "directory", KEY_FOLDER, 2, PATH_MAX_BYTES / 2, .fallback = START_DIRECTORY_DEFAULT,
                          .help = "Directory on every host for the worker, one folder for each run, and environments. "
                                  "Made with mode 0700." },
    [START_DEADLINE] = { "deadline", KEY_DURATION, SECOND, HOUR, .fallback = "60s",
                         .help = "Time limit for starting one host, from connecting until its worker answers; not with "
                                 "`join`." },
    [START_AT_ONCE] = { "at_once", KEY_NUMBER, 1, HOSTS_MAX, .fallback = "32",
                        .help = "Number of hosts that are started at the same time; not with `join`." },
    [START_OUTLIVE] = { "outlive", KEY_BOOL,
                        .help = "Workers outlive the connection that started them, so a run can be resumed. Default: "
                                "true with `ssh`; a worker of `slurm` always ends with its job step." },
};

static const struct conf_key coordinator_keys[COORDINATOR_KEYS] = {
    [COORDINATOR_ADDRESS] = { "address", KEY_TEXT, 1, 255,
                              .help = "Name or IP address by which the hosts reach this machine; required with `join`. "
                                      "Default: `listen`, when that is one address; else with `ssh` this "
                                      "machine's end of each connection, with `slurm` this machine's name." },
    [COORDINATOR_LISTEN] = { "listen", KEY_TEXT, 1, 255,
                             .help = "The IP address of this machine at which the coordinator listens. Default: "
                                     "`127.0.0.1` with launcher `local`, else all, of IPv4 and IPv6." },
    [COORDINATOR_CONTROL] = { "control_port", KEY_NUMBER, 0, 65535, .fallback = "0",
                              .help = "Port for workers; 0: any free port. Required with `join`." },
    [COORDINATOR_BULK] = { "bulk_port", KEY_NUMBER, 0, 65535, .fallback = "0",
                           .help = "Port on which workers send logs and fetch files; 0: any free port. Required with "
                                   "`join`." },
    [COORDINATOR_EVENTS] = { "events_port", KEY_NUMBER, 0, 65535, .fallback = "0",
                             .help = "Port for monitors; 0: any free port." },
    [COORDINATOR_REACH] = { "reach", KEY_WORD, .words = &link_way_names, .fallback = "auto",
                            .help =
                                "How a worker's link gets to the coordinator: `direct` by itself; `ssh` through the "
                                "connection that started it; `auto` by itself if that works within 3 s, else "
                                "through ssh. Only with launcher `ssh`." },
    [COORDINATOR_SPREAD] = { "spread_files", KEY_BOOL, .fallback = "true",
                             .help = "Above 8 hosts, hosts give files of 4 MiB and more to one another, each at a free "
                                     "port, which is open until its next rung begins; `false`: this machine sends "
                                     "every file to every host." },
};

static const struct conf_key on_end_keys[ON_END_KEYS] = {
    [ON_END_COMMAND] = { "command", KEY_LIST, .required = true, .example = "[curl, -K, /home/me/.hook]",
                         .help = "The words. The first is a name on the PATH, an absolute path, or a file beside the "
                                 "slice file as `./NAME`." },
    [ON_END_TIMEOUT] = { "timeout", KEY_DURATION, SECOND, 10 * MINUTE, .fallback = "60s",
                         .help = "Time after which the command is killed, with its process group." },
};

static const struct conf_key ssh_keys[SSH_KEYS] = {
    [SSH_USER] = { "user", KEY_NAME, .help = "User on the hosts. Default: the user who runs sliceup." },
    [SSH_PORT] = { "port", KEY_NUMBER, 1, 65535, .fallback = "22", .help = "Port of sshd on the hosts." },
    [SSH_JUMP] = { "jump", KEY_TEXT, 0, 255,
                   .help = "`[user@]host[:port]` of a jump host. Default: a direct connection." },
    [SSH_IDENTITIES] = { "identities", KEY_LIST,
                         .help =
                             "Private key files, tried in this order after the keys of the ssh agent. Default: "
                             "those of `~/.ssh/id_ed25519`, `~/.ssh/id_ecdsa` and `~/.ssh/id_rsa` that exist. At least "
                             "one of those that are given must be there." },
    [SSH_AGENT] = { "agent", KEY_BOOL, .fallback = "true",
                    .help = "Try the keys of the ssh agent at SSH_AUTH_SOCK first, if there is one." },
    [SSH_KNOWN_HOSTS] = { "known_hosts", KEY_OWN_PATH, .fallback = "~/.ssh/known_hosts",
                          .help = "File of known host keys, in OpenSSH's format. A host whose key is not in it is "
                                  "refused before anything is sent. A file that is given must be there." },
    [SSH_CONFIG] = { "config", KEY_BOOL, .fallback = "false",
                     .help = "Read `~/.ssh/config`: what it says of a host holds where this file says nothing." },
    [SSH_SUDO] = { "sudo", KEY_BOOL, .fallback = "false",
                   .help = "Run everything on the hosts as root, through `sudo`. `start.directory` then belongs to "
                           "root; its default is `" START_DIRECTORY_OF_ROOT "`." },
};

static const struct conf_key slurm_keys[SLURM_KEYS] = {
    [SLURM_ACCOUNT] = { "account", KEY_NAME, .help = "Account to charge. Default: the one that Slurm chooses." },
    [SLURM_PARTITION] = { "partition", KEY_NAME, .help = "Partition to run in. Default: the one that Slurm chooses." },
    [SLURM_OPTIONS] = { "options", KEY_LIST,
                        .help = "Further options of srun, each `--name` or `--name=value`; at most 16." },
};

static const struct conf_key pins_keys[PINS_KEYS] = {
    [PINS_FILE] = { "file", KEY_REFERENCE, .required = true,
                    .help = "Requirements with hashes: a file of `configs/pins` (`.txt`)." },
    [PINS_SETUP] = { "setup", KEY_REFERENCE,
                     .help = "The setup script (`.sh`, at most 100 KiB): sh or bash runs it on each host whenever the "
                             "environment is restored, before anything is built. Default: none." },
    [PINS_PYTHON] = { "python", KEY_TEXT, 1, 1023, .fallback = "python3",
                      .help = "The interpreter to build from: a name on the PATH, or an absolute path." },
    [PINS_WHEELS] = { "wheels", KEY_OWN_PATH,
                      .help =
                          "A folder of this machine with a wheel for every pin; `./` is that of the slice file. The "
                          "wheels are copied to the hosts, and no package index is used. Default: none." },
};

static const struct conf_key cache_keys[CACHE_KEYS] = {
    [CACHE_MODE] = { "mode", KEY_WORD, .words = &cache_mode_names, .fallback = "single-writer",
                     .help = "`single-writer`: one host writes, all others only read. `per-host`: every host writes "
                             "and reads its own cache. `read-only`: hosts read published generations, and no rung has "
                             "a cold pass. `warm-only`: generations are written and published, and no rung has a "
                             "restored pass. `off`: no cache, every rung runs once." },
    [CACHE_WRITER] = { "writer", KEY_HOSTS,
                       .help = "The hosts that may write, in order of preference; only one of them writes at a time. "
                               "With `single-writer` and `warm-only`; at most 64. Default: the host of rank 0." },
    [CACHE_ROOT] = { "root", KEY_PATH, .fallback = "cache",
                     .help = "The cache directory on the hosts. With every launcher but `local` it must be an absolute "
                             "path on storage that all hosts share; with mode `per-host` it need not be shared, and "
                             "may be left out." },
    [CACHE_ENFORCEMENT] = { "enforcement", KEY_WORD, .words = &enforcement_names, .fallback = "landlock",
                            .help = "The weakest acceptable protection of published generations against writing. Each "
                                    "host uses the strongest that it has, and runs no program with a weaker one than "
                                    "this. Weakest first: `cooperative` (file modes only), `landlock`, `namespace` (a "
                                    "read-only mount), `namespace+landlock`, "
                                    "`storage` (mounted read-only by its administrator)." },
    [CACHE_OVERLAY] = { "overlay", KEY_BOOL, .fallback = "false",
                        .help = "Readers get a scratch layer above the generation, for programs that must write. The "
                                "layer is removed afterwards." },
    [CACHE_WRITABLE] = { "writable", KEY_LIST,
                         .help = "Absolute paths that programs may write besides their scratch folder, `/tmp`, "
                                 "`/var/tmp` and the usual devices, or other devices in `/dev`; at most 16, none in or "
                                 "around `root`. The folders of sliceup itself stay read-only." },
    [CACHE_TRUST] = { "trust", KEY_LIST,
                      .help =
                          "Users (uid, 0 to 4294967294) who may own the cache, besides root and the users of the "
                          "worker and the coordinator; at most 16. The owner of the cache chooses what programs run." },
};

static const struct conf_key limits_keys[LIMIT_KEYS] = {
    [LIMIT_JOIN] = { "join", KEY_DURATION, SECOND, HOUR,
                     .help = "Time from launch until every host has joined. Default: `30s`; with `ssh` and `slurm` "
                             "`30s` and `start.deadline` for each round of `start.at_once` hosts, at most `1h`; with "
                             "`join` `10m`." },
    [LIMIT_SUSPECT] = { "suspect", KEY_DURATION, SECOND, HOUR, .fallback = "5s",
                        .help = "A host that is silent for this long is shown as suspect; less than `lost`." },
    [LIMIT_LOST] = { "lost", KEY_DURATION, SECOND, HOUR, .fallback = "30s",
                     .help = "A host that is silent for this long is lost." },
    [LIMIT_ORPHAN] = { "orphan", KEY_DURATION, 5 * SECOND, DAY, .fallback = "120s",
                       .help = "A worker ends its rung when the coordinator is silent for this long; at most `exit`." },
    [LIMIT_EXIT] = { "exit", KEY_DURATION, 5 * SECOND, 7 * DAY, .fallback = "30m",
                     .help = "A worker ends when the coordinator is silent for this long." },
    [LIMIT_CASCADE] = { "cascade", KEY_DURATION, 0, 10 * MINUTE, .fallback = "5s",
                        .help =
                            "After a host fails: time in which the other hosts of its group can report why they end." },
    [LIMIT_STOP] = { "stop", KEY_DURATION, 100, 10 * MINUTE, .fallback = "10s",
                     .help = "When a program is stopped: time from SIGINT to SIGTERM, and from SIGTERM to SIGKILL." },
    [LIMIT_LOG] = { "log", KEY_SIZE, 4 * KIB, GIB, .fallback = "4MiB",
                    .help =
                        "Size of the output that is kept of one attempt on one host: of more its beginning, its end, "
                        "and lines in between that look like a failure." },
    [LIMIT_LEASE] = { "lease", KEY_DURATION, SECOND, 5 * MINUTE, .fallback = "15s",
                      .help =
                          "Duration of the cache writer's lease: how long a writer that cannot reach the coordinator "
                          "may continue. After a lost lease, no other writer gets one for about twice as long." },
    [LIMIT_RETRIES] = { "retries", KEY_NUMBER, 0, RETRIES_MAX, .fallback = "1",
                        .help = "How often one pass of a rung is run again after a transient failure. After any other "
                                "failure it is not run again." },
    [LIMIT_RETRY_WAIT] = { "retry_wait", KEY_DURATION, 0, 10 * MINUTE, .fallback = "2s",
                           .help = "Wait before the first retry; twice as long before each further one." },
    [LIMIT_DEVICE_WAIT] = { "device_wait", KEY_DURATION, 0, HOUR, .fallback = "30s",
                            .help = "Time to wait for a device that another process still holds, before a program is "
                                    "started; at most half of its rung's timeout." },
};

static const struct conf_key profile_keys[PROFILE_KEYS] = {
    [PROFILE_PROFILE] = { "profile", KEY_NAME, .required = true, .help = "Its name in receipts." },
    [PROFILE_FRONTEND] = { "frontend", KEY_NAME, .required = true,
                           .help = "The library that traces the programs: `jax`, `torch_xla`, or `plain` for programs "
                                   "that trace nothing." },
    [PROFILE_BACKEND] = { "backend", KEY_WORD, .words = &backend_words, .required = true,
                          .help = "The requested backend; `gpu` is not for torch_xla. A canary that observes another "
                                  "backend fails." },
    [PROFILE_DEVICES] = { "devices_per_host", KEY_NUMBER, 1, 256,
                          .help = "Number of devices that each host must have. Default: that of the slice's `machine`; "
                                  "required without one." },
    [PROFILE_ENV] = { "env", KEY_MAP,
                      .help = "Variables for programs of every scope. A value may hold placeholders; nothing else in "
                              "it is expanded. HOME is the attempt's own folder." },
    [PROFILE_HOST_ENV] = { "host_env", KEY_MAP,
                           .help = "Variables for programs of scope `host`. They replace those of `env`; `null` means "
                                   "that the variable is not set, and not inherited either." },
    [PROFILE_SLICE_ENV] = { "slice_env", KEY_MAP, .help = "The same for programs of scope `slice`." },
    [PROFILE_INHERIT] = { "inherit", KEY_LIST,
                          .help =
                              "Names of variables that programs get from the worker's own environment, where a pod, "
                              "Slurm or a machine image has set them. A program inherits PATH, LANG, TZ and TMPDIR "
                              "without being told. `host_env` and `slice_env` win." },
    [PROFILE_ARGS] = { "args", KEY_MAP,
                       .help = "Arguments for every canary; an argument of a rung replaces the one of the same name." },
    [PROFILE_PREMAPPED] = { "premapped_buffer_bytes", KEY_NUMBER, 4096, 1024 * GIB,
                            .help = "Sets TPU_PREMAPPED_BUFFER_SIZE; a multiple of 4096. Default: not set." },
    [PROFILE_ACCELERATOR] = { "accelerator", KEY_NAME,
                              .help = "Type of the slice in the words of its cloud, such as `v6e-16`; compared with "
                                      "what the hosts report." },
    [PROFILE_TOPOLOGY] = { "topology", KEY_NAME,
                           .help = "The chips of the slice as a grid, such as `4x4`; the product must be hosts times "
                                   "devices per host." },
    [PROFILE_SPLITS] = { "splits", KEY_BOOL,
                         .help = "Whether a part of the slice can run a slice-wide program by itself. If so, sliceup "
                                 "isolates a failure without a cause by running halves. Default: false with "
                                 "`backend: tpu`, else true." },
    [PROFILE_PRELOAD] = { "preload", KEY_BOOL,
                          .help = "Whether each attempt of our canaries is a copy of an interpreter that has imported "
                                  "the frontend already, which spares it the import; the receipt says which it was. "
                                  "The runtime probe and commands are always executed, your own canaries unless their "
                                  "rung says otherwise. Default: true." },
    [PROFILE_SHAPES] = { "shapes", KEY_MAP,
                         .help =
                             "The sizes that programs may give the dimensions of their arrays, by dimension, the "
                             "smallest first: `{batch: [8, 16], padding: true}`. `padding`: what has another size is "
                             "padded to the next; default false. At most 8 dimensions of 32 sizes. Our canaries "
                             "keep to it, and a command by `shaped ()`. Default: programs choose." },
    [PROFILE_PORT] = { "port", KEY_NUMBER, 1024, 65000, .fallback = "29500",
                       .help = "What `{port}` stands for in the first attempt at a rung; one more in each further "
                               "attempt. It has to be free on the host of rank 0." },
    [PROFILE_MIN] = { "min", KEY_MAP,
                      .help =
                          "Floors of this machine type, as `min` of a rung; one of a rung replaces that of the same "
                          "name. They hold for numbers that a rung tells: to ask that it tells one is the rung's.",
                      .example = "{speed.matmul_f32_gflops: 60}" },
};

static const struct conf_key ladder_keys[LADDER_KEYS] = {
    [LADDER_LADDER] = { "ladder", KEY_NAME, .required = true, .help = "Its name in receipts." },
    [LADDER_FRONTEND] = { "frontend", KEY_NAME,
                          .help = "The frontend for which the canaries of the ladder are written. Default: any." },
    [LADDER_RUNGS] = { "rungs", KEY_LIST, .required = true,
                       .help = "The rungs, from the lowest to the highest; at most 64.",
                       .example = "[{id: facts, builtin: facts}]" },
};

static const struct conf_key rung_keys[RUNG_KEYS] = {
    [RUNG_ID] = { "id", KEY_NAME, .required = true, .help = "Name of the rung, unique in the ladder." },
    [RUNG_BUILTIN] = { "builtin", KEY_WORD, .words = &builtin_words,
                       .help = "A program of the worker. Exactly one of `builtin`, `canary` and `command` is given." },
    [RUNG_CANARY] = { "canary", KEY_REFERENCE,
                      .help = "A Python program that speaks the canary protocol: a file below `worker/canaries`, or, "
                              "with a leading `.` or `/`, a path beside the ladder file." },
    [RUNG_COMMAND] = { "command", KEY_LIST,
                       .help = "A command and its arguments; run without a shell. A word that begins with `./` or "
                               "`../` names a file, relative to the ladder file; it is copied to hosts.",
                       .example = "[sh, -c, 'first | second']" },
    [RUNG_FILES] = { "files", KEY_LIST,
                     .help = "With `command`: further files that are copied to hosts, relative to the ladder file." },
    [RUNG_FOLDER] = { "folder", KEY_TEXT, 1, PATH_MAX_BYTES,
                      .help = "With `command`, instead of `files`: a folder, relative to the ladder file, that is "
                              "copied to "
                              "hosts whole, without what git ignores. The program begins in the copy." },
    [RUNG_WORKDIR] = { "workdir", KEY_TEXT, 1, PATH_MAX_BYTES,
                       .help = "With `command`: the working folder: an absolute path on the hosts, or a path below "
                               "`folder`. Default: `folder`, else an empty folder." },
    [RUNG_SCOPE] = { "scope", KEY_WORD, .words = &scope_names, .fallback = "host",
                     .help = "`host`: each host alone. `slice`: all hosts as one group." },
    [RUNG_WARM] = { "warm", KEY_WORD, .words = &warm_words, .fallback = "none",
                    .help = "How the cold pass runs. `solo`: on the writer alone, for scope `host`; `gang`: on all "
                            "hosts, for scope `slice`; `aot`: on the writer alone, which compiles for devices that it "
                            "need not have; `none`: no cold pass." },
    [RUNG_TIMEOUT] = { "timeout", KEY_DURATION, 100, DAY, .fallback = "60s",
                       .help = "Time limit of one attempt on one host." },
    [RUNG_HOLD] = { "hold", KEY_DURATION, SECOND, 7 * DAY,
                    .help = "For how long the program repeats what it does, such as steps: told to canaries and "
                            "commands, which have to look at it, and added to `timeout`. Default: not at all." },
    [RUNG_BACKEND] = { "backend", KEY_WORD, .words = &need_words,
                       .help = "`required`: the program must report the backend that the profile requests; `any`: "
                               "the backend is not checked. Default: `required` for canaries; of a command a report "
                               "must not contradict the profile, and one that reports none is told as unproved." },
    [RUNG_ARGS] = { "args", KEY_MAP,
                    .help = "Arguments for the canary: name to a single value or a list; of `probe`: `plugin`, "
                            "`options`, `client`; of `ways`: `ports`, those of the job (default: `port`, also of the "
                            "profile's arguments, else some that are free).",
                    .example = "{steps: 10}" },
    [RUNG_METRICS] = { "metrics", KEY_LIST,
                       .help = "Metrics whose reduction over the mesh must be proved before the rung passes; canaries "
                               "and commands with scope `slice` only." },
    [RUNG_ENV] = { "env", KEY_BOOL,
                   .help =
                       "Run the program in the restored environment; for `probe`: load the plugin from it. Default: "
                       "true for canaries when the slice has pins; else programs run with the system's Python." },
    [RUNG_PARSE] = { "parse", KEY_WORD, .words = &parse_words,
                     .help = "How counters are read from a command's output. `torch_xla-metrics`: from its metrics "
                             "report. Default: they are not read." },
    [RUNG_AT_MOST] = { "at_most", KEY_MAP,
                       .help =
                           "With `command`: what its program may do at most: `recompilations` (after its first "
                           "step), `fallbacks` (executions of `aten::` operations), `reads_per_step` (values read "
                           "from devices), `step_ms` (the median time of a step). What nothing shows fails the rung.",
                       .example = "{recompilations: 0}" },
    [RUNG_TOLERANCE] = { "tolerance", KEY_MAP,
                         .help = "With `metrics`: by what part of itself a value may differ from its reduction, from "
                                 "1e-9 to 0.5. Default: what rounding in the metric's dtype comes to "
                                 "(docs/spec/canary.md).",
                         .example = "{loss: 0.02}" },
    [RUNG_MIN] = { "min", KEY_MAP,
                   .help =
                       "Floors: the least that a number of this name may be which the rung's program tells of a host "
                       "(`number.NAME` in the receipt), in its own unit. A host below it fails, and so does one that "
                       "tells no such number; not in a cold pass. At most 32.",
                   .example = "{speed.matmul_f32_gflops: 60}" },
    [RUNG_SAME] = { "same", KEY_WORD, .words = &same_words,
                    .help = "With `command`; `output`: its program prints the same on all hosts; who prints something "
                            "else is named by `sliceup drift`." },
    [RUNG_PRELOAD] = { "preload", KEY_BOOL,
                       .help = "With `canary`: whether each attempt is a copy of an interpreter that has imported the "
                               "frontend already. Default: true for our canaries but the runtime probe, false for "
                               "your own, which may set variables before they import." },
    [RUNG_REHEARSE] = { "rehearse", KEY_BOOL, .fallback = "true",
                        .help = "`false`: `sliceup rehearse` leaves the rung out, by name, because its program needs "
                                "what only a TPU "
                                "has, such as the compiler of its kernels." },
};

static const struct conf_key signatures_keys[SIGNATURES_KEYS] = {
    [SIGNATURES_SIGNATURES] = { "signatures", KEY_NAME, .required = true, .help = "The name of the list." },
    [SIGNATURES_LIST] = { "list", KEY_LIST, .required = true,
                          .help = "Signatures. When two match the same line, the first in this list counts." },
};

static const struct conf_key signature_keys[SIGNATURE_KEYS] = {
    [SIGNATURE_ID] = { "id", KEY_NAME, .required = true,
                       .help = "Name of the signature in receipts, unique in all lists of a slice." },
    [SIGNATURE_TEXT] = { "text", KEY_TEXT, 4, 255,
                         .help = "Text that must occur in the program's output; required unless there is `rule`." },
    [SIGNATURE_ALSO] = { "also", KEY_LIST, .help = "Texts that must all occur within 2 KiB of `text`; at most 4." },
    [SIGNATURE_UNLESS] = { "unless", KEY_LIST, .help = "Texts that must not occur within 2 KiB of `text`; at most 4." },
    [SIGNATURE_OWNER] = { "layer", KEY_WORD, .words = &owner_names, .required = true,
                          .help = "The owner of the failure." },
    [SIGNATURE_ELSE] = { "else", KEY_WORD, .words = &owner_names,
                         .help = "The second owner, of a text that leaves two possible: views say both and `likely`. "
                                 "The first alone decides." },
    [SIGNATURE_PEER] = { "peer", KEY_BOOL, .fallback = "false",
                         .help = "The text reports that another host failed. It is never taken as the cause while "
                                 "another host has a cause." },
    [SIGNATURE_NOISE] = { "noise", KEY_BOOL, .fallback = "false",
                          .help = "Programs that succeed print this text too. Its line is shown, with its `next`, "
                                  "when no other line looks like an error. It never gives an owner." },
    [SIGNATURE_TRANSIENT] = { "transient", KEY_BOOL, .fallback = "false",
                              .help = "The failure is transient: the rung is run again, unless another printed line "
                                      "contradicts it." },
    [SIGNATURE_MEMORY] = { "memory", KEY_BOOL, .fallback = "false",
                           .help =
                               "The text says that the device ran out of memory: the same launch will fail again." },
    [SIGNATURE_LIKELY] = { "likely", KEY_BOOL, .fallback = "false",
                           .help = "The text speaks for the owner and does not prove it: views say `likely`." },
    [SIGNATURE_ALWAYS] = { "always", KEY_BOOL, .fallback = "false",
                           .help = "A command that prints this text has failed, also when it exits with status 0." },
    [SIGNATURE_BACKENDS] = { "backends", KEY_LIST,
                             .help = "With `always`: only with a profile of one of these backends; at most 4." },
    [SIGNATURE_RECHECK] = { "recheck", KEY_BOOL, .fallback = "false",
                            .help =
                                "The text is about quota, capacity, credentials or permission, which others change: "
                                "a failure by it leaves a note of durability `recheck`, and makes no launch known "
                                "bad." },
    [SIGNATURE_NEXT] = { "next", KEY_TEXT, 1, 512, .required = true, .help = "The next step." },
    [SIGNATURE_RULE] = { "rule", KEY_WORD, .words = &rule_weight_names,
                         .help = "Instead of `text`: the signature is a rule, asked of the message of one error "
                                 "([signatures.md](signatures.md#the-form-of-errors)), and this is what it makes of "
                                 "it. Capitals do not count but in types and errno, a word begins where words begin, "
                                 "one of `also` is enough, "
                                 "and a list has at most 128 words." },
    [SIGNATURE_TYPES] = { "types", KEY_LIST, .help = "Of a rule: types of exceptions, without their modules." },
    [SIGNATURE_ANY] = { "any", KEY_LIST, .help = "Of a rule: words of which the message must hold one." },
    [SIGNATURE_RAISED] = { "raised", KEY_LIST, .help = "Of a rule: whose frame raised the exception." },
    [SIGNATURE_ERRNO] = { "errno", KEY_NAME,
                          .help = "Of a rule: the errno that the message names in any spelling, such as `ENOENT`." },
    [SIGNATURE_FIRST_LINE] = { "first_line", KEY_BOOL, .fallback = "false",
                               .help = "Of a rule: only the first line of the message counts." },
};

static const struct conf_key bundles_keys[BUNDLES_KEYS] = {
    [BUNDLES_BUNDLES] = { "bundles", KEY_NAME, .required = true, .help = "The name of the list." },
    [BUNDLES_LIST] = { "list", KEY_LIST, .required = true,
                       .help = "Rules on versions, each a map with the keys of a bundle rule." },
};

static const struct conf_key bundle_keys[BUNDLE_KEYS] = {
    [BUNDLE_ID] = { "id", KEY_NAME, .required = true, .help = "Name of the rule in receipts, unique in all lists." },
    [BUNDLE_WORD] = { "word", KEY_WORD, .words = &bundle_word_names, .required = true,
                      .help = "`bad`: an environment with these versions fails. `good`: an environment with them is "
                              "reported as known to work." },
    [BUNDLE_BACKENDS] = { "backends", KEY_LIST, .help = "The backends to which the rule applies. Default: all." },
    [BUNDLE_PARTS] = { "parts", KEY_MAP, .required = true,
                       .help = "Package name to version: the rule applies to an environment in which every one of them "
                               "matches. Forms: `docs/spec/bundles.md`." },
    [BUNDLE_WHY] = { "why", KEY_TEXT, 1, 512, .help = "What is wrong with these versions; required with `word: bad`." },
    [BUNDLE_SOURCE] = { "source", KEY_TEXT, 1, 255, .required = true,
                        .help = "Where this is known from, such as a release note or a test." },
};

static const struct conf_key machines_keys[MACHINES_KEYS] = {
    [MACHINES_MACHINES] = { "machines", KEY_NAME, .required = true, .help = "The name of the table." },
    [MACHINES_LIST] = { "list", KEY_LIST, .required = true, .help = "Machine types, each a map with the keys of one." },
};

static const struct conf_key machine_keys[MACHINE_KEYS] = {
    [MACHINE_ID] = { "id", KEY_NAME, .required = true, .help = "The name that the cloud gives the machine type." },
    [MACHINE_ACCELERATOR] = { "accelerator", KEY_NAME, .required = true,
                              .help = "Type of its slices without the number: `v6e` of `v6e-16`." },
    [MACHINE_COUNTS] = { "counts", KEY_WORD, .words = &type_count_names, .required = true,
                         .help = "What the number of the type counts; a chip has two cores." },
    [MACHINE_CHIPS] = { "chips", KEY_NUMBER, 1, 64, .required = true, .help = "Chips of a host." },
    [MACHINE_DEVICES] = { "devices_per_chip", KEY_NUMBER, 1, 8, .required = true,
                          .help = "Devices of a chip, as programs count them." },
    [MACHINE_BOUNDS] = { "bounds", KEY_TEXT, 1, 15, .required = true,
                         .help = "The chips of a host as a grid, such as `2,2,1`." },
    [MACHINE_DIMENSIONS] = { "dimensions", KEY_NUMBER, 2, 3, .required = true,
                             .help = "Of the grid that the chips of a slice form." },
    [MACHINE_MEMORY] = { "memory_gib", KEY_NUMBER, 1, 4096, .required = true, .help = "Memory of a chip." },
};

static const struct conf_key drifts_keys[DRIFTS_KEYS] = {
    [DRIFTS_DRIFT] = { "drift", KEY_NAME, .required = true, .help = "The name of the drift policy." },
    [DRIFTS_RULES] = { "rules", KEY_LIST, .required = true,
                       .help = "Rules, each a map with the keys of a drift rule; the first that matches a value "
                               "counts. At most 128. Values that no rule matches must agree." },
};

static const struct conf_key drift_rule_keys[DRIFT_RULE_KEYS] = {
    [DRIFT_RULE_FACT] = { "fact", KEY_TEXT, 1, 255, .required = true,
                          .help = "The values of hosts to which the rule applies, kind first, such as `fact "
                                  "kernel.release` or `bundle *`; `*` stands for anything." },
    [DRIFT_RULE_COMPARE] = { "compare", KEY_WORD, .words = &drift_kind_names, .required = true,
                             .help = "`agree`: equal on all hosts. `pinned`: equal to the pin set, or without a pin "
                                     "equal on all hosts. `tokens`: the same words in any order. `tolerance`: a number "
                                     "near the others. `expected`: may differ, and differences are listed. `ignored`: "
                                     "not compared. `near_zero`: nearer to 0 than `least`, whatever the others say." },
    [DRIFT_RULE_TOLERANCE] = { "tolerance_percent", KEY_NUMBER, 0, 100000,
                               .help = "With `tolerance`: the smallest relevant difference from the median, in percent "
                                       "of the smaller of the two." },
    [DRIFT_RULE_LEAST] = { "least", KEY_TEXT, 1, 32,
                           .help = "With `tolerance` and `near_zero`: the smallest relevant absolute difference: a "
                                   "number in the value's unit, a size or a duration." },
    [DRIFT_RULE_REPEATS] = { "repeats", KEY_NUMBER, 1, 100000,
                             .help = "The rule is for what was measured at least as often on both sides, such as steps "
                                     "of a program. Default: how often does not matter." },
    [DRIFT_RULE_RATE] = { "rate", KEY_BOOL,
                          .help = "With `tolerance`: the number is a rate, so only what is below the others is a "
                                  "finding. Default: false." },
    [DRIFT_RULE_WHY] = { "why", KEY_TEXT, 1, 512, .help = "Why the difference matters, or why it may exist." },
};

const struct section_schema slice_section = SECTION ("a slice file", slice_keys),
                            host_section = SECTION ("a host", host_keys),
                            ssh_route_section = SECTION ("ssh of a host", way_keys),
                            from_section = SECTION ("a source of hosts", from_keys),
                            start_section = SECTION ("start", start_keys),
                            coordinator_section = SECTION ("coordinator", coordinator_keys),
                            on_end_section = SECTION ("on_end", on_end_keys), ssh_section = SECTION ("ssh", ssh_keys),
                            slurm_section = SECTION ("slurm", slurm_keys), pins_section = SECTION ("pins", pins_keys),
                            cache_section = SECTION ("cache", cache_keys),
                            limits_section = SECTION ("limits", limits_keys),
                            profile_section = SECTION ("a profile", profile_keys),
                            ladder_section = SECTION ("a ladder", ladder_keys),
                            rung_section = SECTION ("a rung", rung_keys),
                            signatures_section = SECTION ("a signature file", signatures_keys),
                            signature_section = SECTION ("a signature", signature_keys),
                            bundles_section = SECTION ("a bundle file", bundles_keys),
                            bundle_section = SECTION ("a bundle rule", bundle_keys),
                            machines_section = SECTION ("a machine file", machines_keys),
                            machine_section = SECTION ("a machine type", machine_keys);

const struct section_schema drifts_section = SECTION ("a drift policy", drifts_keys),
                            drift_rule_section = SECTION ("a drift rule", drift_rule_keys);

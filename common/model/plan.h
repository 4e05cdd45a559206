/* plan.h - what a run is going to do: the validated configuration, as one value.
 *
 * `sliceup check` prints it and the journal's first fact holds it. Configuration files are never read again: a resumed
 * run follows its plan, whatever the files say by then. */
#ifndef SLICEUP_COMMON_MODEL_PLAN_H
#define SLICEUP_COMMON_MODEL_PLAN_H

#include <stdbool.h>

#include "common/model/hostset.h"
#include "common/model/outcome.h"

/* ---- mesh ---- */

/* The named device grid and which host holds which coordinates.
 *
 * Devices are numbered row-major over the axes in the order they are named; host of rank r holds devices
 * r * devices_per_host .. (r + 1) * devices_per_host - 1. The product of the axes is hosts * devices_per_host. */

enum { MESH_AXES_MAX = 6, AXIS_NAME_MAX_BYTES = 31, DEVICES_MAX = 1 << 16 };

struct axis {
    struct text axis; /* its name */
    uint32_t size;
};
struct mesh {
    struct axis *items;
    uint32_t n;
}; /* a LIST_OF (struct axis) */

extern const struct record axis_record;

uint32_t mesh_devices (const struct mesh *mesh);           /* product; 0: above DEVICES_MAX, or an axis is 0 */
int mesh_axis (const struct mesh *mesh, struct text name); /* index, or -1 */
/* Coordinates of a device; `at` has MESH_AXES_MAX places. */
void mesh_coordinates (const struct mesh *mesh, uint32_t device, uint32_t at[]);
/* Are devices `a` and `b` reduced together over these axes (bit i: axis i)? Yes, if they agree in all others. */
bool mesh_reduced_together (const struct mesh *mesh, uint32_t a, uint32_t b, uint32_t axes_bits);

/* The number of chips of "4x4" or "2,2,1", as clouds write topologies; false: not such a grid. */
bool mesh_topology_chips (struct text grid, uint32_t *product);
enum { MESH_GRID_AXES = 3 };
/* How many sizes it has, and each; those that are not there are 1. 0: not such a grid, or one with more. */
uint32_t mesh_grid_read (struct text grid, uint32_t sizes[MESH_GRID_AXES]);
/* The grid of hosts, "2,2,1" for topology "4x4" and hosts with chips "2,2,1". Empty: an argument is no grid. */
struct text mesh_host_grid (struct text topology, struct text bounds, struct arena *arena);
/* Do two grids such as "1,2,1" have the same sizes in any order? The cloud chooses the orientation of a slice. */
bool mesh_same_sizes (struct text a, struct text b);
/* Chips in an accelerator's name ("v6e-16": 16); false: its number means something else. */
bool accelerator_chips (struct text accelerator, uint32_t *chips);

/* ---- plan ---- */

/* A host's texts are at most a sentence; texts derived from them have TEXT_MAX_BYTES, so that they can quote one. */
enum { RUNGS_MAX = 64, ARGV_MAX = 32, VARS_MAX = 128, AXIS_NAMES_MAX = MESH_AXES_MAX, RETRIES_MAX = 5 };
enum { ID_MAX_BYTES = 63, WORD_MAX_BYTES = 127, NAME_MAX_BYTES = 255, PATH_MAX_BYTES = 1023, TEXT_MAX_BYTES = 4096 };
enum { HINT_MAX_BYTES = 4 * PATH_MAX_BYTES + 16 }; /* a path of quotes, quoted */
enum { SENTENCE_MAX_BYTES = 2048, SHA256_HEX_BYTES = 64, IDENTITIES_MAX = 16, SLURM_OPTIONS_MAX = 16 };
enum { KIT_FILES_MAX = 64, KIT_FILE_MAX_BYTES = 16 << 20, WHEELS_MAX = 256, WHEEL_MAX_BYTES = 0x7fffffff };
enum { WRITERS_MAX = 64, WRITABLE_MAX = 16, PROTECTED_MAX = 64, HIDDEN_MAX = 4, TRUST_MAX = 16 };
enum {
    SIGNATURES_MAX = 1024,
    SIGNATURE_TEXTS_MAX = 4,
    RULE_WORDS_MAX = 128,
    BUNDLE_RULES_MAX = 64,
    BUNDLE_PARTS_MAX = 16
};
enum { BESIDE_MAX = 64, BESIDE_BYTES_MAX = 1024 };
enum { DRIFT_RULES_MAX = 128, SETUP_MAX_BYTES = 100 * 1024 }; /* SETUP: Linux takes one argument of 128 KiB */

enum { EXPECT_MAX = 64, EXPECT_PACKAGES_MAX = 24 };
#define EXPECT_PACKAGE "package." /* prefix of facts that hold package versions */

struct var {
    struct text name;
    struct text value;
}; /* an environment variable, or any named text */
struct named_number {
    struct text name;
    uint64_t value;
}; /* a counter */
struct file_ref {
    struct text path;
    struct text sha256;
}; /* absolute path; its sha256 at check, 64 hex digits */
typedef LIST_OF (struct var) var_list;
typedef LIST_OF (struct named_number) number_list;
typedef LIST_OF (struct text) text_list;
text_list text_list_copy (const text_list *from, struct arena *arena);
typedef LIST_OF (uint32_t) uid_list;
#define TRUST_UID_MAX (UINT32_MAX - 1) /* above it is nobody (chown(2)) */

/* A file that a program needs. A host that has the same file uses it in place; others fetch it over the bulk socket. */
struct kit_file {
    struct text name;     /* its place in the kit: relative, "jax/tiny.py" */
    struct file_ref file; /* on the coordinator */
};

/* join: workers connect by themselves, with tickets; ssh, slurm: a courier process per host takes the worker there. */
enum launcher { LAUNCHER_NONE = 0, LAUNCHER_LOCAL, LAUNCHER_JOIN, LAUNCHER_SSH, LAUNCHER_SLURM };
extern const struct enum_names launcher_names;
extern const struct record file_ref_record;

/* What the user's ssh configuration can set of a route. */
enum ssh_said { SAID_ADDRESS, SAID_PORT, SAID_USER, SAID_JUMP, SAID_ALIAS, SAID_KNOWN_HOSTS, SAID_IDENTITIES };
/* The command; no other keys of an agent than the identities; a wish not to check host keys, which is not followed. */
enum { SAID_COMMAND = SAID_IDENTITIES + 1, SAID_ONLY, SAID_UNCHECKED, SAID_N };
enum { SSH_PORT_DEFAULT = 22 };
struct ssh_route {       /* to one host's sshd */
    struct text address; /* name or IP address; empty: that of the host */
    uint32_t port;
    struct text user;           /* empty: whoever runs sliceup */
    struct text jump;           /* "[user@]host[:port]" as jump host; empty: direct */
    struct text host_key_alias; /* known_hosts holds the host's key under this name; empty: under address and port */
    uint32_t from_config;       /* bits of enum ssh_said: set by the user's ssh configuration */
    struct text command;        /* ProxyCommand, expanded: the connection is its standard input and output; or empty */
};

struct plan_host { /* in rank order: rank = index */
    struct text name;
    struct text address;  /* how the other hosts reach it */
    struct text env_dir;  /* this host's own environment directory; empty: the shared one of the plan */
    struct ssh_route ssh; /* launcher ssh */
    uint32_t place;       /* its rank among all hosts of the slice file, also those left out of this run */
};

struct ssh_plan {
    LIST_OF (struct text) identities; /* private key files, absolute; tried in order, after the agent's */
    bool agent;                       /* use the one at SSH_AUTH_SOCK */
    struct text known_hosts;          /* absolute; a host whose key is not in it is refused */
    bool sudo;                        /* on the host all runs as root */
};

struct slurm_plan {
    struct text account, partition; /* empty: Slurm's default */
    LIST_OF (struct text) options;  /* further ones of srun, each "--name" or "--name=value" */
};

/* A worker's link: straight if that works, else through the ssh connection that started it; or one of them. */
enum link_way { LINK_WAY_NONE = 0, LINK_WAY_DIRECT, LINK_WAY_SSH, LINK_WAY_AUTO };
extern const struct enum_names link_way_names;

/* How workers are started on other machines, and reach the coordinator. */
#define START_DIRECTORY_DEFAULT "/var/tmp/sliceup" /* of a worker, on its host */
#define START_DIRECTORY_OF_ROOT START_DIRECTORY_DEFAULT "-root"
struct start_plan {
    struct text directory; /* on each host: bundles, the worker's folder for each run, copied files */
    struct text address;   /* of the coordinator, for hosts; empty: found by ssh, else this host's name */
    struct text listen;    /* local address to bind; empty: 127.0.0.1 for local, else all */
    enum link_way reach;
    uint32_t control_port, bulk_port, events_port; /* 0: any free one */
    uint64_t deadline_ms;                          /* for one host's start, from connecting to the worker's key */
    uint32_t at_once;                              /* hosts being started at the same time */
    bool tied;      /* a worker ends with the connection that started it; else it outlives it */
    bool sends_all; /* hosts get no file from one another */
    struct ssh_plan ssh;
    struct slurm_plan slurm;
};

enum program_kind {
    PROGRAM_NONE = 0,
    PROGRAM_BUILTIN, /* `sliceup-worker <name>`: facts, restore */
    PROGRAM_CANARY,  /* a Python program that speaks the canary protocol, run in the restored environment */
    PROGRAM_COMMAND, /* any command: exit status and log only */
};
extern const struct enum_names program_kind_names;

enum scope { SCOPE_NONE = 0, SCOPE_HOST, SCOPE_SLICE }; /* each host alone, or all together with rendezvous */
extern const struct enum_names scope_names;

/* Who runs the cold pass: nobody, the writer, everybody; AOT: the writer, for devices that need not exist. */
enum warm { WARM_NONE = 0, WARM_SOLO, WARM_GANG, WARM_AOT };
extern const struct enum_names warm_names;

enum pass { PASS_NONE = 0, PASS_ONCE, PASS_COLD, PASS_RESTORED };
extern const struct enum_names pass_names;

/* How long a pass of the same launch took in earlier runs: the median of those that passed. */
struct usual_time {
    enum pass pass;
    uint64_t ms;
    uint32_t runs;
};
enum { USUAL_TIMES_MAX = PASS_RESTORED };
typedef LIST_OF (struct usual_time) usual_time_list;

/* A limit on a command's program, by counter: "recompilations", "fallbacks", "reads_per_step", "step_ms"; or, by a metric's
 * name, the largest relative error of its reduction. */
struct demand {
    struct text what;
    double most;
};
/* What a number.NAME that a program tells has to be at least. */
struct floor {
    struct text name;
    double least;
    struct text of;   /* "min of rung speed (ladder.yaml:12)" */
    bool may_be_left; /* the profile's: a rung may tell no number of that name */
};
typedef LIST_OF (struct floor) floor_list;
enum { DEMANDS_MAX = 4, FLOORS_MAX = 32, METRICS_MAX = 32, WAYS_PORTS_MAX = 8, WAYS_TOLD_MAX = 128 };

struct rung {
    struct text id;
    enum program_kind kind;
    struct text builtin;     /* BUILTIN: its name */
    struct file_ref program; /* CANARY: the file */
    /* CANARY: the program first, then the Python files that it may import. COMMAND: files of its words, and others. */
    LIST_OF (struct kit_file) files;
    LIST_OF (struct text) argv; /* COMMAND; a word "./NAME" is the file of that name */
    var_list args;              /* CANARY: name -> JSON text of the value, merged from rung and profile */
    enum scope scope;
    enum warm warm;                /* NONE: one pass `once`; else `cold` then `restored` */
    uint64_t timeout_ms;           /* of one attempt on one host, with hold_ms */
    uint64_t hold_ms;              /* for how long its program repeats what it does; 0: once */
    struct text backend;           /* required; empty: the rung does not say */
    bool any_backend;              /* the ladder says "any"; else a report must not contradict the profile */
    bool needs_env;                /* wants the restored Python environment */
    LIST_OF (struct text) metrics; /* metrics that must be proved for the rung to pass */
    struct text parse;     /* COMMAND: how counters are read from its output ("torch_xla-metrics"); empty: not read */
    struct text launch;    /* its launch signature, 16 hex digits: docs/spec/calibration.md */
    struct text known_bad; /* why this launch is not run again; empty: no reason known */
    struct text next_best; /* what can be run in its place, with the command; empty: nothing is known */
    usual_time_list usual; /* at most one a pass; none: there were no earlier runs */
    LIST_OF (struct demand) demands; /* COMMAND; a demand not shown to be met fails the rung */
    bool same_output;                /* COMMAND: drift compares what it printed */
    bool copies;                     /* CANARY: an attempt may be a copy of a preloaded interpreter */
    struct text folder;              /* COMMAND: "PATH, 3 KiB", of the folder that travels as KIT_FOLDER; empty: none */
    struct text workdir;             /* COMMAND: absolute, or below the folder; empty: the folder, or an empty one */
    LIST_OF (struct text) beside;    /* COMMAND without a folder: what lies beside its first file, or the ladder */
    floor_list floors;               /* its own, and those of the profile that it does not replace */
    LIST_OF (struct demand) tolerances; /* for some `metrics`; for others the dtype decides (reduce.h) */
};
extern const struct record rung_record;
bool rung_is_builtin (const struct rung *rung, const char *name);
/* Does a module or file of this name lie here beside its program, which does not have it with it? */
bool rung_lacks (const struct rung *rung, struct text name);
bool rung_makes_client (const struct rung *rung); /* unless its arg `client` says false */

/* A type of accelerator hosts: configs/machines. */
enum type_count { TYPE_COUNT_NONE = 0, TYPE_COUNT_CHIPS, TYPE_COUNT_CORES }; /* a chip has two cores */
extern const struct enum_names type_count_names;
struct machine_type {
    struct text id;          /* "ct6e-standard-4t"; empty: the slice file names none */
    struct text accelerator; /* of slices of it: "v6e" of "v6e-16" */
    enum type_count counts;  /* what the number after it counts */
    uint32_t chips, devices_per_chip;
    struct text bounds;  /* the chips of a host as a grid, "2,2,1" */
    uint32_t dimensions; /* of a topology of its chips: 2 or 3 */
    uint32_t memory_gib; /* of a chip */
};

/* Variables for the programs of one scope; they override those for all scopes. */
struct scope_env {
    var_list set;
    text_list unset; /* neither set for all scopes nor inherited */
};

/* Sizes that programs may give one dimension of their arrays, the smallest first. */
enum { SHAPES_MAX = 8, SHAPE_SIZES_MAX = 32, SHAPE_SIZE_MAX = INT32_MAX };
struct dimension {
    struct text name;
    LIST_OF (uint32_t) sizes;
};

struct profile { /* launch policy: everything decided before the runtime is imported */
    struct text name;
    struct text frontend; /* key of common/frontend's table */
    struct text backend;  /* what is requested: cpu, tpu */
    uint32_t devices_per_host;
    var_list env; /* set before the program starts; values may hold placeholders (launch_variables.h) */
    struct scope_env host_env, slice_env;
    text_list inherit;                 /* worker variables that programs inherit, beside PATH, LANG, TZ and TMPDIR */
    struct text accelerator;           /* type of the slice as its cloud names it, "v6e-16"; empty: not stated */
    struct text topology;              /* of its chips, "4x4"; empty: not stated */
    bool splits;                       /* a part of the hosts can form a group: isolation by halves */
    LIST_OF (struct dimension) shapes; /* empty: programs choose */
    bool padding;                      /* of shapes: other sizes are padded to the next */
    uint32_t port;                     /* {port} of the first attempt; of a RUN that of its own. 0: not used */
};

extern const struct record profile_record;

/* PER_HOST: every host warms a folder that no other host sees. READ_ONLY: uses what is sealed, warms nothing.
 * WARM_ONLY: writes and publishes generations, restores nothing. */
enum cache_mode { CACHE_NONE = 0, CACHE_OFF, CACHE_SINGLE_WRITER, CACHE_PER_HOST, CACHE_READ_ONLY, CACHE_WARM_ONLY };
extern const struct enum_names cache_mode_names;
/* Does one host write generations for all, under a lease? */
bool cache_mode_has_writer (enum cache_mode mode);

/* What keeps a program from writing the cache, weakest first; docs/spec/cache.md. */
enum enforcement {
    ENFORCEMENT_NONE = 0,
    ENFORCEMENT_COOPERATIVE, /* file modes and settings of the framework: keeps only accidents out */
    ENFORCEMENT_LANDLOCK,
    ENFORCEMENT_NAMESPACE, /* a read-only mount that cannot be undone */
    ENFORCEMENT_NAMESPACE_LANDLOCK,
    ENFORCEMENT_STORAGE, /* the storage itself refuses this host */
    ENFORCEMENT_N
};
extern const struct enum_names enforcement_names;

struct cache_plan {
    enum cache_mode mode;
    struct text root;               /* absolute; as the hosts see it */
    struct text writer;             /* host name; always set when mode is SINGLE_WRITER: the first of `writers` */
    LIST_OF (struct text) writers;  /* hosts that may hold the lease, in order of preference */
    enum enforcement least;         /* a host that reaches less does not run; COOPERATIVE only if asked for by name */
    bool overlay;                   /* readers whose program must write get a scratch layer over the generation */
    LIST_OF (struct text) writable; /* absolute paths that programs may write besides scratch, /tmp, usual devices */
    /* Absolute paths, on this machine or the hosts, of what sliceup executes, imports, reads as configuration or
     * trusts: no program may write in them. A machine without such a path ignores it. */
    LIST_OF (struct text) protected;
    uid_list trust; /* who may own its files, besides root and the user that asks */
};

struct pins {
    struct text name;
    struct file_ref file;             /* requirements with hashes */
    struct file_ref setup;            /* the setup script; may be empty */
    struct text python;               /* interpreter to build from: "python3" or absolute */
    struct text env_dir;              /* where the environment is built; absolute */
    LIST_OF (struct kit_file) wheels; /* copied to hosts; then no package index is used */
};

extern const struct record pins_record;

struct limits {       /* in ms unless the name says otherwise */
    uint64_t join_ms; /* from launch to every host joined */
    uint64_t suspect_ms, lost_ms;
    uint64_t orphan_ms;      /* worker: silence after which it kills its rung */
    uint64_t exit_ms;        /* worker: silence after which it ends */
    uint64_t cascade_ms;     /* grace for the peers of a failed host */
    uint64_t stop_ms;        /* SIGINT -> SIGTERM, and again to SIGKILL */
    uint64_t log_bytes;      /* kept per attempt and host */
    uint64_t lease_ms;       /* term of the writer's lease: common/model/lease.h */
    uint32_t retries;        /* of one rung's pass, for transient failures only */
    uint64_t retry_wait_ms;  /* before the first retry; doubled for each further one */
    uint64_t device_wait_ms; /* worker: how long it waits for a device held by another process */
};
extern const struct record limits_record;

/* What a form of errors speaks for; the later ones say more. */
enum rule_weight {
    RULE_NONE = 0,
    RULE_AFTERMATH, /* follows from an end, or stands in healthy runs: never a cause */
    RULE_CHILD,     /* says only that a child process failed */
    RULE_PEER,      /* says only that another process or host failed */
    RULE_VAGUE,     /* an end without a reason: a bare signal, INTERNAL */
    RULE_PRIOR,     /* the type or the package speaks for an owner */
    RULE_CAUSE,     /* what is said speaks for an owner */
};
extern const struct enum_names rule_weight_names; /* none aftermath child peer vague prior cause */

/* How a failure is recognised in what a program printed: by a known text, or by the form of one message (a rule). */
struct signature {
    struct text id;
    struct text text;             /* must occur in the evidence; empty: a rule */
    enum owner owner, else_owner; /* NONE: it has no second one */
    bool peer;                    /* says "somebody else failed": not the cause if another host reports its own */
    bool transient;
    struct text next;               /* what to look at */
    LIST_OF (struct text) also;     /* must occur near it as well; docs/spec/signatures.md. Of a rule: one of them */
    LIST_OF (struct text) unless;   /* must not */
    bool noise;                     /* also printed in runs that work: shown, never a cause */
    bool memory;                    /* device memory ran out: the same launch will not fit next time */
    bool likely;                    /* suggests the owner, does not prove it */
    bool always;                    /* fails a command even if it exited with status 0 */
    LIST_OF (struct text) backends; /* with `always`: of the profile; empty: any */
    bool recheck;                   /* quota, capacity, permission: can change without a trace in the run */
    /* Of a rule, what must hold of the message; it never holds when all are empty. Words are in small letters. */
    enum rule_weight rule;
    LIST_OF (struct text) types;  /* one is the exception's type, without its module */
    LIST_OF (struct text) any;    /* one occurs */
    LIST_OF (struct text) raised; /* one is whose frame raised it (common/logs/traceback.h) */
    struct text error;            /* the errno it names: ENOENT */
    bool first_line;              /* only the first line is read */
};
extern const struct record signature_record;

/* Versions that are known to work together, or not to, with the source of that knowledge. */
enum bundle_word { BUNDLE_NONE = 0, BUNDLE_GOOD, BUNDLE_BAD };
extern const struct enum_names bundle_word_names;
struct bundle_rule {
    struct text id;
    enum bundle_word word;
    LIST_OF (struct text) backends; /* empty: any */
    var_list parts;                 /* package -> version, "0.0.20.*" or "<0.0.6"; all must match the observed ones */
    struct text why, source;
};

/* How a fact is compared between hosts; docs/spec/drift.md. */
enum drift_kind {
    DRIFT_NONE = 0,
    DRIFT_AGREE,     /* the same on all hosts */
    DRIFT_PINNED,    /* equal to the pin set */
    DRIFT_TOKENS,    /* the same set of words */
    DRIFT_TOLERANCE, /* a number: robust statistics and a minimum difference */
    DRIFT_EXPECTED,  /* always differs; only listed */
    DRIFT_IGNORED,   /* not compared */
    DRIFT_NEAR_ZERO, /* a number of each host by itself, whatever the others say */
};
extern const struct enum_names drift_kind_names;
struct drift_rule {
    struct text fact; /* name or pattern with '*' */
    enum drift_kind kind;
    double tolerance; /* TOLERANCE: minimum relative difference from the median, 0.1 = a tenth */
    double least;     /* TOLERANCE, NEAR_ZERO: and minimum absolute difference, in the fact's unit */
    struct text why;
    uint64_t repeats; /* what was measured less often is under a later rule; 0: it does not matter */
    bool rate;        /* TOLERANCE: more is better, so only what is below the others counts */
};

/* A rehearsal on this machine with a stand-in for libtpu; empty: a real run. docs/spec/rehearsal.md. */
struct wrong_variable {
    uint32_t host;
    struct text name, value;
    bool unset; /* the host lacks it; `value` is empty */
};
enum { WRONG_VARIABLES_MAX = 16, LEFT_OUT_RUNGS_MAX = 16, RUNG_ARGS_GIVEN_MAX = 16 };
struct rehearsal {
    var_list variables;                    /* for each local worker and its programs; with placeholders */
    LIST_OF (struct wrong_variable) wrong; /* deliberate faults of single hosts */
};

/* Who started a run, where and how; unredacted: receipts pass it through secret_redact_word. */
enum { ORIGIN_WORDS_MAX = 256 };
struct run_origin {
    struct text user; /* empty: the uid has no name */
    uint32_t uid;
    struct text host, directory; /* empty host: a journal of an earlier build */
    text_list command;           /* the words of the command line */
};
extern const struct record run_origin_record;

/* Whether the climb goes on when a host is absent or a rung does not pass: docs/guide/ladder.md, "Going on". */
struct climb_policy {
    uint32_t min_hosts; /* it goes on while this many hosts are up; 0: all */
    bool keep_going;    /* a rung that did not pass does not end it */
    bool fail_fast;     /* the first bad end in a pass stops the other hosts at once */
};

/* Command that runs on the coordinator's machine after the run. */
enum { ON_END_MS = 60 * 1000 };
struct on_end {
    text_list command; /* the first word is an absolute path; empty: no command */
    uint64_t timeout_ms;
};
enum { GROUPS_MAX = 512 }; /* the most keys of a YAML map */
enum { SLICES_MAX = 64 };

struct plan {
    struct text slice;
    enum launcher launcher;
    LIST_OF (struct plan_host) hosts;
    struct mesh mesh;
    struct profile profile;
    struct pins pins; /* empty when the ladder needs no environment */
    struct cache_plan cache;
    struct text ladder; /* its name */
    LIST_OF (struct rung) rungs;
    struct limits limits;
    LIST_OF (struct signature) signatures;
    struct file_ref signature_table; /* all signatures as one file, for workers; empty: none */
    LIST_OF (struct bundle_rule) bundles;
    LIST_OF (struct drift_rule) drift;
    struct text home; /* SLICEUP_HOME, absolute */
    struct text hint; /* what a proposed command needs behind "sliceup": "", or " --home DIR", quoted for a shell */
    struct file_ref source; /* the slice file */
    struct start_plan start;
    struct machine_type machine; /* of all hosts */
    struct rehearsal rehearsal;
    text_list left_out; /* rungs left out on purpose */
    uint32_t whole;     /* number of hosts in the slice file; 0: the same as in the run, in order */
    struct run_origin origin;
    var_list expect; /* fact of every host -> its value, with wildcards * and ? */
    struct climb_policy climb;
    var_list kept; /* rung not asked for -> why it is climbed anyway */
    struct on_end on_end;
    var_list groups; /* name -> host set as in the slice file; its hosts need not be in the run */
    uint32_t slices; /* of equal size, one after the other in the order of hosts; 0: one */
};
extern const struct record plan_record;

/* *value: of the first variable called `name`. False: none, and *value is unchanged. */
struct named_number *number_find (const number_list *numbers, struct text name); /* NULL: not there */
bool var_find (const var_list *vars, struct text name, struct text *value);
/* Value of a fact for which no answer came: the fact is unknown. */
#define FACT_NOT_REPORTED "not heard"
struct text var_value (const var_list *vars, const char *name); /* empty: none, or not heard */
int plan_host_rank (const struct plan *plan, struct text host); /* or -1 */
/* Names of these hosts, and of all, folded and cut to `max_bytes`. Ranks that the plan lacks are left out. */
struct text plan_fold_hosts (const struct plan *plan, const uint32_t *hosts, uint32_t n, uint32_t max_bytes,
                             struct arena *arena);
struct text plan_fold_all_hosts (const struct plan *plan, uint32_t max_bytes, struct arena *arena);
bool plan_has_devices (const struct plan *plan); /* false: its programs know of none, so neither do we say */
uint32_t plan_whole (const struct plan *plan);   /* hosts of the whole slice file, also those that the run leaves out */
/* Of several slices over the data-centre network: how many, the hosts of one, which one a host of the run is in, and its
 * number there, which TPUs call worker. One slice: 1, all, 0, its place. */
uint32_t plan_slices (const struct plan *plan);
uint32_t plan_hosts_of_slice (const struct plan *plan);
uint32_t plan_slice_of (const struct plan *plan, uint32_t rank);
uint32_t plan_worker_of (const struct plan *plan, uint32_t rank);
/* " (slice 1)" where these hosts are one or some of several slices, whole; else empty. */
struct text plan_name_slices (const struct plan *plan, const uint32_t *hosts, uint32_t n, struct arena *arena);
bool address_is_loopback (struct text address);                /* reachable only on its own machine */
bool address_is_ip (struct text address);                      /* a number, not a name */
uint32_t plan_place (const struct plan *plan, uint32_t rank);  /* the rank of a host of the run in the whole slice */
int plan_rung_index (const struct plan *plan, struct text id); /* or -1 */
/* NULL: no known failure has this id. */
const struct signature *plan_find_signature (const struct plan *plan, struct text id);

#endif

/* conf_keys.h - the master copy of the configuration: every key, its file, type, unit, range, default and meaning.
 *
 * Reading, refusing, proposing and the reference in docs/spec/configuration.md all follow from these tables; a new key
 * is a row here and a line where its value is used. */
#ifndef SLICEUP_COMMON_CONF_CONF_KEYS_H
#define SLICEUP_COMMON_CONF_CONF_KEYS_H

#include "common/model/plan.h"

enum key_kind {
    KEY_NAME = 1,  /* [A-Za-z0-9._-], as in names of rungs and files; with a maximum: of hosts */
    KEY_TEXT,      /* min..max bytes */
    KEY_REFERENCE, /* the name or path of another file */
    KEY_PATH,      /* on the hosts: absolute, or relative to SLICEUP_HOME (elsewhere: to start.directory) */
    KEY_FOLDER,    /* on the hosts: absolute, of bytes that need no quoting anywhere; at most max bytes */
    KEY_OWN_PATH, /* on this machine: absolute, below the home folder ("~/"), or from the folder of the file ("./", "../") */
    KEY_HOSTS, /* a host set */
    KEY_WORD,  /* one of `words` */
    KEY_BOOL,
    KEY_NUMBER,   /* min..max */
    KEY_DURATION, /* min..max ms, with its unit */
    KEY_SIZE,     /* min..max bytes, with its unit */
    KEY_MAP,      /* its own reader checks it */
    KEY_LIST,
    KEY_ANY, /* several shapes: its own reader checks it */
};

struct section_schema;
struct conf_key {
    const char *name;
    enum key_kind kind;
    uint64_t min, max;
    const struct enum_names *words;
    bool required;
    const char *fallback; /* default, as written in YAML; NULL: none, or set by other keys (then `help` says so) */
    const char *help;
    const struct section_schema *section; /* MAP: its keys; a lone value most likely means the first */
    const char *example;                  /* as written in YAML, for messages; NULL: none needed */
};

struct section_schema {
    const char *name; /* "a slice file": for messages and headings */
    const struct conf_key *keys;
    uint32_t keys_n;
};

enum {
    SLICE_SLICE,
    SLICE_HOSTS,
    SLICE_EXCLUDE,
    SLICE_GROUPS,
    SLICE_LAUNCHER,
    SLICE_START,
    SLICE_COORDINATOR,
    SLICE_SSH,
    SLICE_SLURM,
    SLICE_MACHINE,
    SLICE_TOPOLOGY,
    SLICE_SLICES,
    SLICE_MESH,
    SLICE_PROFILE,
    SLICE_PINS,
    SLICE_CACHE,
    SLICE_LADDER,
    SLICE_SIGNATURES,
    SLICE_BUNDLES,
    SLICE_DRIFT,
    SLICE_ENV_DIR,
    SLICE_EXPECT,
    SLICE_LIMITS,
    SLICE_ON_END,
    SLICE_KEYS
};
enum { HOST_NAME, HOST_ADDRESS, HOST_ENV_DIR, HOST_SSH, HOST_KEYS };
enum { ROUTE_ADDRESS, ROUTE_PORT, ROUTE_USER, ROUTE_JUMP, ROUTE_HOST_KEY_ALIAS, ROUTE_KEYS };
enum { FROM_FROM, FROM_FILE, FROM_KEYS };
enum { START_DIRECTORY, START_DEADLINE, START_AT_ONCE, START_OUTLIVE, START_KEYS };
enum {
    COORDINATOR_ADDRESS,
    COORDINATOR_LISTEN,
    COORDINATOR_CONTROL,
    COORDINATOR_BULK,
    COORDINATOR_EVENTS,
    COORDINATOR_REACH,
    COORDINATOR_SPREAD,
    COORDINATOR_KEYS
};
enum { SSH_USER, SSH_PORT, SSH_JUMP, SSH_IDENTITIES, SSH_AGENT, SSH_KNOWN_HOSTS, SSH_CONFIG, SSH_SUDO, SSH_KEYS };
enum { ON_END_COMMAND, ON_END_TIMEOUT, ON_END_KEYS };
enum { SLURM_ACCOUNT, SLURM_PARTITION, SLURM_OPTIONS, SLURM_KEYS };
enum { PINS_FILE, PINS_SETUP, PINS_PYTHON, PINS_WHEELS, PINS_KEYS };
enum {
    CACHE_MODE,
    CACHE_WRITER,
    CACHE_ROOT,
    CACHE_ENFORCEMENT,
    CACHE_OVERLAY,
    CACHE_WRITABLE,
    CACHE_TRUST,
    CACHE_KEYS
};
enum {
    LIMIT_JOIN,
    LIMIT_SUSPECT,
    LIMIT_LOST,
    LIMIT_ORPHAN,
    LIMIT_EXIT,
    LIMIT_CASCADE,
    LIMIT_STOP,
    LIMIT_LOG,
    LIMIT_LEASE,
    LIMIT_RETRIES,
    LIMIT_RETRY_WAIT,
    LIMIT_DEVICE_WAIT,
    LIMIT_KEYS
};
enum {
    PROFILE_PROFILE,
    PROFILE_FRONTEND,
    PROFILE_BACKEND,
    PROFILE_DEVICES,
    PROFILE_ENV,
    PROFILE_HOST_ENV,
    PROFILE_SLICE_ENV,
    PROFILE_INHERIT,
    PROFILE_ARGS,
    PROFILE_PREMAPPED,
    PROFILE_ACCELERATOR,
    PROFILE_TOPOLOGY,
    PROFILE_SPLITS,
    PROFILE_PRELOAD,
    PROFILE_SHAPES,
    PROFILE_PORT,
    PROFILE_MIN,
    PROFILE_KEYS
};
enum { LADDER_LADDER, LADDER_FRONTEND, LADDER_RUNGS, LADDER_KEYS };
enum {
    RUNG_ID,
    RUNG_BUILTIN,
    RUNG_CANARY,
    RUNG_COMMAND,
    RUNG_FILES,
    RUNG_FOLDER,
    RUNG_WORKDIR,
    RUNG_SCOPE,
    RUNG_WARM,
    RUNG_TIMEOUT,
    RUNG_HOLD,
    RUNG_BACKEND,
    RUNG_ARGS,
    RUNG_METRICS,
    RUNG_ENV,
    RUNG_PARSE,
    RUNG_AT_MOST,
    RUNG_TOLERANCE,
    RUNG_MIN,
    RUNG_SAME,
    RUNG_PRELOAD,
    RUNG_REHEARSE,
    RUNG_KEYS
};
enum { SIGNATURES_SIGNATURES, SIGNATURES_LIST, SIGNATURES_KEYS };
enum {
    SIGNATURE_ID,
    SIGNATURE_TEXT,
    SIGNATURE_ALSO,
    SIGNATURE_UNLESS,
    SIGNATURE_OWNER,
    SIGNATURE_ELSE,
    SIGNATURE_PEER,
    SIGNATURE_NOISE,
    SIGNATURE_TRANSIENT,
    SIGNATURE_MEMORY,
    SIGNATURE_LIKELY,
    SIGNATURE_ALWAYS,
    SIGNATURE_BACKENDS,
    SIGNATURE_RECHECK,
    SIGNATURE_NEXT,
    SIGNATURE_RULE,
    SIGNATURE_TYPES,
    SIGNATURE_ANY,
    SIGNATURE_RAISED,
    SIGNATURE_ERRNO,
    SIGNATURE_FIRST_LINE,
    SIGNATURE_KEYS
};
enum { BUNDLES_BUNDLES, BUNDLES_LIST, BUNDLES_KEYS };
enum { MACHINES_MACHINES, MACHINES_LIST, MACHINES_KEYS };
enum {
    MACHINE_ID,
    MACHINE_ACCELERATOR,
    MACHINE_COUNTS,
    MACHINE_CHIPS,
    MACHINE_DEVICES,
    MACHINE_BOUNDS,
    MACHINE_DIMENSIONS,
    MACHINE_MEMORY,
    MACHINE_KEYS
};
enum { BUNDLE_ID, BUNDLE_WORD, BUNDLE_BACKENDS, BUNDLE_PARTS, BUNDLE_WHY, BUNDLE_SOURCE, BUNDLE_KEYS };
enum { DRIFTS_DRIFT, DRIFTS_RULES, DRIFTS_KEYS };
enum {
    DRIFT_RULE_FACT,
    DRIFT_RULE_COMPARE,
    DRIFT_RULE_TOLERANCE,
    DRIFT_RULE_LEAST,
    DRIFT_RULE_REPEATS,
    DRIFT_RULE_RATE,
    DRIFT_RULE_WHY,
    DRIFT_RULE_KEYS
};
enum { KEYS_MOST = 24 }; /* no section has more */

extern const struct section_schema drifts_section, drift_rule_section;
extern const struct section_schema slice_section, host_section, ssh_route_section, from_section, start_section,
    coordinator_section, on_end_section, ssh_section, slurm_section, pins_section, cache_section, limits_section,
    profile_section, ladder_section, rung_section, signatures_section, signature_section, bundles_section,
    bundle_section, machines_section, machine_section;

/* In the order of the tables of their words; 0 is "none". */
enum { NEED_REQUIRED = 1, NEED_ANY };
enum { FROM_SLURM = 1, FROM_TPU, FROM_A_FILE };

/* "a whole number from 1 to 8": which values this key takes. */
void key_describe_value (const struct conf_key *key, struct buf *out);

#endif

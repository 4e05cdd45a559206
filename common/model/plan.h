/* plan.h - what a run is going to do: the validated configuration, as one value.
 *
 * `sliceup check` prints it, the journal's first fact holds it, and nothing else about the configuration is ever read
 * again: a resumed run does what was planned, whatever the files say by then. */
#ifndef SLICEUP_MODEL_PLAN_H
#define SLICEUP_MODEL_PLAN_H

#include "common/model/hostset.h"
#include "common/model/mesh.h"
#include "common/model/outcome.h"

/* What a host says is at most a sentence; what we derive from it has TEXT_MAX_BYTES, so that it can quote. */
enum { RUNGS_MAX = 64, ID_MAX_BYTES = 63, PATH_MAX_BYTES = 1023, TEXT_MAX_BYTES = 4096, ARGV_MAX = 32, VARS_MAX = 128,
       SIGNATURES_MAX = 256, AXIS_NAMES_MAX = MESH_AXES_MAX, NAME_MAX_BYTES = 255, WORD_MAX_BYTES = 127,
       SENTENCE_MAX_BYTES = 2048, SHA256_HEX_BYTES = 64 };

struct var { struct text name; struct text value; };       /* an environment variable, or any named text */
struct number { struct text name; uint64_t value; };       /* a counter */
struct file_ref { struct text path; struct text sha256; }; /* absolute path; 64 hex digits of what it held at check */
typedef LIST_OF (struct var) var_list;
typedef LIST_OF (struct number) number_list;

enum launcher { LAUNCHER_NONE = 0, LAUNCHER_LOCAL, LAUNCHER_JOIN }; /* join: workers come by themselves */
extern const struct names launcher_names;
extern const struct record file_ref_record;

struct plan_host {              /* in rank order: rank = index */
    struct text name;
    struct text address;        /* how the other hosts reach it */
    struct text env_dir;        /* this host's own environment directory; empty: the shared one of the plan */
};

enum program_kind {
    PROGRAM_NONE = 0,
    PROGRAM_BUILTIN,            /* `sliceup-worker <name>`: facts, restore */
    PROGRAM_CANARY,             /* a Python program that speaks the canary protocol, run in the restored environment */
    PROGRAM_COMMAND,            /* any command: exit status and log only */
};
extern const struct names program_kind_names;

enum scope { SCOPE_NONE = 0, SCOPE_HOST, SCOPE_SLICE };    /* each host alone, or all together with rendezvous */
extern const struct names scope_names;

enum warm { WARM_NONE = 0, WARM_SOLO, WARM_GANG };         /* who runs the cold pass: nobody, the writer, everybody */
extern const struct names warm_names;

enum pass { PASS_NONE = 0, PASS_ONCE, PASS_COLD, PASS_RESTORED };
extern const struct names pass_names;

struct rung {
    struct text id;
    enum program_kind kind;
    struct text builtin;        /* BUILTIN: its name */
    struct file_ref program;    /* CANARY: the file */
    LIST_OF (struct text) argv; /* COMMAND */
    var_list args;              /* CANARY: name -> JSON text of the value, merged from rung and profile */
    enum scope scope;
    enum warm warm;             /* NONE: one pass `once`; else `cold` then `restored` */
    uint64_t timeout_ms;        /* of one attempt on one host */
    struct text backend;        /* required; empty: this rung states none */
    bool needs_env;             /* wants the restored Python environment */
    LIST_OF (struct text) metrics; /* names that must be proved for the rung to pass */
};
extern const struct record rung_record;

struct profile {                /* launch policy: everything decided before the runtime is imported */
    struct text name;
    struct text frontend;       /* key into common/frontend's table */
    struct text backend;        /* what is requested: cpu, tpu */
    uint32_t devices_per_host;
    var_list env;               /* set before the program starts; nothing else is inherited but PATH, HOME, LANG, TZ */
};

extern const struct record profile_record;

enum cache_mode { CACHE_NONE = 0, CACHE_OFF, CACHE_SINGLE_WRITER };
extern const struct names cache_mode_names;

struct cache_plan {
    enum cache_mode mode;
    struct text root;           /* absolute; as the hosts see it */
    struct text writer;         /* host name; always set when mode is SINGLE_WRITER */
};

struct pins {
    struct text name;
    struct file_ref file;       /* requirements with hashes */
    struct file_ref setup;      /* the setup script; may be empty */
    struct text python;         /* interpreter to build from: "python3" or absolute */
    struct text env_dir;        /* where the environment is built; absolute */
};

extern const struct record pins_record;

struct limits {                 /* all in ms but where the name says otherwise */
    uint64_t join_ms;           /* from launch to every host joined */
    uint64_t suspect_ms, lost_ms;
    uint64_t orphan_ms;         /* worker: silence after which it kills its rung */
    uint64_t exit_ms;           /* worker: silence after which it ends */
    uint64_t cascade_ms;        /* grace for the peers of a failed host */
    uint64_t stop_ms;           /* SIGINT -> SIGTERM, and again to SIGKILL */
    uint64_t log_bytes;         /* kept per attempt and host */
};
extern const struct record limits_record;

/* How a failure is recognised in what a program printed. */
struct signature {
    struct text id;
    struct text text;           /* must occur in the evidence */
    enum layer layer;
    bool peer;                  /* says "somebody else failed": never a cause while anybody else confesses */
    bool transient;
    struct text next;           /* what to look at */
};
extern const struct record signature_record;

struct plan {
    struct text slice;
    enum launcher launcher;
    LIST_OF (struct plan_host) hosts;
    struct mesh mesh;
    struct profile profile;
    struct pins pins;           /* empty when the ladder needs no environment */
    struct cache_plan cache;
    struct text ladder;         /* its name */
    LIST_OF (struct rung) rungs;
    struct limits limits;
    LIST_OF (struct signature) signatures;
    struct text home;           /* SLICEUP_HOME, absolute */
    struct file_ref source;     /* the slice file */
};
extern const struct record plan_record;

int plan_rank (const struct plan *plan, struct text host);  /* or -1 */
int plan_rung (const struct plan *plan, struct text id);    /* or -1 */

#endif

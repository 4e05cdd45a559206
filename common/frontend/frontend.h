/* frontend.h - the table of frontends: who traces the program, and by which variables its cache and behaviour are set.
 * A new frontend is a row here, never an `if` elsewhere. frontend.c names the source of each constant. It starts and
 * reads nothing: the caller hands in what is installed, printed or counted. Rows are constants; any thread. */
#ifndef SLICEUP_COMMON_FRONTEND_FRONTEND_H
#define SLICEUP_COMMON_FRONTEND_FRONTEND_H

#include "common/model/msg.h"

/* OWN has no column: it writes as the WRITER does. */
enum {
    FRONTEND_ROLES = CACHE_ROLE_WRITER + 1,
    CACHE_VARS_MAX = 8,
    BASE_VARS_MAX = 2,
    SPOILERS_MAX = 4,
    ALONE_VARS_MAX = 32
};
enum { BROKEN_MAX = 3 };

struct cache_var {
    const char *name;
    const char *by_role[FRONTEND_ROLES]; /* NULL: not set for this role */
};
struct base_var {
    const char *name, *value;
};

/* Releases whose persistent cache lacks what we rely on. */
struct broken_release {
    const char *package;      /* as PEP 503 normalises package names */
    const char *from, *until; /* first broken release, and the first mended one; NULL: no bound */
    const char *backend;      /* NULL: on all of them */
    const char *what, *next;  /* "<package> <version> <what>: <next>" */
};

struct frontend {
    const char *name;
    struct cache_var cache[CACHE_VARS_MAX];
    struct base_var base[BASE_VARS_MAX];
    const char *why_base;                  /* why base variables are set: "so that the frontend <why_base>" */
    struct base_var alone[ALONE_VARS_MAX]; /* of one host of a TPU slice; value NULL: not set, not inherited */
    const char *rehearsal_pins;  /* with the CPU plugin of the stand-in; NULL: the stand-in was never shown to it */
    const char *modules;         /* that a preloaded interpreter imports; NULL: programs are executed */
    const char *requests, *hits; /* names of the counters that prove a restored run */
    /* The runtime's own counters: any above 0 says that a program was compiled or could not be loaded, whatever requests
     * and hits say. */
    const char *spoilers[SPOILERS_MAX];
    bool
        writer_is_rank_0; /* only process 0 of a group writes: then the writer of a slice-wide program must be rank 0 */
    struct broken_release broken[BROKEN_MAX];
    const char *no_gpu;        /* what a profile for GPUs should have instead; NULL: its programs may run there */
    const char *why_shapes;    /* why a profile for TPUs should give shapes, and how; NULL: it need not */
    const char *report;        /* the form of its own report, read where at_most asks for counts; NULL: it has none */
    const char *fewer_devices; /* what to do where a program used others than the profile says; NULL: nothing special */
    /* Of a first slice file: how names of its ladders and pins begin, and its profiles; tpu_profile NULL: the other, and
     * no machine; pins NULL: none. */
    const char *ladders, *tpu_profile, *cpu_profile, *pins;
};

const struct frontend *frontend_find (struct text name);   /* NULL: unknown */
uint32_t frontend_names (const char *out[], uint32_t max); /* how many there are */
/* Whose ladders begin with the longest part of this name; NULL: nobody's. */
const struct frontend *frontend_of_ladder (struct text ladder);
/* Appends the variables that put a program under `role` on the cache directory `dir`. */
void frontend_cache_env (const struct frontend *frontend, enum cache_role role, struct text dir, struct arena *arena,
                         var_list *env);
/* Appends what this frontend needs whatever the profile says (e.g. that SIGTERM still ends the program). */
void frontend_base_env (const struct frontend *frontend, struct arena *arena, var_list *env);
/* One host of a larger slice. */
struct frontend_alone {
    struct text bounds, topology, type; /* "2,2,1", "2x2", "v6e-4" */
    uint32_t chips;
};
/* Adds the variables that make the runtime of such a host take itself for a whole slice, unless `env` already sets or
 * unsets them. */
void frontend_alone_env (const struct frontend *frontend, const struct frontend_alone *alone, struct arena *arena,
                         struct scope_env *env);
/* NULL: no known fault of a shared cache with this bundle (names in any spelling). Else one sentence, without its full
 * stop: which release, what happens, what to do. A fault of the bundle, not of the cache. */
const char *frontend_cache_defect (const struct frontend *frontend, struct text backend, const var_list *bundle,
                                   struct arena *arena);
/* Not NULL: only the functions above may set this variable, for this reason: "uses the slice's cache". */
const char *frontend_why_owned (const struct frontend *frontend, struct text name);
/* Does a frontend set this variable to this value for programs that have a cache, or for those that have none? The cache's
 * directory has any value. */
bool frontend_sets_for_cache (struct text name, struct text value, bool cached);
/* Can a program be restored from a compile cache at all? */
bool frontend_has_cache (const struct frontend *frontend);

/* ---- likely mistakes ---- */

/* Variables that are valid but most likely a mistake: read by nothing any more, debugging left on, flags that frameworks
 * set to the opposite. The one table, for `check` and for hosts. Pure. Sources stand beside the rows. */

/* Why the variable is most likely a mistake, and what to do; NULL: no known problem. `value` NULL: inherited, not known
 * yet. A value that switches something off is fine, and so is debugging in a profile with that word in its name. */
const char *launch_lint_variable (const struct profile *profile, struct text name, const struct text *value,
                                  struct arena *arena);
/* Why and how the profile should give shapes; NULL: it need not. */
const char *launch_lint_shapes (const struct profile *profile);

/* ---- xla_metrics.c ---- */

/* The metrics reports of torch_xla, read from what a program printed or left in a file.
 *
 * A text may hold many reports, other lines among them, prefixes of a launcher, and a cut end. Counters only grow, so
 * the last whole report of each process counts; a cut one is ignored. It knows no files and no processes, and judges
 * nothing. Results borrow from the text. Any thread. Layout: pytorch/xla:torch_xla/csrc/runtime/metrics.cpp,
 * torch_xla/debug/metrics_saver.py; docs/guide/torch_xla.md. */

/* ---- xla value ---- */

/* The numbers of a torch_xla report: times, sizes and plain values. Pure; any thread.
 * Formats: pytorch/xla:torch_xla/csrc/runtime/metrics.cpp, MetricFnTime, MetricFnBytes, MetricFnValue. */

enum xla_unit { XLA_UNIT_NONE = 0, XLA_UNIT_TIME, XLA_UNIT_BYTES, XLA_UNIT_PLAIN };

/* "04s589ms590.974us" is a time in ns, "4.09GB" a size in bytes (powers of 1024; as exact as two decimals are), "51.00"
 * a plain number. False: the whole text is none of them. */
bool xla_value_read (struct text text, enum xla_unit *unit, double *value);

/* ---- xla metrics ---- */

/* The only bounds: names in a report, processes told apart in one text, and lengths of a name and of a prefix. */
enum { XLA_ROWS_MAX = 1024, XLA_STREAMS_MAX = 16, XLA_NAME_MAX_BYTES = WORD_MAX_BYTES, XLA_PREFIX_MAX_BYTES = 32 };

/* A metric has samples and their sum, a counter its value. */
struct xla_report_row {
    struct text name;
    bool is_metric;
    uint64_t count;     /* samples, or the counter's value */
    enum xla_unit unit; /* METRIC: of `total` */
    double total;       /* METRIC: sum of the samples; time in ns */
};

struct xla_metrics {
    struct xla_report_row *rows; /* at most XLA_ROWS_MAX, in the order in which they came */
    uint32_t n;
    uint32_t reports; /* whole reports that were read; 0: nothing is known */
    uint32_t processes;
    bool is_partial;  /* a process's report may lack rows (a cut beginning, half or line); an absent row is not zero */
    bool is_cut;      /* the last report of a process was not whole: the one before it stands */
    bool was_reset;   /* between two whole reports the program cleared its counters, or another began */
    uint32_t dropped; /* rows or processes beyond the bounds, and invalid names */
};

/* `text` may be a piece. starts_late: its beginning is missing, so lines up to the first outside a report are skipped.
 * ends_short: its end is missing, so a report at the very end is not whole. */
struct xla_text_piece {
    struct text text;
    bool starts_late, ends_short;
};

void xla_metrics_read (const struct xla_text_piece *text, struct arena *arena, struct xla_metrics *out);
void xla_metrics_add_process (struct xla_metrics *to, const struct xla_metrics *from, struct arena *arena);
const struct xla_report_row *xla_metrics_find (const struct xla_metrics *metrics, bool is_metric, const char *name);

/* The counters of a result, at most `max`: first those of the canary protocol (compile_requests, cache_hits,
 * cache_misses, executions, compile_ms, retrieval_ms, steps, fallbacks, reads), then those that a proof uses, then CPU
 * fallbacks, then the rest by name; for metrics the number of samples. *left_out: how many did not fit. No whole report
 * gives nothing; a partial one gives no counter of the protocol that an absent row would change. */
void xla_metrics_to_counters (const struct xla_metrics *metrics, uint32_t max, struct arena *arena, number_list *out,
                              uint32_t *left_out);

#endif

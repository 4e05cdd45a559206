/* conf.h - YAML files -> one validated plan. Every mistake in one go, each as file:line:column: what, what was
 * expected. */
#ifndef SLICEUP_COMMON_CONF_CONF_H
#define SLICEUP_COMMON_CONF_CONF_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/model/plan.h"

struct conf_problem {
    const char *file;      /* or what of the command line or the environment it is */
    uint32_t line, column; /* 0: it is not in a file */
    const char *text;
    bool warning;
};
/* "slice.yaml:3:1: warning: text" */
void conf_print_problem (const struct conf_problem *problem, struct buf *out);
struct conf_report {
    struct conf_problem *items;
    uint32_t n;
}; /* in the plan's arena */

/* What ssh says of the way to the host `index`, as ssh_answers asked for it; borrowed until the call returns. */
typedef void ssh_answer_fn (void *owner, uint32_t index, struct text lines);

struct conf_options {
    const char *slice_path; /* path of the slice file, as the user gave it */
    const char *slice_text; /* what would stand in it: then `slice_path` is only a name for it. NULL: read the file */
    const char *share_dir;  /* where the shipped configs/ and canaries are */
    const char *program;    /* path of this executable, beside which its worker lies; NULL: not known */
    const char *home;       /* SLICEUP_HOME, absolute */
    const char *home_named; /* SLICEUP_HOME as the user gave it; NULL: it was not set */
    const char *profile;    /* name or path that replaces the slice's; NULL: as the slice says. Same for the next two */
    const char *ladder;
    const char *pins;
    const char *wheels; /* folder of wheels that travel to the hosts; NULL: as the pin set says */
    const char *hosts;  /* host set: only these hosts of the slice; NULL: all */
    const char *exclude;
    const char *leave_out[LEFT_OUT_RUNGS_MAX]; /* ids of rungs; the first NULL ends them */
    const char *only[LEFT_OUT_RUNGS_MAX];      /* the same: of the ladder only these, and what they need */
    const char *from;                          /* id of the first rung that is climbed; NULL: the ladder's first */
    uint32_t min_hosts;                        /* these three: struct climb_policy */
    bool keep_going, fail_fast;
    const char *rehearsal; /* path of the stand-in for libtpu: the plan is that of a rehearsal; NULL: of a run */
    bool rehearse_all;     /* with the rungs that say that they cannot be rehearsed */
    const char *wrong[WRONG_VARIABLES_MAX]; /* of it: "HOST:NAME=VALUE", "HOST:NAME"; the first NULL ends them */
    const char *user_home;                  /* absolute home folder of the user, for "~/"; NULL: not known */
    const char *user_name;                  /* of the same; NULL: not known */
    /* Appends the host set that the source `word` (slurm, tpu) has on this machine; NULL: no source can be asked. */
    int (*host_source) (const char *word, struct buf *expression, struct err *err);
    /* Gives `take` what `ssh -G -F file` prints for each address, with the user and port of its route; -1: of one ssh
     * says no, or nothing in time. NULL: ssh is not asked, and ~/.ssh/config counts for nothing. */
    int (*ssh_answers) (const char *file, const struct ssh_route *routes, uint32_t n, ssh_answer_fn *take, void *owner,
                        struct err *err);
    bool starts_nothing; /* files of this machine that only the start of workers needs may be missing */
    var_list *groups;    /* receives the slice file's groups (name, host set); may be NULL */
};
/* 0: `plan` is complete and valid (warnings may stand in `report`). -1: problems, all of them, are in `report`, sorted
 * by file and position; `err` holds the first. Everything is allocated in `arena`. */
int conf_load (const struct conf_options *options, struct arena *arena, struct plan *plan, struct conf_report *report,
               struct err *err);

/* What is known of a slice of accelerators: its type ("v6e-16") in two parts, and the grid of its chips. */
struct slice_shape {
    struct text accelerator, topology; /* "v6e"; empty: not known */
    uint32_t number, hosts;            /* 0: not known; at least 1 */
};
/* The row of configs/machines/tpu.yaml of which `hosts` hosts are such a slice; without one *found stays as it is. */
int conf_find_machine (const char *share_dir, const struct slice_shape *shape, struct arena *arena,
                       struct machine_type *found, struct err *err);

/* The rules of a file of configs/drift, by name or path; `arena` keeps them. Problems as conf_load reports them. */
struct drift_rules {
    struct drift_rule *items;
    uint32_t n;
};
int conf_load_drift (const char *share_dir, const char *reference, struct arena *arena, struct drift_rules *rules,
                     struct conf_report *report, struct err *err);

#endif

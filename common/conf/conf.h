/* conf.h - YAML files -> one validated plan. All mistakes are reported together, each as file:line:column: what is
 * wrong, what was expected. */
#ifndef SLICEUP_COMMON_CONF_CONF_H
#define SLICEUP_COMMON_CONF_CONF_H

#include "common/model/plan.h"

struct conf_problem {
    const char *file;      /* or the option or variable that it comes from */
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
    struct text slice_text; /* its text; `slice_path` is then only a name. No `ptr`: read the file */
    const char *share_dir;  /* where the shipped configs/ and canaries are */
    const char *program;    /* path of this executable, beside which its worker lies; NULL: not known */
    const char *home;       /* SLICEUP_HOME, absolute */
    const char *home_named; /* SLICEUP_HOME as the user gave it; NULL: it was not set */
    const char *profile;    /* name or path that replaces the slice's; NULL: as the slice says. Same for the next two */
    const char *ladder;
    bool
        quick; /* NAME-quick in place of the slice's ladder NAME or NAME-anything, where it is shipped; not of `ladder` */
    const char *pins;
    const char *wheels; /* folder of wheels that travel to the hosts; NULL: as the pin set says */
    const char *hosts;  /* host set: only these hosts of the slice; NULL: all */
    const char *exclude;
    const char *leave_out[LEFT_OUT_RUNGS_MAX]; /* ids of rungs; the first NULL ends them */
    const char *only[LEFT_OUT_RUNGS_MAX];      /* the same: climb only these rungs, and those they need */
    const char *from;                          /* id of the first rung that is climbed; NULL: the ladder's first */
    const char *args[RUNG_ARGS_GIVEN_MAX]; /* "RUNG.NAME=VALUE" in place of a rung's own; the first NULL ends them */
    uint32_t min_hosts;                    /* these three: struct climb_policy */
    bool keep_going, fail_fast;
    const char *rehearsal; /* path of the stand-in for libtpu, for the plan of a rehearsal; NULL: of a run */
    bool rehearse_all;     /* also rungs that declare that they cannot be rehearsed */
    const char *wrong[WRONG_VARIABLES_MAX]; /* its faults: "HOST:NAME=VALUE", "HOST:NAME"; the first NULL ends them */
    const char *user_home;                  /* absolute home folder of the user, for "~/"; NULL: not known */
    const char *user_name;                  /* of the same; NULL: not known */
    /* Appends the host set that the source `word` (slurm, tpu) gives on this machine; NULL: sources cannot be asked. */
    int (*host_source) (const char *word, struct buf *expression, struct err *err);
    /* Appends what "@suspect" stands for where no group has that name: hosts that failed in runs of this home. NULL: none. */
    int (*suspects) (const char *home, struct buf *expression, struct err *err);
    /* Gives `take` what `ssh -G -F file` prints for each address, with the user and port of its route; -1: ssh failed
     * for one, or was too slow. NULL: ssh is not asked, and ~/.ssh/config is ignored. */
    int (*ssh_answers) (const char *file, const struct ssh_route *routes, uint32_t n, ssh_answer_fn *take, void *owner,
                        struct err *err);
    /* Appends a folder, without what git ignores, as one archive of tar. NULL: it is taken for empty. */
    int (*pack_folder) (const char *folder, struct buf *out, struct err *err);
    var_list *packs;     /* receives the archives of folders (sha256, bytes); may be NULL */
    bool starts_nothing; /* local files needed only to start workers may be missing */
};
/* 0: `plan` is complete and valid (`report` may hold warnings). -1: `report` holds all problems, sorted by file and
 * position; `err` holds the first. Everything is allocated in `arena`. */
int conf_load (const struct conf_options *options, struct arena *arena, struct plan *plan, struct conf_report *report,
               struct err *err);

/* The known shape of a slice of accelerators: its type ("v6e-16") in two parts, and the grid of its chips. */
struct slice_shape {
    struct text accelerator, topology; /* "v6e"; empty: not known */
    uint32_t number, hosts;            /* 0: not known; at least 1 */
};
/* Finds the row of configs/machines/tpu.yaml whose `hosts` hosts make such a slice; if none, *found is unchanged. */
int conf_find_machine (const char *share_dir, const struct slice_shape *shape, struct arena *arena,
                       struct machine_type *found, struct err *err);
/* The grid of the chips of one such host: bounds of "2,2,1" in two dimensions are "2x2". */
struct text machine_host_topology (const struct machine_type *machine, struct arena *arena);

/* The rules of a file of configs/drift, by name or path; `arena` keeps them. Problems as conf_load reports them. */
struct drift_rules {
    struct drift_rule *items;
    uint32_t n;
};
int conf_load_drift (const char *share_dir, const char *reference, struct arena *arena, struct drift_rules *rules,
                     struct conf_report *report, struct err *err);

#endif

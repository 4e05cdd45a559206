/* hosts.h - what `sliceup hosts` is made of: its operands, and how a set of hosts is printed. */
#ifndef SLICEUP_COORDINATOR_CLI_HOSTS_H
#define SLICEUP_COORDINATOR_CLI_HOSTS_H

#include "common/model/hostset.h"
#include "common/model/plan.h"
#include "coordinator/cli/arguments.h"

/* host_operand.c - one operand of `sliceup hosts`: words of the command line, a file of sets, or what this machine
 * says.
 * Reads files and standard input, bounded; nothing is kept. Errors: of hostset.h, host_source_io.h and read(2). */
enum host_from { HOST_FROM_WORDS, HOST_FROM_FILE, HOST_FROM_SOURCE };
struct host_operand {
    enum hostset_step step;
    enum host_from from;
    const char *value; /* an expression, which may have lines; a path, "-": standard input; slurm, tpu, env */
};

enum { HOST_INPUT_MAX_BYTES = 16 << 20 };

/* set = set step operand; `rules` are those of the set. */
int host_operand_apply_to_set (const struct host_operand *operand, const struct hostset_rules *rules,
                               struct hostset *set, struct err *err);
/* All of a file, or of standard input for "-", appended to `out`, whose bound holds. */
int host_operand_read_file (const char *path, struct buf *out, struct err *err);

/* host_operand.c - a set of hosts on standard output: folded, one by one, counted, in parts, as text or JSON.
 * Order and parts are those of ClusterShell's nodeset. */
enum host_form { HOST_FORM_FOLD, HOST_FORM_EXPAND, HOST_FORM_COUNT };
struct hostset_output {
    enum host_form form;
    uint32_t parts;             /* at most so many; 0: the whole */
    const char *separator;      /* between names, in HOST_FORM_EXPAND */
    const char *part_separator; /* between parts, as text */
    bool json;
    bool compact; /* JSON on one line */
};

/* Appends the answer, and a newline. Puts `names` into order and drops repeated ones. */
void hostset_output_format_set (const struct hostset_output *output, struct name_list *names, struct buf *out);
/* What stands in place of an answer: "error: ...", or a JSON object with `error`. */
void hostset_output_format_error (const struct hostset_output *output, const struct err *err, struct buf *out);

/* Groups that "@name" stands for, and what "@*" does; both may lack. For hostset_group_lookup. */
struct host_groups {
    const var_list *named;
    struct text everything;
};
bool host_groups_find (const void *owner, struct text name, struct text *expression);

/* ---- --hosts and --exclude: which hosts of a run a command is about ---- */

struct host_filter {
    const char *hosts, *exclude;
}; /* as given; NULL: all of them, none of them */

struct host_filter host_filter_of (const struct cli_arguments *arguments);
bool host_filter_is_default (const struct host_filter *filter);
/* chosen[i]: is `all[i]` meant? That none is, is an error, and so is a set that cannot be read. `plan` has the groups
 * that "@name" stands for; NULL: nobody knows them. */
int host_filter_resolve (const struct host_filter *filter, const struct name_list *all, const struct plan *plan,
                         bool *chosen, struct err *err);

#endif

/* environ.h - makes the environment variables of a program: a fixed allow-list, and the variables that the RUN sets.
 * Later settings of a name override earlier ones. Everything lives in the arena given. */
#ifndef SLICEUP_WORKER_ATTEMPT_ENVIRON_H
#define SLICEUP_WORKER_ATTEMPT_ENVIRON_H

#include "common/model/plan.h"

/* Enough for a profile with what it lets inherit, a frontend, and our own few. */
enum { ENVIRON_MAX = 4 * VARS_MAX };

struct environ_list {
    var_list vars;
    struct arena *arena;
};

/* PATH (with a default), LANG, TZ and TMPDIR of this process. */
void environ_begin (struct environ_list *list, struct arena *arena);
/* Adds variables of this process that the profile lets programs inherit, if set. */
void environ_inherit (struct environ_list *list, const text_list *names);
/* Adds variables of this process for pip and its TLS: PIP_*, proxies, certificates, HOME. */
void environ_add_pip_vars (struct environ_list *list);
/* Only for the builtin `facts`: adds the variables that control a runtime. */
void environ_add_runtime_vars (struct environ_list *list);
void environ_set (struct environ_list *list, struct text name, struct text value);
/* -1: an invalid name; then nothing is set. */
int environ_set_all (struct environ_list *list, const var_list *vars, struct err *err);
struct text environ_get (const struct environ_list *list, const char *name); /* empty: not set */
char **environ_block (const struct environ_list *list);                      /* for execve */
/* `name` as a path: itself if it holds a '/', else the first executable file of that name in the list's PATH. */
int environ_find_program (const struct environ_list *list, struct text name, struct text *path, struct err *err);

#endif

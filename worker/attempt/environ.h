/* environ.h - makes the environment variables of a program: a fixed allow-list, and what the order sets. The later
 * setting of a name wins. Everything lives in the arena given. */
#ifndef SLICEUP_WORKER_ATTEMPT_ENVIRON_H
#define SLICEUP_WORKER_ATTEMPT_ENVIRON_H

#include "common/model/plan.h"

/* Bounded by what can be ordered: a profile and what it lets inherit, a frontend, and our own few. */
enum { ENVIRON_MAX = 4 * VARS_MAX };

struct environ_list {
    var_list vars;
    struct arena *arena;
};

/* PATH (with a default), LANG, TZ and TMPDIR of this process. */
void environ_begin (struct environ_list *list, struct arena *arena);
/* What the profile lets programs inherit, where this process has it. */
void environ_inherit (struct environ_list *list, const text_list *names);
/* What pip and its TLS need of this process: PIP_*, proxies, certificates, HOME. */
void environ_add_pip_vars (struct environ_list *list);
/* For the builtin `facts` alone: the variables that decide what a runtime does. */
void environ_add_runtime_vars (struct environ_list *list);
void environ_set (struct environ_list *list, struct text name, struct text value);
/* -1: one of the names is none; nothing was set then. */
int environ_set_all (struct environ_list *list, const var_list *vars, struct err *err);
struct text environ_get (const struct environ_list *list, const char *name); /* empty: not set */
char **environ_block (const struct environ_list *list);                      /* for execve */
/* `name` as a path: itself when it holds a '/', else the first executable file of that name along PATH of the list. */
int environ_find_program (const struct environ_list *list, struct text name, struct text *path, struct err *err);

#endif

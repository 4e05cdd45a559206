/* confine_args.h - writes and reads the command line of the process that sets up a program's sandbox.
 *
 *   sliceup-worker confine --root R --bundle B --scratch S --least LEVEL [--role reader|writer|own] [--place P]
 *       [--generation G] [--base D] [--writable W]... [--protected P]... [--hidden H]... [--directory D] [--overlay]
 *       [--most LEVEL] [--landlock-abi N] [--report FD] [-- PROGRAM ARGV0 ARGV...]
 *
 * Without a program it only reports; without --report it prints the report. --most and --landlock-abi pretend that the
 * host can do less, to find out why a level is not reached. The command line holds no secret. Paths are absolute and
 * without "..". It changes nothing and borrows the words of its command line. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_ARGS_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_ARGS_H

#include "common/base/err.h"
#include "common/model/msg.h"

enum { CONFINE_MORE_MAX = 64, CONFINE_PROTECTED_MAX = PROTECTED_MAX + CONFINE_MORE_MAX };
enum { CONFINE_HIDDEN_MAX = HIDDEN_MAX + 2 };

/* The dynamic loader's variables (ld.so(8)) would make ours another program, too: they travel under other names. */
#define CONFINE_LOADER_PREFIX "LD_"
#define CONFINE_KEPT_PREFIX "SLICEUP_KEPT_"

/* What a worker protects besides what it is told to (protected_paths.h). */
struct protected_paths {
    const char *protected[CONFINE_MORE_MAX];
    uint32_t n;
    bool overflow;
};

struct confine_args {
    const char *root;   /* of the whole cache: nothing in it may be written but the own generation. Without a role
                         * the program has no part in it, and there is no place and no generation */
    const char *bundle; /* <root>/<frontend>/<bundle>: where a reader looks, a writer makes its generation */
    enum cache_role role;
    const char *scratch;    /* of the attempt: always writable */
    const char *place;      /* <worker directory>/cache; `generation` in it is the constant path; NULL: none */
    const char *generation; /* NULL: none, or what the link `generation` in `place` leads to */
    const char *base;       /* WRITER: a generation it must not change; NULL: there is none */
    const char *writable[WRITABLE_MAX];
    const char *protected[CONFINE_PROTECTED_MAX]; /* what sliceup runs, reads or trusts, where it is there */
    const char *hidden[CONFINE_HIDDEN_MAX]; /* files and folders that are kept out of sight, where there are some */
    uint32_t writable_n, protected_n, hidden_n;
    const char *directory; /* of the worker, which stays in sight; NULL: that of `place`, or none */
    bool overlay;
    enum enforcement least, most;
    int landlock_abi;     /* at most; more than any: all that there is */
    int report_fd;        /* -1: standard output */
    char *const *program; /* its path, then its argv; NULL: none */
};

/* argv[0] is "confine". ERR_USAGE. */
int confine_args_read (int argc, char **argv, struct confine_args *out, struct err *err);
/* In the stage, just before the program is executed: gives those variables their names back. */
void confine_args_restore_environ (char **envp);

#endif

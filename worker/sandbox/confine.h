/* confine.h - `sliceup-worker confine`: sets up the sandbox of a program, then executes the program in it.
 *
 * It drops the right to write the cache at the best level that this host allows, tries to write the cache in every way
 * from inside (write_probe.c), and reports the result (confine_sandbox.h). It ends if the level is too low. The report
 * is true for the program, because that is the same process. docs/spec/cache.md, Enforcement. */
#ifndef SLICEUP_WORKER_SANDBOX_CONFINE_H
#define SLICEUP_WORKER_SANDBOX_CONFINE_H

#include "common/model/msg.h"

/* argv[0] is "confine"; the rest is its command line. Exit status if it does not become the program: 0 reported, 1 a
 * lower level than required, 2 usage, 3 it failed. */
int confine_main (int argc, char **argv);
/* The same in a process that is already its program: comes back where confine_main executes it, else ends likewise. */
void confine_enter (int argc, char **argv);

/* ---- its command line ---- */

/* Writes and reads the command line of the process that sets up a program's sandbox.
 *
 *   sliceup-worker confine --root R --bundle B --scratch S --least LEVEL [--role reader|writer|own] [--place P]
 *       [--generation G] [--base D] [--writable W]... [--protected P]... [--hidden H]... [--directory D] [--overlay]
 *       [--most LEVEL] [--landlock-abi N] [--report FD] [-- PROGRAM ARGV0 ARGV...]
 *
 * Without a program it only reports; without --report it prints the report. --most and --landlock-abi pretend that the
 * host can do less, to find out why a level is not reached. The command line holds no secret. Paths are absolute and
 * without "..". It changes nothing and borrows the words of its command line. */

enum { CONFINE_MORE_MAX = 64, CONFINE_PROTECTED_MAX = PROTECTED_MAX + CONFINE_MORE_MAX };
enum { CONFINE_HIDDEN_MAX = HIDDEN_MAX + 2 };

/* The dynamic loader's variables (ld.so(8)) would affect our own program, so they are passed under other names. */
#define CONFINE_LOADER_PREFIX "LD_"
#define CONFINE_KEPT_PREFIX "SLICEUP_KEPT_"

/* Paths that a worker protects besides the RUN's (protected_paths.h). */
struct protected_paths {
    const char *protected[CONFINE_MORE_MAX];
    uint32_t n;
    bool overflow;
};

struct confine_args {
    const char *root;   /* of the whole cache, in which only the own generation may be written. Without a role the
                         * program does not use it, and there is no place and no generation */
    const char *bundle; /* <root>/<frontend>/<bundle>: where generations are read and made */
    enum cache_role role;
    const char *scratch;    /* of the attempt: always writable */
    const char *place;      /* <worker directory>/cache; `generation` in it is the constant path; NULL: none */
    const char *generation; /* NULL: none, or the target of the link `generation` in `place` */
    const char *base;       /* WRITER: a generation it must not change; NULL: none */
    const char *writable[WRITABLE_MAX];
    const char *protected[CONFINE_PROTECTED_MAX]; /* what sliceup runs, reads or trusts, if it exists */
    const char *hidden[CONFINE_HIDDEN_MAX];       /* files and folders to hide, if they exist */
    uint32_t writable_n, protected_n, hidden_n;
    const char *directory; /* of the worker, which stays visible; NULL: that of `place`, or none */
    bool overlay;
    enum enforcement least, most;
    int landlock_abi;     /* the highest to use; a huge number: no limit */
    int report_fd;        /* -1: standard output */
    char *const *program; /* its path, then its argv; NULL: none */
};

/* argv[0] is "confine". ERR_USAGE. */
int confine_args_read (int argc, char **argv, struct confine_args *out, struct err *err);
/* Call it just before the program is executed: restores the names of those variables. */
void confine_args_restore_environ (char **envp);

/* ---- code_pages.c ---- */

/* Frees the pages of programs and libraries that were needed only to start.
 *
 * A worker waits most of its life, and then uses a small part of 7 MiB of libraries. It frees only code and constants,
 * which the kernel maps again from its file cache: that costs one short fault for 64 KiB. Pages that this process wrote
 * stay. Any thread, at any time; it cannot fail. */

void code_pages_let_go (void);

#endif

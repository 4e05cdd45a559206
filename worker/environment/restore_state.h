/* restore_state.h - what the files of the builtin `restore` share, and nobody else. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_RESTORE_STATE_H
#define SLICEUP_WORKER_ENVIRONMENT_RESTORE_STATE_H

#include "worker/environment/installed.h"
#include "worker/protocol/protocol_writer.h"

struct restore {
    struct protocol_writer *writer;
    struct arena arena;
    /* the order */
    const char *pins_path, *pins_sha256, *env_dir, *python; /* pins_sha256 NULL: by hand, whatever it is */
    const char *setup, *setup_sha256;                       /* NULL: there is no script, or nothing is to be changed */
    const char *wheels;                                     /* folder that packages come from; NULL: from an index */
    bool only_check;                                        /* nothing is built */
    /* found out */
    struct buf pins_bytes;
    struct digest pins_digest;
    struct requirements pins;
    char path[PATH_MAX_BYTES + 1], site[PATH_MAX_BYTES + 64], marker[PATH_MAX_BYTES + 32];
    char version[PYTHON_VERSION_BYTES]; /* of the interpreter to build from; then of the environment's own */
    struct installed installed;         /* without items: not looked at yet */
    struct installed_files files;
    bool files_read;
    struct text differences; /* more than an error's text may hold */
    struct text wrong_files; /* of these, those of files */
    int lock;
    bool built; /* by us, now */
};

/* What is there and how it came about. */
void restore_report_success (struct restore *restore);
/* What is there although it is not what it should be: what differs between hosts is often why. */
void restore_report_contents (struct restore *restore);

/* Builds an environment from a pin set, in its final place.
 *
 * A venv has its own path written into it, so it cannot be built beside and renamed. Instead a marker in the folder
 * says that it is being built, until the caller has verified it and marks it complete. An unfinished folder is renamed
 * and removed. The caller holds the environment's lock. Blocks; one thread. */
struct build_request {
    const char *path;   /* of the environment */
    const char *python; /* to build from */
    struct text pins;   /* the pin file's bytes, verified by the caller */
    const char *wheels; /* folder that all packages come from; NULL: from where the pin file and pip's settings say */
    int lock_fd;        /* the installer keeps it open, so that nobody builds over a build that outlived us; -1: none */
};

/* Removes what is left of an unfinished build at `path`; nothing there is fine. A folder that no build of ours began is
 * refused: it may be somebody's. */
int build_remove_unfinished (const struct build_request *build, struct err *err);
/* venv, then the pins. On error `*owner` says whose affair it is: BUNDLE (a pin cannot be had, another hash), PLATFORM
 * (no connection to the package index), HOST (disk, interpreter without venv, took too long). */
int build_run (const struct build_request *build, enum owner *owner, struct err *err);

/* Prepares a host before its environment is used, at every restore: nobody can see whether what a script did is still so.
 * Its output goes to standard error. Blocks, for SETUP_LIMIT_MS at most. 0: it ended with status 0. Else `*owner`
 * says whose affair it is: SLICEUP (the file cannot be read, or is not the one that was planned), HOST (it failed, or took
 * too long); the error has its status and last lines.
 * `*told`: how it ended, in `arena`; empty: it did not come to an end. */
int setup_script_run (const char *path, const char *sha256, struct arena *arena, struct text *told, enum owner *owner,
                      struct err *err);

#endif

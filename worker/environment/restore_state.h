/* restore_state.h - what the files of the builtin `restore` share, and nobody else. */
#ifndef SLICEUP_WORKER_ENVIRONMENT_RESTORE_STATE_H
#define SLICEUP_WORKER_ENVIRONMENT_RESTORE_STATE_H

#include "common/base/digest.h"
#include "common/model/plan.h"
#include "worker/environment/environment.h"
#include "worker/environment/installed.h"
#include "worker/environment/installed_files.h"
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

#endif

/* safe_path.h - checks that no untrusted user can replace or change the file at a path.
 *
 * The way is walked from / as the kernel resolves it, links included. Every folder on it belongs to root, to this
 * process's user or to somebody trusted, and nobody else may write to it: no group but the owner's private one, as
 * /etc/passwd and /etc/group have it, and not all the world, unless it is sticky (/tmp), where nobody can take away
 * what belongs to another. What lies at the end belongs to one of these too, and nobody else may write to it, sticky or
 * not. So the file that was checked is the file that is opened later: only the trusted can change it in between.
 *
 * It looks only at owners and modes. An ACL of POSIX that lets somebody write shows in the mode of its group (acl(5));
 * one of NFSv4 or of a storage service shows as far as its server tells. In a user namespace the owner of / cannot be
 * told from other users who are not mapped there, and counts as root on the way. Any thread. */
#ifndef SLICEUP_COMMON_IO_SAFE_PATH_H
#define SLICEUP_COMMON_IO_SAFE_PATH_H

#include "common/base/err.h"
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct safe_path_rule {
    const char *what;     /* begins the sentence: "cache root" */
    const char *instead;  /* other advice than chown and chmod: "name another cache.root" */
    const char *trust;    /* where trusted uids are listed: "cache: {trust: [...]}"; NULL: nowhere */
    const uint32_t *uids; /* trusted ones */
    uint32_t uids_n;
    bool own; /* the end belongs to this process's user, and to nobody else; it is no link */
};

/* 0: no untrusted user can change what exists of it. ERR_REFUSED: one can; names path, owner, mode and what to do. */
int safe_path_check (const char *path, const struct safe_path_rule *rule, struct err *err);
/* Checks only the end, from its stat; `path` is for the sentence. */
int safe_path_check_end (const char *path, const struct stat *at, const struct safe_path_rule *rule, struct err *err);

enum { PATH_LINKS_MAX = 40 }; /* as the kernel's own, path_resolution(7) */

/* -1 stops. `link` lives until it returns. */
typedef int path_link_fn (void *owner, const char *link, struct err *err);
/* Calls `fn` for each symbolic link on the way and at the end, as the kernel resolves them, with its real folder and its
 * name: a user who may replace such a link controls the path's target. Checks no permissions. A relative path starts at
 * this process's folder. A missing or unreachable part ends the walk: 0. ERR_LIMIT: more than PATH_LINKS_MAX links, or a
 * path that is too long. */
int path_links_each (const char *path, path_link_fn *fn, void *owner, struct err *err);

#endif

/* hostset.h - sets of host names as people write them, in the syntax of ClusterShell's nodeset: "r[1-4]n[01-16]!r2n07".
 *
 *   name      [A-Za-z0-9._-], not '-' or '.' first, at most HOST_NAME_MAX_BYTES long, and 63 between two dots
 *   brackets  numbers and ranges in place of digits, any number of them in a name: n[1-4,9], n[01-16], n[0-30/2]
 *   A,B A!B A&B A^B   union, difference, intersection, one of both; from left to right, no precedence
 *   @group    the group of that name, if there are groups; @* all; @rack[1-3] three groups
 *   user@A    the same hosts; who enters them is told beside the names, and must be one
 *   fd77::10  or [fd77::10]: the host ip-fd77--10, since names are names of files as well
 *
 * Blanks may stand around operators and numbers. What nodeset itself misreads is refused with its place: n[1-4-6]
 * (taken for -4 to 6), n1[8-11] (taken for n[18-111]), "a b" (taken for one name). Knows no file, environment or
 * configuration: the caller hands groups in. Errors: ERR_PARSE with the place, ERR_LIMIT before anything is allocated
 * for too many names. Not thread-safe. */
#ifndef SLICEUP_COMMON_MODEL_HOSTSET_H
#define SLICEUP_COMMON_MODEL_HOSTSET_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include <stdbool.h>

enum {
    HOST_NAME_MAX_BYTES = 253, /* RFC 1123: of a whole name, and of what stands between two dots */
    HOST_LABEL_MAX_BYTES = 63,
    HOSTS_MAX = 16384, /* of a slice */
};

bool host_name_valid (struct text name);
/* The name that stands for an IPv6 address; false: it is none. And back; empty: it stands for none. */
enum { HOST_IPV6_BYTES = 64 };
bool host_ipv6_name (struct text address, char name[HOST_IPV6_BYTES]);
struct text host_ipv6_address (struct text name, struct arena *arena);
/* The name, or of a long one its beginning and a digest in `out`: with an ending it fits a file's name (NAME_MAX). */
enum { HOST_FILE_BYTES = 240 };
struct text host_file_name (struct text name, char out[HOST_FILE_BYTES]);
struct name_list {
    struct text *items;
    uint32_t n;
    struct text *users; /* of each; empty: not said. NULL: of a list that has none */
};
bool name_list_has (const struct name_list *names, struct text name);

struct hostset_group_lookup {
    /* The expression of group @name ("*": all), which may name groups itself; false: no such group. */
    bool (*find) (const void *owner, struct text name, struct text *expression);
    const void *owner;
};
struct hostset_rules {
    uint32_t max; /* names in the set, and in any part of it */
    bool once;    /* naming a host twice is an error; else naming it again changes nothing */
    const struct hostset_group_lookup *groups; /* NULL: there are none; must outlive the set */
};
/* The same by the caller's rules. */
int hostset_read (struct text expression, const struct hostset_rules *rules, struct arena *arena,
                  struct name_list *names, struct err *err);

/* A set made step by step; each step's expression is evaluated by itself, as if in parentheses. */
enum hostset_step { HOSTSET_ADD = ',', HOSTSET_TAKE = '!', HOSTSET_KEEP = '&', HOSTSET_EITHER = '^' };
struct hostset;
struct hostset *hostset_create (const struct hostset_rules *rules);
void hostset_destroy (struct hostset *set); /* NULL is fine */
/* On failure the set is unchanged. */
int hostset_apply_expression (struct hostset *set, enum hostset_step step, struct text expression, struct err *err);
/* The same with a finished set. Errors have no place here. */
int hostset_apply_set (struct hostset *set, enum hostset_step step, const struct hostset *other, struct err *err);
struct name_list hostset_names (const struct hostset *set, struct arena *arena);

/* Appends the folded form, as nodeset folds: rack[1-4]n[01-16]. Any order of `names` gives the same text, repeated
 * names count once, and expand (fold (x)) = x. Numbers of more than 18 digits are not folded. */
void hostset_fold (const struct text *names, uint32_t n, struct buf *out);
/* The same as a text in `arena`, cut to `max_bytes` as text_clip cuts; UINT32_MAX: whole, up to 1 MiB. */
struct text hostset_folded (const struct text *names, uint32_t n, uint32_t max_bytes, struct arena *arena);
/* Appends the same, made safe to show and cut to `columns`, as buf_escaped does; 0: whole. */
void hostset_fold_escaped (const struct text *names, uint32_t n, uint32_t columns, struct buf *out);
/* Sorts `names` as nodeset does, drops repeated ones, returns how many remain. */
uint32_t hostset_sort (struct text *names, uint32_t n);

#endif

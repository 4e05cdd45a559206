/* hostset.h - names folded for people: "v6e[0-3,7]", and unfolded again.
 *
 * Grammar of this version: a comma list of items; an item is a name, or one name with one bracket group of numbers and
 * ranges ("rack[01-16]n" keeps zero padding). A name has [A-Za-z0-9._-], does not begin with '-' or '.' and is at most
 * HOST_NAME_MAX_BYTES long. */
#ifndef SLICEUP_MODEL_HOSTSET_H
#define SLICEUP_MODEL_HOSTSET_H

#include <stdbool.h>
#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/model/record.h"

enum { HOST_NAME_MAX_BYTES = 63, HOSTS_MAX = 4096 };

bool host_name_valid (struct text name);
/* Appends the names of `expression`, in its order, to `names` (allocated in `arena`). Duplicates, an empty set, more
 * than HOSTS_MAX names and every departure from the grammar are errors that show the place. */
struct name_list { struct text *items; uint32_t n; };
int hostset_expand (struct text expression, struct arena *arena, struct name_list *names, struct err *err);
/* Appends the folded form: names that differ in one number only share a bracket, in ascending order; the rest are
 * listed alone, in natural order. Any order of `names` gives the same text; expand (fold (x)) = x as a set. */
void hostset_fold (const struct text *names, uint32_t n, struct buf *out);
bool hostset_has (const struct name_list *names, struct text name);

#endif

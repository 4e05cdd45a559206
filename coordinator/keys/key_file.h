/* key_file.h - files that hold one key: a pair, of a slice or of a run's monitors on this machine; or who is admitted.
 *
 * A pair is a czmq certificate of mode 0600, whole at once. It refuses, unread, a file that others may use, of another owner, or behind a link. */
#ifndef SLICEUP_COORDINATOR_KEYS_KEY_FILE_H
#define SLICEUP_COORDINATOR_KEYS_KEY_FILE_H

#include "common/io/link.h"
#include <stdbool.h>

int key_file_save (const struct link_keys *keys, const char *path, struct err *err);
int key_file_load (struct link_keys *keys, const char *path, struct err *err);

/* A public key: Z85, one line; the file name is the name of its owner. */
#define PUBLIC_KEY_SUFFIX ".pub"

/* "<name>.pub" with a name of letters, digits, '.', '_' and '-', not starting with '.' or '-'. */
bool public_key_is_file_name (const char *name);
int public_key_save (const char *path, const char *public_key, struct err *err);
int public_key_load (const char *path, char out[LINK_KEY_BYTES], struct err *err);

#endif

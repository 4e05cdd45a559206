/* key_file.h - a file with one key pair: of a slice, or of a run's monitors on this machine.
 *
 * A czmq certificate of mode 0600, whole at once. What was written before that was so ("sliceup link keys 1") is read
 * as well. A file that others may use, of another owner, or behind a link is refused before a byte of it is read. */
#ifndef SLICEUP_COORDINATOR_KEYS_KEY_FILE_H
#define SLICEUP_COORDINATOR_KEYS_KEY_FILE_H

#include "common/io/link.h"

int key_file_save (const struct link_keys *keys, const char *path, struct err *err);
int key_file_load (struct link_keys *keys, const char *path, struct err *err);

#endif

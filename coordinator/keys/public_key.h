/* public_key.h - reads and writes a file with one public key (Z85, one line); the file name is the name of its owner.
 */
#ifndef SLICEUP_COORDINATOR_KEYS_PUBLIC_KEY_H
#define SLICEUP_COORDINATOR_KEYS_PUBLIC_KEY_H

#include "common/io/link.h"
#include <stdbool.h>

#define PUBLIC_KEY_SUFFIX ".pub"

/* "<name>.pub" with a name of letters, digits, '.', '_' and '-', not starting with '.' or '-'. */
bool public_key_file (const char *name);
int public_key_save (const char *path, const char *public_key, struct err *err);
int public_key_load (const char *path, char out[LINK_KEY_BYTES], struct err *err);

#endif

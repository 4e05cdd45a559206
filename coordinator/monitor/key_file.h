/* key_file.h - files that hold one key: a pair, of a slice or of a run's monitors on this machine; or who is admitted.
 *
 * A pair is a czmq certificate of mode 0600, whole at once. It refuses, unread, a file that others may use, of another owner, or behind a link. */
#ifndef SLICEUP_COORDINATOR_MONITOR_KEY_FILE_H
#define SLICEUP_COORDINATOR_MONITOR_KEY_FILE_H

#include <stdbool.h>

#include "common/base/buf.h"
#include "common/io/link.h"
#include "common/model/plan.h"
#include "coordinator/journal/run_dir.h"

int key_file_save (const struct link_keys *keys, const char *path, struct err *err);
int key_file_load (struct link_keys *keys, const char *path, struct err *err);

/* A public key: Z85, one line; the file name is the name of its owner. */
#define PUBLIC_KEY_SUFFIX ".pub"

/* "<name>.pub" with a name of letters, digits, '.', '_' and '-', not starting with '.' or '-'. */
bool public_key_is_file_name (const char *name);
int public_key_save (const char *path, const char *public_key, struct err *err);
int public_key_load (const char *path, char out[LINK_KEY_BYTES], struct err *err);

/* ---- the key file with which another machine may watch one run: address, run, and its own key pair ----
 *
 * The file is a czmq certificate, whose words say the rest; it is secret (0600). The public half stays in
 * <run>/monitors/<name>.pub, where the coordinator notices it. The key is good until the run ends. */
#define MONITORS_FOLDER "monitors"
enum { MONITORS_MAX = MONITOR_KEYS - 1 }; /* the run's own is the last one */
enum { MONITOR_KEY_FILE_MAX_BYTES = 4096 };

struct monitor_key {
    char run[RUN_ID_HEX_BYTES];
    char address[NAME_MAX_BYTES + 1];
    uint16_t port;
    char coordinator_key[LINK_KEY_BYTES];
    struct link_keys keys;
};

/* A new pair for monitor `name` of a live run; `address`: as the other machine reaches this one, NULL: as the run says.
 * ERR_STATE: the name is taken; ERR_LIMIT: there are MONITORS_MAX already. */
int monitor_key_make (struct monitor_key *key, const struct run_dir *dir, const char *name, const char *address,
                      struct err *err);
void monitor_key_format (const struct monitor_key *key, struct buf *out);
int monitor_key_load (struct monitor_key *key, const char *path, struct err *err);

/* ---- certificate ---- */

/* A czmq certificate: a CURVE key pair, and words that belong to it, as ZPL (RFC 4).
 *
 * Any program with czmq or pyzmq loads one: zcert_load, zmq.auth.load_certificate. Here it is read from bytes that
 * somebody else took out of a file, so that who may have written them is asked of that file. Written without czmq,
 * whose writers leave the secret in freed memory, change the process's umask and make the file in place. */

enum { CERTIFICATE_MAX_BYTES = 4096 };

struct certificate;
/* NULL: it is none, or says a thing twice. Nothing is printed, whatever the bytes are. */
struct certificate *certificate_parse (struct text bytes);
void certificate_release (struct certificate *certificate);                             /* wipes it; NULL is fine */
const char *certificate_meta (const struct certificate *certificate, const char *name); /* NULL: not there */
/* False: it has not both keys. Whether they belong together is link_keys_check's to say. */
bool certificate_keys (const struct certificate *certificate, struct link_keys *keys);

struct certificate_meta {
    const char *name, *value; /* no quotes, no control characters */
};
/* With a secret in `out`: the caller wipes it. */
void certificate_format (const struct link_keys *keys, const struct certificate_meta *words, uint32_t n,
                         struct buf *out);

#endif

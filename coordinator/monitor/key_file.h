/* key_file.h - files that hold one key: a pair of a slice or of a run's local monitors, or an admitted public key.
 *
 * A pair is a czmq certificate of mode 0600, written atomically. It refuses, unread, a file of another owner, open to
 * others, or behind a link. */
#ifndef SLICEUP_COORDINATOR_MONITOR_KEY_FILE_H
#define SLICEUP_COORDINATOR_MONITOR_KEY_FILE_H

#include <stdbool.h>

#include "common/io/link.h"
#include "coordinator/journal/run_dir.h"

int key_file_save (const struct link_keys *keys, const char *path, struct err *err);
int key_file_load (struct link_keys *keys, const char *path, struct err *err);

/* A public key: Z85, one line; the file is named after its owner. */
#define PUBLIC_KEY_SUFFIX ".pub"

/* "<name>.pub" with a name of letters, digits, '.', '_' and '-', not starting with '.' or '-'. */
bool public_key_is_file_name (const char *name);
int public_key_save (const char *path, const char *public_key, struct err *err);
int public_key_load (const char *path, char out[LINK_KEY_BYTES], struct err *err);

/* ---- the key file that lets another machine watch one run: address, run, and its own key pair ----
 *
 * The file is a czmq certificate, with address and run in its words; it is secret (0600). The public half stays in
 * <run>/monitors/<name>.pub, where the coordinator notices it. The key is good until the run ends. */
#define MONITORS_FOLDER "monitors"
enum { MONITORS_MAX = MONITOR_KEYS - 1 }; /* the run's own key takes the last place */
enum { MONITOR_KEY_FILE_MAX_BYTES = 4096 };

struct monitor_key {
    char run[RUN_ID_HEX_BYTES];
    char address[NAME_MAX_BYTES + 1];
    uint16_t port;
    char coordinator_key[LINK_KEY_BYTES];
    struct link_keys keys;
};

/* Makes a pair for monitor `name` of a live run; `address`: this machine's, for the other one; NULL: from the run.
 * ERR_STATE: the name is taken; ERR_LIMIT: there are MONITORS_MAX already. */
int monitor_key_make (struct monitor_key *key, const struct run_dir *dir, const char *name, const char *address,
                      struct err *err);
void monitor_key_format (const struct monitor_key *key, struct buf *out);
int monitor_key_load (struct monitor_key *key, const char *path, struct err *err);

/* ---- certificate ---- */

/* A czmq certificate: a CURVE key pair and its words, as ZPL (RFC 4).
 *
 * Any program with czmq or pyzmq loads one: zcert_load, zmq.auth.load_certificate. It is read from bytes, so that the
 * caller can check the owner of the open file first. Read and written without czmq: its reader prints what it does not
 * understand, which may be the secret, and leaves copies of it on the stack; its writers leave the secret in freed
 * memory, change the process's umask and make the file in place. */

enum { CERTIFICATE_MAX_BYTES = 4096 };

struct certificate;
/* NULL: not a certificate, or a repeated word. */
struct certificate *certificate_parse (struct text bytes);
void certificate_release (struct certificate *certificate);                             /* wipes it; NULL is fine */
const char *certificate_meta (const struct certificate *certificate, const char *name); /* NULL: not there */
/* False: a key is missing. link_keys_check tells whether they belong together. */
bool certificate_keys (const struct certificate *certificate, struct link_keys *keys);

struct certificate_meta {
    const char *name, *value; /* no quotes, no control characters */
};
/* `out` holds a secret: the caller wipes it. */
void certificate_format (const struct link_keys *keys, const struct certificate_meta *words, uint32_t n,
                         struct buf *out);

/* ---- tickets ---- */

/* Launcher join: makes and reads tickets, with which a host's worker joins by itself.
 *
 * <home>/slices/<slice>/coordinator.key 0600   the slice's long-lived pair; tickets hold its public half
 * <home>/slices/<slice>/hosts/<host>.pub       who may join; only the ticket has the secret half
 *
 * A ticket is a file of mode 0600 that is copied to its host once, and serves every later run of the slice there. Knows
 * no runs or sockets, nor how tickets are copied. */

struct ticket_request {
    const struct plan *plan;
    const struct name_list *hosts; /* of the plan */
    const char *folder;            /* <folder>/<host>.ticket; made if missing */
    bool renew;                    /* replaces existing keys */
    bool renew_slice;              /* replaces the slice's own pair as well: earlier tickets become invalid */
};
/* Without `renew` it refuses to replace keys, before it writes anything. */
int ticket_issue_all (const struct ticket_request *request, struct err *err);

struct slice_link_keys {
    struct link_keys coordinator;
    char (*hosts)[LINK_KEY_BYTES]; /* by rank */
    uint32_t n;
};
/* ERR_STATE: a host has none; the error says how to make it. */
int slice_link_keys_load (const struct plan *plan, struct slice_link_keys *keys, struct err *err);
void slice_link_keys_release (struct slice_link_keys *keys);

#endif

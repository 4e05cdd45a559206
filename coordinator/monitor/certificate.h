/* certificate.h - a czmq certificate: a CURVE key pair, and words that belong to it, as ZPL (RFC 4).
 *
 * Any program with czmq or pyzmq loads one: zcert_load, zmq.auth.load_certificate. Here it is read from bytes that
 * somebody else took out of a file, so that who may have written them is asked of that file. Written without czmq,
 * whose writers leave the secret in freed memory, change the process's umask and make the file in place. */
#ifndef SLICEUP_COORDINATOR_MONITOR_CERTIFICATE_H
#define SLICEUP_COORDINATOR_MONITOR_CERTIFICATE_H

#include "common/base/buf.h"
#include "common/io/link.h"

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

/* metadata.h - asks the metadata server of a Google VM one question, over plain HTTP as Google's libraries do.
 *
 * Bounded in time by `limit_ms` and in size by the buffer; only a silent name server may take longer, as long as
 * resolv.conf says. Blocks. Any thread. */
#ifndef SLICEUP_COMMON_IO_METADATA_H
#define SLICEUP_COMMON_IO_METADATA_H

#include "common/base/buf.h"
#include "common/base/err.h"

/* The address is that of every Google VM's server, and needs no name to be resolved. */
#define METADATA_ADDRESS "169.254.169.254"
#define METADATA_NAME "metadata.google.internal"

struct metadata_question {
    const char *server; /* "host", "host:port" or "[address]:port" */
    bool resolves;      /* it may be a name; else only an address, since names are slow */
    const char *path;   /* "/computeMetadata/v1/..." */
    uint64_t limit_ms;
};
enum metadata_server {
    METADATA_NOWHERE = 1, /* no such address */
    METADATA_ABSENT,      /* no connection came about */
    METADATA_LATE,
    METADATA_STRANGER, /* it is no Google metadata server, or what it sent is too long or cut short */
    METADATA_ANSWERED
};
struct metadata_answer {
    uint64_t status; /* of HTTP */
    struct text body;
};
/* ANSWERED: `answer` is filled, its body borrows from `bytes`. Else `err` says why. */
enum metadata_server metadata_ask (const struct metadata_question *question, struct buf *bytes,
                                   struct metadata_answer *answer, struct err *err);

#endif

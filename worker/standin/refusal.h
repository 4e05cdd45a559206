/* refusal.h - an error of the stand-in: a status code and a text, as the PJRT interface gives them out.
 *
 * The texts are those of libtpu and of TPU hosts where one is known; the source stands beside each. */
#ifndef SLICEUP_WORKER_STANDIN_REFUSAL_H
#define SLICEUP_WORKER_STANDIN_REFUSAL_H

#include "worker/probe/pjrt.h"

enum { REFUSAL_TEXT_BYTES = 512 };

struct refusal {
    int code; /* enum pjrt_code; PJRT_OK: none */
    char text[REFUSAL_TEXT_BYTES];
};

/* Always -1. */
int refuse (struct refusal *refusal, int code, const char *format, ...) __attribute__ ((format (printf, 3, 4)));
/* A PJRT_Error. It is good until 64 others were made; nobody frees it. */
void *refusal_error (const struct refusal *refusal);
/* NULL: it is an error of the plugin. */
const struct refusal *refusal_of_error (const void *error);

#endif

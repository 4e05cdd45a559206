/* hostset_output.h - a set of hosts on standard output: folded, one by one, counted, in parts, as text or JSON.
 *
 * Order and parts are those of ClusterShell's nodeset. */
#ifndef SLICEUP_COORDINATOR_CLI_HOSTSET_OUTPUT_H
#define SLICEUP_COORDINATOR_CLI_HOSTSET_OUTPUT_H

#include "common/model/hostset.h"

enum host_form { HOST_FORM_FOLD, HOST_FORM_EXPAND, HOST_FORM_COUNT };
struct hostset_output {
    enum host_form form;
    uint32_t parts;             /* at most so many; 0: the whole */
    const char *separator;      /* between names, in HOST_FORM_EXPAND */
    const char *part_separator; /* between parts, as text */
    bool json;
    bool compact; /* JSON on one line */
};

/* Appends the answer, and a newline. Puts `names` into order and drops repeated ones. */
void hostset_output_write (const struct hostset_output *output, struct name_list *names, struct buf *out);
/* What stands in place of an answer: "error: ...", or a JSON object with `error`. */
void hostset_output_write_error (const struct hostset_output *output, const struct err *err, struct buf *out);

#endif

/* host_answer.h - a set of hosts on standard output: folded, one by one, counted, in parts, as text or JSON.
 *
 * Order and parts are those of ClusterShell's nodeset. */
#ifndef SLICEUP_COORDINATOR_CLI_HOST_ANSWER_H
#define SLICEUP_COORDINATOR_CLI_HOST_ANSWER_H

#include "common/model/hostset.h"

enum host_form { HOST_FORM_FOLD, HOST_FORM_EXPAND, HOST_FORM_COUNT };
struct host_answer {
    enum host_form form;
    uint32_t parts;             /* at most so many; 0: the whole */
    const char *separator;      /* between names, in HOST_FORM_EXPAND */
    const char *part_separator; /* between parts, as text */
    bool json;
    bool compact; /* JSON on one line */
};

/* Appends the answer, and a newline. Puts `names` into order and drops repeated ones. */
void host_answer_write (const struct host_answer *answer, struct name_list *names, struct buf *out);
/* What stands in place of an answer: "error: ...", or a JSON object with `error`. */
void host_answer_refuse (const struct host_answer *answer, const struct err *err, struct buf *out);

#endif

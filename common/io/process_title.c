#include "common/io/process_title.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/mem.h"
#include "common/io/atomic_file.h"

enum { STAT_MAX_BYTES = 4096, ARG_START_FIELD = 48 }; /* proc(5), stat: arg_start, arg_end, env_start, env_end */

bool process_words_find (struct process_words *out)
{
    struct buf stat;
    uintptr_t from = 0, to = 0, variables = 0, end = 0;
    buf_init (&stat, STAT_MAX_BYTES);
    char *at = file_read ("/proc/self/stat", &stat, NULL) == 0 ? strrchr (buf_c (&stat), ')') : NULL;
    for (int field = 2; at && field < ARG_START_FIELD; field++)
        at = strchr (at + 1, ' ');
    bool known = at &&
                 sscanf (at, "%" SCNuPTR " %" SCNuPTR " %" SCNuPTR " %" SCNuPTR, &from, &to, &variables, &end) == 4 &&
                 from && to > from + 1;
    buf_release (&stat);
    if (known)
        *out = (struct process_words){ (char *) from, to - from, variables == to && end > to ? end - from : to - from };
    return known;
}

static void move_variables (const struct process_words *words)
{
    for (char **variable = environ; variable && *variable; variable++)
        if (*variable >= words->at && *variable < words->at + words->room)
            *variable = mem_text (*variable);
}

/* Where the last byte of the arguments is not 0, the kernel shows one text that goes on behind them. */
void process_title_set (const char *title)
{
    struct process_words words;
    if (!process_words_find (&words))
        return;
    move_variables (&words);
    memset (words.at, 0, words.room);
    size_t len = strlen (title);
    memcpy (words.at, title, len < words.room ? len : words.room - 1);
}

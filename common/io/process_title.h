/* process_title.h - what ps shows as the command line of this process. */
#ifndef SLICEUP_COMMON_IO_PROCESS_TITLE_H
#define SLICEUP_COMMON_IO_PROCESS_TITLE_H

#include <stdbool.h>
#include <stddef.h>

/* The memory of its arguments, and how much there is with the environment that lies behind them. */
struct process_words {
    char *at;
    size_t bytes, room;
};
bool process_words_find (struct process_words *out);
/* Shows `title`, cut to the room that there is. Arguments are lost: who needs one has copied it. Variables are kept, in
 * other memory. Before any other thread starts. Best effort: it only serves whoever looks at a list of processes. */
void process_title_set (const char *title);

#endif

#include "coordinator/cli/origin.h"

#include <limits.h>
#include <pwd.h>
#include <unistd.h>

#include "common/io/atomic_file.h"

enum { COMMAND_BYTES = 4 << 20 };

static struct text told (struct text text, uint32_t bytes, struct arena *arena)
{
    struct buf escaped;
    if (text_is_utf8 (text))
        return text_copy (arena, text_clip (text, bytes));
    buf_init (&escaped, 4 * (size_t) text.len + 1);
    buf_escaped (&escaped, text, 0);
    return text_clip (buf_finish (&escaped, arena), bytes);
}

/* As it was given: the options that every command has are taken out of argv before a command sees it. */
static void read_command (struct arena *arena, text_list *out)
{
    struct buf words;
    buf_init (&words, COMMAND_BYTES);
    file_read ("/proc/self/cmdline", &words, NULL);
    struct text rest = buf_as_text (&words);
    out->items = arena_array (arena, ORIGIN_WORDS_MAX, sizeof *out->items);
    while (rest.len && out->n < ORIGIN_WORDS_MAX)
        out->items[out->n++] = told (text_take_until (&rest, '\0'), TEXT_MAX_BYTES, arena);
    buf_release (&words);
}

void origin_read (struct arena *arena, struct run_origin *out)
{
    char host[NAME_MAX_BYTES + 1] = "", directory[PATH_MAX];
    const struct passwd *user = getpwuid (getuid ());
    *out = (struct run_origin){ .uid = (uint32_t) getuid () };
    if (gethostname (host, sizeof host - 1) == 0)
        out->host = told (text_of (host), NAME_MAX_BYTES, arena);
    if (user && user->pw_name)
        out->user = told (text_of (user->pw_name), NAME_MAX_BYTES, arena);
    if (getcwd (directory, sizeof directory))
        out->directory = told (text_of (directory), TEXT_MAX_BYTES, arena);
    read_command (arena, &out->command);
}

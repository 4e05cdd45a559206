#include "coordinator/receipt/rung_program.h"

#include "common/base/shell_word.h"
#include "common/model/secret.h"

enum { DIGITS_SHOWN = 12 };

static struct text digits_of (const struct kit_file *file)
{
    return text_clip (file->file.sha256, DIGITS_SHOWN);
}

static void add_files (const struct rung *rung, struct buf *line)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rung->argv.n; i++)
        for (uint32_t k = 0; k < rung->files.n; k++) {
            struct text word = rung->argv.items[i], name = rung->files.items[k].name;
            if (text_starts (word, "./") && text_equal ((struct text){ word.ptr + 2, word.len - 2 }, name))
                buf_printf (line, "%s%.*s sha256 %.*s", n++ ? ", " : " (", TEXT_ARG (name),
                            TEXT_ARG (digits_of (&rung->files.items[k])));
        }
    buf_puts (line, n ? ")" : "");
}

struct text rung_program_describe (const struct rung *rung, struct arena *arena)
{
    struct buf line;
    if (rung->kind == PROGRAM_BUILTIN)
        return text_format (arena, "builtin %.*s", TEXT_ARG (rung->builtin));
    if (rung->kind == PROGRAM_CANARY && rung->files.n)
        return text_format (arena, "canary %.*s (sha256 %.*s)", TEXT_ARG (rung->files.items[0].name),
                            TEXT_ARG (digits_of (&rung->files.items[0])));
    buf_init (&line, TEXT_MAX_BYTES);
    for (uint32_t i = 0; i < rung->argv.n; i++)
        shell_word_add (&line, secret_redact_word (arena, rung->argv.items[i]));
    add_files (rung, &line);
    return buf_finish (&line, arena);
}

#include "common/base/shell_word.h"

#include <string.h>

static bool is_plain (struct text word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+=:,@%";
    for (uint32_t i = 0; i < word.len; i++)
        if (!strchr (plain, word.ptr[i]))
            return false;
    return word.len > 0;
}

void shell_word_add (struct buf *line, struct text word)
{
    buf_puts (line, line->len ? " " : "");
    if (is_plain (word)) {
        buf_add_text (line, word);
        return;
    }
    buf_byte (line, '\'');
    for (uint32_t i = 0; i < word.len; i++)
        if (word.ptr[i] == '\'')
            buf_puts (line, "'\\''");
        else
            buf_byte (line, word.ptr[i]);
    buf_byte (line, '\'');
}

#include "common/base/shell_word.h"

void shell_word_add (struct buf *line, struct text word)
{
    buf_puts (line, line->len ? " " : "");
    if (word.len > 0 && text_span (word, "/._-+=:,@%") == word.len) {
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

#include "common/base/frame.h"

#include <assert.h>
#include <string.h>

void frame_put (struct buf *out, char letter, struct text bytes)
{
    assert (letter >= 'a' && letter <= 'z' && bytes.len <= FRAME_MAX_BYTES);
    buf_printf (out, "%c %u\n", letter, bytes.len);
    buf_add_text (out, bytes);
}

/* "o 5": one form for each length. */
static bool read_head (struct frame_reader *reader)
{
    struct text digits = { reader->head + 2, reader->head_len - 2 };
    uint64_t wanted = 0;
    reader->letter = reader->head[0];
    bool good = reader->head_len > 2 && reader->letter >= 'a' && reader->letter <= 'z' && reader->head[1] == ' ' &&
                text_to_u64 (digits, &wanted) && wanted <= FRAME_MAX_BYTES && (digits.len == 1 || digits.ptr[0] != '0');
    reader->wanted = (uint32_t) wanted;
    reader->in_body = good;
    reader->head_len = reader->len = 0;
    return good;
}

static bool take_head (struct frame_reader *reader, struct text *input)
{
    while (input->len > 0 && !reader->in_body) {
        char byte = *input->ptr++;
        input->len--;
        if (byte == '\n' ? !read_head (reader) : reader->head_len == FRAME_HEAD_MAX_BYTES)
            return false;
        if (byte != '\n')
            reader->head[reader->head_len++] = byte;
    }
    return true;
}

static void take_body (struct frame_reader *reader, struct text *input)
{
    uint32_t missing = reader->wanted - reader->len, taken = input->len < missing ? input->len : missing;
    if (taken > 0)
        memcpy (reader->body + reader->len, input->ptr, taken);
    reader->len += taken;
    text_skip (input, taken);
}

int frame_read (struct frame_reader *reader, struct text *input, struct frame *frame, struct err *err)
{
    if (!take_head (reader, input))
        return err_set (err, ERR_PARSE, "expected a frame: a letter, a length of at most %d and a newline",
                        FRAME_MAX_BYTES);
    if (!reader->in_body)
        return 0;
    take_body (reader, input);
    if (reader->len < reader->wanted)
        return 0;
    *frame = (struct frame){ reader->letter, { reader->body, reader->len } };
    reader->in_body = false;
    return 1;
}

#include "coordinator/monitor/snapshot.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

static const char question[] = "facts ";

/* ---- questions ---- */

size_t snapshot_write_question (const struct snapshot_position *position, char out[QUESTION_MAX_BYTES + 1])
{
    int len = snprintf (out, QUESTION_MAX_BYTES + 1, "%s%" PRIu64 " %" PRIu32, question, position->index,
                        position->offset);
    assert (len > 0 && len <= QUESTION_MAX_BYTES);
    return (size_t) len;
}

bool snapshot_parse_question (struct text asked, struct snapshot_position *position)
{
    uint32_t blank;
    uint64_t index, offset;
    if (!text_starts (asked, question))
        return false;
    struct text rest = { asked.ptr + sizeof question - 1, asked.len - (uint32_t) (sizeof question - 1) };
    if (!text_find (rest, TEXT_LIT (" "), &blank))
        return false;
    struct text first = { rest.ptr, blank }, second = { rest.ptr + blank + 1, rest.len - blank - 1 };
    if (!text_to_u64 (first, &index) || !text_to_u64 (second, &offset) || index == 0 || index > INT64_MAX ||
        offset > UINT32_MAX)
        return false;
    *position = (struct snapshot_position){ .index = index, .offset = (uint32_t) offset };
    return true;
}

/* ---- answers ---- */

static void put_number (struct buf *frame, uint64_t number, uint32_t bytes)
{
    while (bytes-- > 0)
        buf_byte (frame, (uint8_t) (number >> (8 * bytes)));
}

static uint64_t get_number (const char *at, uint32_t bytes)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < bytes; i++)
        number = number << 8 | (uint8_t) at[i];
    return number;
}

void snapshot_begin_answer (struct buf *frame)
{
    buf_clear (frame);
    buf_byte (frame, SNAPSHOT_MARK);
    buf_byte (frame, 0);
}

uint32_t snapshot_put_piece (struct buf *frame, const struct snapshot_piece *piece)
{
    size_t room = frame->max - frame->len;
    if (room <= SNAPSHOT_PIECE_BYTES)
        return 0;
    room -= SNAPSHOT_PIECE_BYTES;
    uint32_t len = piece->bytes.len < room ? piece->bytes.len : (uint32_t) room;
    put_number (frame, piece->index, 8);
    put_number (frame, piece->size_bytes, 4);
    put_number (frame, piece->offset, 4);
    put_number (frame, len, 4);
    buf_add (frame, piece->bytes.ptr, len);
    return len;
}

void snapshot_set_flag (struct buf *frame, enum snapshot_flag flag)
{
    frame->ptr[1] |= (uint8_t) flag;
}

bool snapshot_is_answer (struct text frame)
{
    return frame.len >= SNAPSHOT_HEAD_BYTES && frame.ptr[0] == SNAPSHOT_MARK;
}

bool snapshot_has_flag (struct text frame, enum snapshot_flag flag)
{
    return snapshot_is_answer (frame) && (frame.ptr[1] & flag) != 0;
}

bool snapshot_next_piece (struct text frame, uint32_t *at, struct snapshot_piece *piece)
{
    if (*at > frame.len || frame.len - *at < SNAPSHOT_PIECE_BYTES)
        return false;
    const char *head = frame.ptr + *at;
    uint32_t size_bytes = (uint32_t) get_number (head + 8, 4), offset = (uint32_t) get_number (head + 12, 4);
    uint32_t len = (uint32_t) get_number (head + 16, 4);
    if (len > frame.len - *at - SNAPSHOT_PIECE_BYTES || offset > size_bytes || len > size_bytes - offset)
        return false;
    *piece = (struct snapshot_piece){ .index = get_number (head, 8),
                                      .size_bytes = size_bytes,
                                      .offset = offset,
                                      .bytes = { head + SNAPSHOT_PIECE_BYTES, len } };
    *at += SNAPSHOT_PIECE_BYTES + len;
    return true;
}

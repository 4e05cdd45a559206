/* receipt_set.h - lines that change a receipt: "h3 PATH = VALUE", "h[2-5] PATH = VALUE", "all PATH = VALUE" of its hosts by
 * rank, where "%u" at the end of the value is the host's number; "PATH = VALUE" of the receipt itself. */
#ifndef SLICEUP_TESTS_LIB_RECEIPT_SET_H
#define SLICEUP_TESTS_LIB_RECEIPT_SET_H

#include "common/model/receipt.h"
#include "record_path.h"

struct receipt_change {
    bool of_hosts;
    uint32_t first, last;
    struct text path, value;
};

static inline struct receipt_change receipt_change_read (const struct slice_receipt *receipt, struct text line,
                                                         struct arena *arena)
{
    struct receipt_change read = { .last = receipt->hosts.n - 1 };
    uint32_t at, space;
    if (!text_find (line, TEXT_LIT (" = "), &at) || !text_find (line, TEXT_LIT (" "), &space))
        fail_msg ("no PATH = VALUE: %.*s", TEXT_ARG (line));
    read.value = (struct text){ line.ptr + at + 3, line.len - at - 3 };
    read.path = (struct text){ line.ptr, at };
    if (space == at)
        return read;
    const char *hosts = text_copy (arena, (struct text){ line.ptr, space }).ptr;
    read.of_hosts = true;
    read.path = (struct text){ line.ptr + space + 1, at - space - 1 };
    if (sscanf (hosts, "h[%u-%u]", &read.first, &read.last) != 2 && sscanf (hosts, "h%u", &read.first) == 1)
        read.last = read.first;
    return read;
}

static inline struct text receipt_change_value (const struct receipt_change *line, uint32_t host, struct arena *arena)
{
    uint32_t at;
    if (!text_find (line->value, TEXT_LIT ("%u"), &at))
        return line->value;
    return text_format (arena, "%.*s%u", (int) at, line->value.ptr, host);
}

static inline void receipt_set (struct slice_receipt *receipt, struct text line, struct arena *arena)
{
    struct receipt_change read = receipt_change_read (receipt, line, arena);
    if (!read.of_hosts)
        record_path_set (&slice_receipt_record, receipt, read.path, read.value, arena);
    for (uint32_t i = read.first; read.of_hosts && i <= read.last; i++)
        record_path_set (&host_receipt_record, &receipt->hosts.items[i], read.path,
                         receipt_change_value (&read, i, arena), arena);
}

#endif

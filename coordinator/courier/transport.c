#include "coordinator/courier/transport.h"

#include <string.h>

struct text transport_last_line (struct text received)
{
    while (received.len > 0 && received.ptr[received.len - 1] == '\n')
        received.len--;
    const char *newline = received.len ? memrchr (received.ptr, '\n', received.len) : NULL;
    uint32_t skipped = newline ? (uint32_t) (newline + 1 - received.ptr) : 0;
    return (struct text){ received.ptr + skipped, received.len - skipped };
}

/* "12" or "12.0" at the front of the text: its length. */
static uint32_t number_len (struct text text)
{
    uint32_t len = 0;
    while (len < text.len && (text_is_digit (text.ptr[len]) || (len > 0 && text.ptr[len] == '.' && len + 1 < text.len &&
                                                                text_is_digit (text.ptr[len + 1]))))
        len++;
    return len;
}

/* What stands before such a number in Slurm's words: "job 9 queued", "allocation 9 has been revoked", "StepId=9.0". */
static bool names_job (struct text before)
{
    static const char *const words[] = { "job ", "Job ", "allocation ", "step ", "STEP ", "JobId=", "StepId=" };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t len = strlen (words[i]);
        if (before.len >= len && memcmp (before.ptr + before.len - len, words[i], len) == 0)
            return true;
    }
    return false;
}

void transport_mask_job_ids (struct text line, struct buf *out)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < line.len; i++) {
        struct text before = { line.ptr, i };
        uint32_t len = number_len ((struct text){ line.ptr + i, line.len - i });
        if (len == 0 || !names_job (before))
            continue;
        buf_add (out, line.ptr + kept, i - kept - (line.ptr[i - 1] == ' '));
        kept = i + len;
        i = kept - 1;
    }
    buf_add (out, line.ptr + kept, line.len - kept);
}

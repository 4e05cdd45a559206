#include "common/model/remote_command.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct enum_names remote_how_names = NAMED ("none", "exited", "signalled", "timed-out", "stopped", "not-started");

/* ---- the command ---- */

static int add_word (struct remote_command *command, const char *word, size_t len, struct err *err)
{
    if (len > FRAME_MAX_BYTES)
        return err_set (err, ERR_USAGE, "a word of the command has %zu bytes, expected at most %d: put it into a file",
                        len, FRAME_MAX_BYTES);
    if (command->words_n == REMOTE_WORDS_MAX || command->words_bytes + len + 1 > REMOTE_WORDS_MAX_BYTES)
        return err_set (err, ERR_USAGE, "the command has more than %d words or %d KiB: put it into a file",
                        REMOTE_WORDS_MAX, REMOTE_WORDS_MAX_BYTES / 1024);
    command->words_bytes += (uint32_t) len + 1;
    command->words[command->words_n++] = word;
    return 0;
}

static bool is_for_shell (const char *word)
{
    return strpbrk (word, " \t\n|&;<>()$`\\\"'*?[]#~={}!") != NULL;
}

int remote_command_set_words (struct remote_command *command, const char *const *words, int n, struct err *err)
{
    static const char *const shell[] = { "/bin/sh", "-c" };
    int rc = n > 0 && words[0][0] ? 0 : err_set (err, ERR_USAGE, "expected a command behind --");
    for (int i = 0; rc == 0 && n == 1 && i < 2 && is_for_shell (words[0]); i++)
        rc = add_word (command, shell[i], strlen (shell[i]), err);
    for (int i = 0; rc == 0 && i < n; i++)
        rc = add_word (command, words[i], strlen (words[i]), err);
    return rc;
}

static void put_number (struct buf *out, enum remote_letter letter, uint64_t number)
{
    char digits[24];
    int len = snprintf (digits, sizeof digits, "%" PRIu64, number);
    frame_put (out, (char) letter, (struct text){ digits, (uint32_t) len });
}

void remote_command_put (const struct remote_command *command, struct buf *out)
{
    for (uint32_t i = 0; i < command->words_n; i++)
        frame_put (out, REMOTE_WORD, text_of (command->words[i]));
    frame_put (out, REMOTE_HOST, text_of (command->host));
    put_number (out, REMOTE_RANK, command->rank);
    put_number (out, REMOTE_TIMEOUT, command->timeout_ms);
    put_number (out, REMOTE_SILENCE, command->silence_ms);
    if (command->fed)
        frame_put (out, REMOTE_INPUT, TEXT_LIT (""));
    frame_put (out, REMOTE_BEGIN, TEXT_LIT (""));
}

static int remote_command_take_text (struct remote_command *command, const struct frame *frame, struct err *err)
{
    if (frame->bytes.len && memchr (frame->bytes.ptr, '\0', frame->bytes.len))
        return err_set (err, ERR_PARSE, "a word of the command holds a byte of zero");
    const char *text = text_copy (&command->arena, frame->bytes).ptr;
    if (frame->letter == REMOTE_WORD)
        return add_word (command, text ? text : "", frame->bytes.len, err);
    command->host = text;
    return 0;
}

static int remote_command_take_number (const struct frame *frame, uint64_t max, uint64_t *out, struct err *err)
{
    uint64_t number;
    if (!text_to_u64 (frame->bytes, &number) || number > max)
        return err_set (err, ERR_PARSE, "'%c' is not followed by a number up to %" PRIu64, frame->letter, max);
    *out = number;
    return 0;
}

int remote_command_take (struct remote_command *command, const struct frame *frame, struct err *err)
{
    switch (frame->letter) {
    case REMOTE_HOST:
        if (command->host)
            return err_set (err, ERR_PARSE, "the host is named twice");
        return remote_command_take_text (command, frame, err);
    case REMOTE_WORD: return remote_command_take_text (command, frame, err);
    case REMOTE_RANK: return remote_command_take_number (frame, UINT32_MAX, &command->rank, err);
    case REMOTE_TIMEOUT: return remote_command_take_number (frame, REMOTE_TIMEOUT_MAX_MS, &command->timeout_ms, err);
    case REMOTE_SILENCE: return remote_command_take_number (frame, REMOTE_TIMEOUT_MAX_MS, &command->silence_ms, err);
    case REMOTE_INPUT: command->fed = true; return 0;
    case REMOTE_BEGIN:
        command->begun = command->words_n > 0 && command->host && command->timeout_ms > 0;
        return command->begun ? 0 : err_set (err, ERR_PARSE, "BEGIN came before a complete command");
    default: return err_set (err, ERR_PARSE, "the letter '%c' has no meaning before a command", frame->letter);
    }
}

/* ---- its end ---- */

void remote_end_put (const struct remote_end *end, struct buf *out)
{
    struct text why = text_clip (end->why, REMOTE_WHY_MAX_BYTES);
    LOCAL_BUF words = { .max = REMOTE_WHY_MAX_BYTES + 128 };
    buf_printf (&words, "%s %u %u %u %" PRIu64 " %.*s", enum_name_of (&remote_how_names, end->how), end->number,
                end->strays, end->unkillable, end->took_ms, TEXT_ARG (why));
    frame_put (out, REMOTE_END, buf_as_text (&words));
}

int remote_end_take (struct text bytes, struct remote_end *end, struct err *err)
{
    uint64_t numbers[4];
    const uint64_t most[4] = { 255, UINT32_MAX, UINT32_MAX, UINT64_MAX };
    struct text word;
    uint32_t how = REMOTE_NONE;
    bool good = text_cut (&bytes, ' ', &word) && enum_value_of (&remote_how_names, word, &how) && how != REMOTE_NONE;
    for (int i = 0; good && i < 4; i++)
        good = text_cut (&bytes, ' ', &word) && text_to_u64 (word, &numbers[i]) && numbers[i] <= most[i];
    if (!good || bytes.len > REMOTE_WHY_MAX_BYTES)
        return err_set (err, ERR_PARSE, "the end of the command cannot be read");
    *end = (struct remote_end){ .how = (enum remote_how) how,
                                .number = (uint32_t) numbers[0],
                                .strays = (uint32_t) numbers[1],
                                .unkillable = (uint32_t) numbers[2],
                                .took_ms = numbers[3],
                                .why = bytes };
    return 0;
}

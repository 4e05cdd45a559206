#include "coordinator/courier/dialogue.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

static const char ours[] = "sliceup-bootstrap ";
static const char answer[] = "{\"sliceup-worker\"";

void dialogue_begin (struct dialogue *dialogue, const struct dialogue_terms *terms, struct buf *to_send)
{
    *dialogue = (struct dialogue) { .terms = terms, .state = AWAITS_HOST, .step = STEP_ARCHITECTURE };
    buf_printf (to_send, "%s %s %" PRIu64 " %" PRIu64 " %s\n", terms->nonce, terms->bundle_sha256,
                terms->bundle_head_bytes, terms->bundle_bytes, terms->directory);
}

static enum dialogue_event refuse (struct dialogue *dialogue, enum step step)
{
    dialogue->step = step;
    dialogue->state = OVER;
    return DIALOGUE_REFUSED;
}

/* ---- lines ---- */

/* The first word of `text`, which goes on behind it. */
static struct text next_word (struct text *text)
{
    struct text word = *text;
    const char *blank = memchr (text->ptr, ' ', text->len);
    word.len = blank ? (uint32_t) (blank - text->ptr) : text->len;
    text->ptr += word.len + (blank != NULL);
    text->len -= word.len + (blank != NULL);
    return word;
}

/* What follows "sliceup-bootstrap <nonce> ", wherever on the line that stands: a prompt without a newline may precede
 * it. */
static bool find_ours (const struct dialogue *dialogue, struct text line, struct text *words)
{
    uint32_t at;
    while (text_find (line, text_of (ours), &at)) {
        uint32_t skipped = at + (uint32_t) strlen (ours);
        line = (struct text) { line.ptr + skipped, line.len - skipped };
        *words = line;
        if (text_is (next_word (words), dialogue->terms->nonce))
            return true;
    }
    return false;
}

static enum dialogue_event take_host (struct dialogue *dialogue, struct text words, struct err *err)
{
    struct text machine = next_word (&words);
    if (text_is (machine, dialogue->terms->machine)) {
        dialogue->state = AWAITS_BUNDLE;
        dialogue->step = STEP_UPLOAD;
        return DIALOGUE_HOST;
    }
    machine = text_clip (machine, 32);
    err_set (err, ERR_REFUSED, "the host is a machine of type %.*s, this build's worker runs on %s: use a build for it",
             TEXT_ARG (machine), dialogue->terms->machine);
    return refuse (dialogue, STEP_ARCHITECTURE);
}

static enum dialogue_event take_refusal (struct dialogue *dialogue, struct text words, struct err *err)
{
    static const enum step may_refuse[] = { STEP_ARCHITECTURE, STEP_UPLOAD, STEP_LIBRARIES, STEP_START };
    struct text name = next_word (&words);
    enum step step = STEP_START;
    for (size_t i = 0; i < sizeof may_refuse / sizeof may_refuse[0]; i++)
        if (text_is (name, step_name (may_refuse[i])))
            step = may_refuse[i];
    if (words.len)
        err_set (err, ERR_REFUSED, "%.*s", TEXT_ARG (words));
    else
        err_set (err, ERR_REFUSED, "the bootstrap gave up and did not say why");
    return refuse (dialogue, step);
}

static enum dialogue_event take_place (struct dialogue *dialogue, enum dialogue_event event)
{
    dialogue->state = AWAITS_READY;
    dialogue->step = STEP_LIBRARIES;
    return event;
}

static enum dialogue_event take_ready (struct dialogue *dialogue, struct buf *to_send)
{
    dialogue->state = AWAITS_ANSWER;
    dialogue->step = STEP_START;
    buf_printf (to_send, "%s\n", dialogue->terms->launch_line);
    return DIALOGUE_READY;
}

static enum dialogue_event take_ours (struct dialogue *dialogue, struct text words, struct buf *to_send,
                                      struct err *err)
{
    struct text word = next_word (&words);
    if (text_is (word, "refused"))
        return take_refusal (dialogue, words, err);
    if (dialogue->state == AWAITS_HOST && text_is (word, "host"))
        return take_host (dialogue, words, err);
    if (dialogue->state == AWAITS_BUNDLE && text_is (word, "have"))
        return take_place (dialogue, DIALOGUE_HAVE);
    if (dialogue->state == AWAITS_BUNDLE && text_is (word, "want")) {
        dialogue->changed = text_is (words, "changed");
        dialogue->state = UPLOADS;
        return DIALOGUE_WANT;
    }
    if (dialogue->state == SENT && text_is (word, "placed"))
        return take_place (dialogue, DIALOGUE_PLACED);
    if (dialogue->state == AWAITS_READY && text_is (word, "ready"))
        return take_ready (dialogue, to_send);
    word = text_clip (word, 32);
    err_set (err, ERR_PARSE, "the bootstrap said \"%.*s\" out of turn", TEXT_ARG (word));
    return refuse (dialogue, dialogue->step);
}

static enum dialogue_event take_noise (struct dialogue *dialogue, struct text line, struct err *err)
{
    dialogue->noise_bytes += line.len + 1;
    if (line.len > 0) {
        line = text_clip (line, DIALOGUE_REMARK_MAX_BYTES);
        if (!text_to_c (line, dialogue->remark, sizeof dialogue->remark))
            memcpy (dialogue->remark, "(binary)", sizeof "(binary)");
    }
    if (dialogue->noise_bytes <= DIALOGUE_NOISE_MAX_BYTES)
        return DIALOGUE_NOTHING;
    err_set (err, ERR_LIMIT,
             "the host said more than %d KiB that is not the bootstrap's: what prints so much at login, a "
             "banner or a profile?",
             DIALOGUE_NOISE_MAX_BYTES / 1024);
    return refuse (dialogue, dialogue->step);
}

static enum dialogue_event take_line (struct dialogue *dialogue, struct buf *to_send, struct err *err)
{
    struct text line = { dialogue->line, (uint32_t) dialogue->line_len }, words;
    bool whole = !dialogue->too_long;
    dialogue->line_len = 0;
    dialogue->too_long = false;
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    if (whole && dialogue->state != AWAITS_ANSWER && find_ours (dialogue, line, &words))
        return take_ours (dialogue, words, to_send, err);
    if (whole && dialogue->state == AWAITS_ANSWER && text_starts (line, answer)) {
        dialogue->line[line.len] = '\0'; /* its first bytes are still there: dialogue->line is the answer */
        dialogue->state = ANSWERED;
        dialogue->step = STEP_JOIN;
        return DIALOGUE_ANSWER;
    }
    return take_noise (dialogue, line, err);
}

static enum dialogue_event take_byte (struct dialogue *dialogue, char byte, struct buf *to_send, struct err *err)
{
    if (byte == '\n')
        return take_line (dialogue, to_send, err);
    if (dialogue->line_len == DIALOGUE_LINE_MAX_BYTES) { /* its beginning counts as noise now, the rest as it comes */
        struct text begun = { dialogue->line, (uint32_t) dialogue->line_len };
        dialogue->too_long = true;
        dialogue->line_len = 0;
        if (take_noise (dialogue, begun, err) == DIALOGUE_REFUSED)
            return DIALOGUE_REFUSED;
    }
    dialogue->line[dialogue->line_len++] = byte;
    return DIALOGUE_NOTHING;
}

enum dialogue_event dialogue_hear (struct dialogue *dialogue, struct text *heard, struct buf *to_send, struct err *err)
{
    enum dialogue_event event = DIALOGUE_NOTHING;
    while (heard->len > 0 && event == DIALOGUE_NOTHING) {
        char byte = *heard->ptr++;
        heard->len--;
        if (dialogue->state < ANSWERED) /* later words are nobody's */
            event = take_byte (dialogue, byte, to_send, err);
    }
    return event;
}

void dialogue_sent (struct dialogue *dialogue)
{
    if (dialogue->state == UPLOADS) /* else it was refused meanwhile */
        dialogue->state = SENT;
}

void dialogue_ended (struct dialogue *dialogue, const char *how, struct err *err)
{
    static const char *const before[] = {
        [AWAITS_HOST] = "before the bootstrap spoke: may this user run commands there, and is there a /bin/sh?",
        [AWAITS_BUNDLE] = "before the bootstrap had looked for the bundle",
        [UPLOADS] = "during the upload",
        [SENT] = "before the bundle was in its place",
        [AWAITS_READY] = "while it tried the worker",
        [AWAITS_ANSWER] = "before the worker had answered; its log may say more",
        [ANSWERED] = "before the worker was admitted; its log may say more",
        [OVER] = "after it was refused",
    };
    struct buf said;
    buf_init (&said, 8 * DIALOGUE_REMARK_MAX_BYTES);
    buf_escaped (&said, text_of (dialogue->remark), DIALOGUE_REMARK_MAX_BYTES);
    err_set (err, ERR_REFUSED, "the remote shell ended (%s) %s%s%s%s", how, before[dialogue->state],
             said.len ? "; it said: \"" : "", said.len ? buf_c (&said) : "", said.len ? "\"" : "");
    buf_release (&said);
    (void) refuse (dialogue, dialogue->step);
}

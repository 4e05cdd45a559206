#include "coordinator/courier/bootstrap_protocol.h"

#include <inttypes.h>
#include <string.h>

static const char ours[] = "sliceup-bootstrap ";
static const char answer[] = "{\"sliceup-worker\"";

static void put_launch_line (const struct bootstrap_protocol *protocol, struct buf *to_send)
{
    if (protocol->request->launch)
        buf_printf (to_send, "%s\n", protocol->request->launch);
}

void bootstrap_protocol_begin (struct bootstrap_protocol *protocol, const struct request *request, const char *machine,
                               struct buf *to_send)
{
    *protocol =
        (struct bootstrap_protocol){ .request = request, .machine = machine, .state = AWAITS_HOST, .step = STEP_SHELL };
    buf_printf (to_send, "%s %s %" PRIu64 " %" PRIu64 " %s %s\n", request->nonce, request->bundle_sha256,
                request->bundle_head_bytes, request->bundle_bytes, request->directory,
                request->launch ? "join" : "exec");
    put_launch_line (protocol, to_send);
}

static enum bootstrap_event bootstrap_protocol_refuse (struct bootstrap_protocol *protocol, enum step step)
{
    protocol->step = step;
    protocol->state = OVER;
    return BOOTSTRAP_PROTOCOL_REFUSED;
}

/* ---- lines ---- */

/* What follows "sliceup-bootstrap <nonce> " anywhere on the line: a prompt without a newline may precede it. */
static bool find_ours (const struct bootstrap_protocol *protocol, struct text line, struct text *words)
{
    uint32_t at;
    while (text_find (line, text_of (ours), &at)) {
        uint32_t skipped = at + (uint32_t) strlen (ours);
        line = (struct text){ line.ptr + skipped, line.len - skipped };
        *words = line;
        if (text_is (text_take_until (words, ' '), protocol->request->nonce))
            return true;
    }
    return false;
}

static enum bootstrap_event bootstrap_protocol_take_host (struct bootstrap_protocol *protocol, struct text words,
                                                          struct err *err)
{
    struct text machine = text_take_until (&words, ' ');
    if (text_is (machine, protocol->machine)) {
        protocol->state = AWAITS_BUNDLE;
        protocol->step = STEP_UPLOAD;
        return BOOTSTRAP_PROTOCOL_HOST;
    }
    machine = text_clip (machine, 32);
    err_set (err, ERR_REFUSED,
             "the host is a %.*s machine, but the worker of this build runs on %s: use a build for the host's type",
             TEXT_ARG (machine), protocol->machine);
    return bootstrap_protocol_refuse (protocol, STEP_SHELL);
}

static enum bootstrap_event take_refusal (struct bootstrap_protocol *protocol, struct text words, struct err *err)
{
    static const enum step may_refuse[] = { STEP_SHELL, STEP_UPLOAD, STEP_LIBRARIES, STEP_START };
    struct text name = text_take_until (&words, ' ');
    enum step step = STEP_START;
    for (size_t i = 0; i < sizeof may_refuse / sizeof may_refuse[0]; i++)
        if (text_is (name, step_name (may_refuse[i])))
            step = may_refuse[i];
    if (words.len)
        err_set (err, ERR_REFUSED, "%.*s", TEXT_ARG (words));
    else
        err_set (err, ERR_REFUSED, "the bootstrap on the host failed and gave no reason");
    return bootstrap_protocol_refuse (protocol, step);
}

/* It is being started. When it was brought, the host has passed over the launch line. */
static enum bootstrap_event take_place (struct bootstrap_protocol *protocol, struct buf *to_send)
{
    protocol->state = AWAITS_ANSWER;
    protocol->step = STEP_START;
    if (protocol->brought)
        put_launch_line (protocol, to_send);
    return BOOTSTRAP_PROTOCOL_READY;
}

static enum bootstrap_event take_ours (struct bootstrap_protocol *protocol, struct text words, struct buf *to_send,
                                       struct err *err)
{
    struct text word = text_take_until (&words, ' ');
    if (text_is (word, "refused"))
        return take_refusal (protocol, words, err);
    if (protocol->state == AWAITS_HOST && text_is (word, "host"))
        return bootstrap_protocol_take_host (protocol, words, err);
    if ((protocol->state == AWAITS_BUNDLE && text_is (word, "have")) ||
        (protocol->state == SENT && text_is (word, "placed")))
        return take_place (protocol, to_send);
    if ((protocol->state == AWAITS_BUNDLE || (protocol->state == AWAITS_ANSWER && !protocol->brought)) &&
        text_is (word, "want")) {
        protocol->changed = text_is (words, "changed");
        protocol->brought = true;
        protocol->state = UPLOADS;
        protocol->step = STEP_UPLOAD;
        return BOOTSTRAP_PROTOCOL_WANT;
    }
    word = text_clip (word, 32);
    err_set (err, ERR_PARSE, "the bootstrap on the host sent \"%.*s\" out of turn", TEXT_ARG (word));
    return bootstrap_protocol_refuse (protocol, protocol->step);
}

static enum bootstrap_event take_noise (struct bootstrap_protocol *protocol, struct text line, struct err *err)
{
    protocol->noise_bytes += line.len + 1;
    if (line.len > 0) {
        line = text_clip (line, BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES);
        if (!text_to_c (line, protocol->remark, sizeof protocol->remark))
            memcpy (protocol->remark, "(binary)", sizeof "(binary)");
    }
    if (protocol->noise_bytes <= BOOTSTRAP_PROTOCOL_NOISE_MAX_BYTES)
        return BOOTSTRAP_PROTOCOL_NOTHING;
    err_set (err, ERR_LIMIT,
             "the host printed more than %d KiB before the bootstrap: does a login banner or profile print that?",
             BOOTSTRAP_PROTOCOL_NOISE_MAX_BYTES / 1024);
    return bootstrap_protocol_refuse (protocol, protocol->step);
}

static enum bootstrap_event bootstrap_protocol_take_line (struct bootstrap_protocol *protocol, struct buf *to_send,
                                                          struct err *err)
{
    struct text line = { protocol->line, (uint32_t) protocol->line_len }, words;
    bool whole = !protocol->too_long;
    protocol->line_len = 0;
    protocol->too_long = false;
    if (line.len > 0 && line.ptr[line.len - 1] == '\r')
        line.len--;
    if (whole && find_ours (protocol, line, &words))
        return take_ours (protocol, words, to_send, err);
    if (whole && protocol->state == AWAITS_ANSWER && text_starts (line, answer)) {
        protocol->line[line.len] = '\0'; /* its first bytes are still there: `line` is the answer */
        if (text_find (line, TEXT_LIT ("\"unreachable\":"), NULL))
            return BOOTSTRAP_PROTOCOL_CUT_OFF;
        protocol->state = ANSWERED;
        protocol->step = STEP_JOIN;
        return BOOTSTRAP_PROTOCOL_ANSWER;
    }
    return take_noise (protocol, line, err);
}

static enum bootstrap_event take_byte (struct bootstrap_protocol *protocol, char byte, struct buf *to_send,
                                       struct err *err)
{
    if (byte == '\n')
        return bootstrap_protocol_take_line (protocol, to_send, err);
    if (protocol->line_len == BOOTSTRAP_PROTOCOL_LINE_MAX_BYTES) { /* its beginning is noise now, and so is the rest */
        struct text begun = { protocol->line, (uint32_t) protocol->line_len };
        protocol->too_long = true;
        protocol->line_len = 0;
        if (take_noise (protocol, begun, err) == BOOTSTRAP_PROTOCOL_REFUSED)
            return BOOTSTRAP_PROTOCOL_REFUSED;
    }
    protocol->line[protocol->line_len++] = byte;
    return BOOTSTRAP_PROTOCOL_NOTHING;
}

enum bootstrap_event bootstrap_protocol_receive (struct bootstrap_protocol *protocol, struct text *received,
                                                 struct buf *to_send, struct err *err)
{
    enum bootstrap_event event = BOOTSTRAP_PROTOCOL_NOTHING;
    while (received->len > 0 && event == BOOTSTRAP_PROTOCOL_NOTHING) {
        char byte = *received->ptr++;
        received->len--;
        if (protocol->state < ANSWERED) /* later words are nobody's */
            event = take_byte (protocol, byte, to_send, err);
    }
    return event;
}

void bootstrap_protocol_note_sent (struct bootstrap_protocol *protocol)
{
    if (protocol->state == UPLOADS) /* else it was refused meanwhile */
        protocol->state = SENT;
}

void bootstrap_protocol_note_end (struct bootstrap_protocol *protocol, const char *how, struct err *err)
{
    static const char *const before[] = {
        [AWAITS_HOST] = "before the bootstrap began: may this user run commands there, and does /bin/sh exist?",
        [AWAITS_BUNDLE] = "before the bootstrap looked for the worker bundle",
        [UPLOADS] = "during the upload",
        [SENT] = "before the worker bundle was installed",
        [AWAITS_ANSWER] = "before the worker answered; worker.log may have the reason",
        [ANSWERED] = "before the coordinator admitted the worker; worker.log may have the reason",
        [OVER] = "after the bootstrap had given up",
    };
    LOCAL_BUF said = { .max = 8 * BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES };
    buf_escaped (&said, text_of (protocol->remark), BOOTSTRAP_PROTOCOL_REMARK_MAX_BYTES);
    err_set (err, ERR_REFUSED, "the remote shell ended (%s) %s%s%s%s", how, before[protocol->state],
             said.len ? "; its output: \"" : "", said.len ? buf_c (&said) : "", said.len ? "\"" : "");
    (void) bootstrap_protocol_refuse (protocol, protocol->step);
}

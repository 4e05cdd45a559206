#include "coordinator/verdict/error_line.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/logs/log_line.h"

struct text error_line_find (enum outcome outcome, struct text evidence)
{
    struct text first = { 0 }, last = { 0 };
    for (struct text rest = evidence; rest.len;) {
        last = text_take_until (&rest, '\n');
        if (log_line_grade (last) >= LINE_ERROR)
            return last;
        first = first.len ? first : last;
    }
    return outcome == OUTCOME_FAILED ? last : first;
}

struct text error_line_beside (enum outcome outcome, struct text evidence, struct text cause)
{
    const struct text failure = TEXT_LIT ("sliceup_canary.Failure: "); /* a canary prints what it said as its cause */
    struct text line = error_line_find (outcome, evidence), said = line;
    if (text_starts (line, "sliceup_canary.Failure: "))
        said = (struct text){ line.ptr + failure.len, line.len - failure.len };
    return said.len && text_find (cause, said, NULL) ? (struct text){ 0 } : line;
}

/* ---- which causes are one ---- */

static uint32_t digits_at (struct text text, uint32_t at)
{
    return text_digits_end (text, at) - at;
}

/* Does one of the words stand before it? */
static bool is_after_word (struct text text, uint32_t at, const char *const words[])
{
    uint32_t from = at;
    while (at && strchr (" =:#[(/", text.ptr[at - 1]))
        at--;
    for (size_t i = 0; at < from && words[i]; i++) {
        uint32_t n = (uint32_t) strlen (words[i]);
        if (at >= n && strncasecmp (text.ptr + at - n, words[i], n) == 0 &&
            (at == n || !isalpha ((unsigned char) text.ptr[at - n - 1])))
            return true;
    }
    return false;
}

/* "to 10.0.0.3", "10.0.0.3:8476"; 0: there is none. Versions have four parts, too ("libtpu 0.0.40.1"): an address has a
 * port, or stands behind "//" or a word for where somebody is, and does not begin with 0. */
static uint32_t address_at (struct text text, uint32_t at)
{
    static const char *const words[] = { "to",   "from", "at",   "by",   "address", "addr",   "ip",
                                         "ipv4", "peer", "host", "node", "worker",  "server", NULL };
    uint32_t from = at;
    for (uint32_t part = 0; part < 4; part++) {
        uint32_t n = digits_at (text, at);
        if (n == 0 || n > 3 || (part < 3 && (at + n >= text.len || text.ptr[at + n] != '.')))
            return 0;
        at += n + (part < 3);
    }
    bool port = at < text.len && text.ptr[at] == ':' && digits_at (text, at + 1);
    bool url = from >= 2 && memcmp (text.ptr + from - 2, "//", 2) == 0;
    if (text.ptr[from] == '0' || !(port || url || is_after_word (text, from, words)))
        return 0;
    return at - from + (port ? 1 + digits_at (text, at + 1) : 0);
}

/* What at this place says which host speaks; 0: nothing. Only digits and the host's name can: most places have neither. */
static uint32_t own_at (struct text text, uint32_t at, struct text host)
{
    static const char *const several[] = { "rank", "pid", "port", "process", "task", "host", "worker", "node", NULL };
    if (!isdigit ((unsigned char) text.ptr[at]) && !(host.len && text.ptr[at] == host.ptr[0]))
        return 0;
    struct text rest = { text.ptr + at, text.len - at };
    uint32_t address = address_at (text, at);
    if (host.len && rest.len >= host.len && memcmp (rest.ptr, host.ptr, host.len) == 0 &&
        digits_at (text, at + host.len) == 0)
        return host.len;
    return address ? address : is_after_word (text, at, several) ? digits_at (text, at) : 0;
}

bool cause_equal (struct text a, struct text host_a, struct text b, struct text host_b)
{
    uint32_t i = 0, k = 0;
    if (text_equal (a, b))
        return true;
    while (i < a.len && k < b.len) {
        uint32_t own_a = own_at (a, i, host_a), own_b = own_a ? own_at (b, k, host_b) : 0;
        if (own_a && own_b) {
            i += own_a;
            k += own_b;
        } else if (a.ptr[i++] != b.ptr[k++]) {
            return false;
        }
    }
    return i == a.len && k == b.len;
}

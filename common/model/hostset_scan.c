#include "common/model/hostset_scan.h"

#include <inttypes.h>

enum { SHOWN_COLUMNS = 40 };

static const char also_in_names[] = "._-";

bool host_name_valid (struct text name)
{
    return name.len > 0 && name.len <= HOST_NAME_MAX_BYTES && name.ptr[0] != '-' && name.ptr[0] != '.' &&
           text_span (name, also_in_names) == name.len;
}

bool hostset_scan_at_end (const struct hostset_scan *scan)
{
    return scan->at == scan->all.len;
}

char hostset_scan_peek (const struct hostset_scan *scan)
{
    return hostset_scan_at_end (scan) ? '\0' : scan->all.ptr[scan->at];
}

bool hostset_scan_accept (struct hostset_scan *scan, char c)
{
    bool there = !hostset_scan_at_end (scan) && hostset_scan_peek (scan) == c;
    scan->at += there;
    return there;
}

void hostset_scan_skip_blanks (struct hostset_scan *scan)
{
    while (hostset_scan_accept (scan, ' ') || hostset_scan_accept (scan, '\t') || hostset_scan_accept (scan, '\n') ||
           hostset_scan_accept (scan, '\r'))
        continue;
}

struct text hostset_scan_text_between (const struct hostset_scan *scan, uint32_t from, uint32_t to)
{
    return (struct text){ .ptr = scan->all.len ? scan->all.ptr + from : "", .len = to - from };
}

struct text hostset_scan_name (struct hostset_scan *scan)
{
    uint32_t from = scan->at;
    scan->at += text_span (hostset_scan_text_between (scan, from, scan->all.len), also_in_names);
    return hostset_scan_text_between (scan, from, scan->at);
}

struct text hostset_scan_digits (struct hostset_scan *scan)
{
    uint32_t from = scan->at;
    while (!hostset_scan_at_end (scan) && text_is_digit (hostset_scan_peek (scan)))
        scan->at++;
    return hostset_scan_text_between (scan, from, scan->at);
}

int hostset_scan_fail (const struct hostset_scan *scan, enum err_code code, uint32_t at, const char *what)
{
    struct buf shown;
    buf_init (&shown, 1024);
    if (at < scan->all.len)
        buf_escaped (&shown, hostset_scan_text_between (scan, at, scan->all.len), SHOWN_COLUMNS);
    err_set (scan->err, code, "host set, character %" PRIu32 " (%s%s): %s", at + 1,
             at < scan->all.len ? "at " : "the end", buf_c (&shown), what);
    buf_release (&shown);
    return -1;
}

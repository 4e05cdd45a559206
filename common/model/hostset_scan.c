#include "common/model/hostset_scan.h"

#include <inttypes.h>

enum { SHOWN_COLUMNS = 40 };

bool is_digit (char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name_character (char c)
{
    return is_digit (c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-';
}

bool host_name_valid (struct text name)
{
    if (name.len == 0 || name.len > HOST_NAME_MAX_BYTES || name.ptr[0] == '-' || name.ptr[0] == '.')
        return false;
    for (uint32_t i = 0; i < name.len; i++)
        if (!is_name_character (name.ptr[i]))
            return false;
    return true;
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
    while (!hostset_scan_at_end (scan) && is_name_character (hostset_scan_peek (scan)))
        scan->at++;
    return hostset_scan_text_between (scan, from, scan->at);
}

struct text hostset_scan_digits (struct hostset_scan *scan)
{
    uint32_t from = scan->at;
    while (!hostset_scan_at_end (scan) && is_digit (hostset_scan_peek (scan)))
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

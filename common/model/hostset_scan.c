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

bool scan_ended (const struct scan *scan)
{
    return scan->at == scan->all.len;
}

char scan_next (const struct scan *scan)
{
    return scan_ended (scan) ? '\0' : scan->all.ptr[scan->at];
}

bool scan_take (struct scan *scan, char c)
{
    bool there = !scan_ended (scan) && scan_next (scan) == c;
    scan->at += there;
    return there;
}

void scan_blanks (struct scan *scan)
{
    while (scan_take (scan, ' ') || scan_take (scan, '\t') || scan_take (scan, '\n') || scan_take (scan, '\r'))
        continue;
}

struct text scan_part (const struct scan *scan, uint32_t from, uint32_t to)
{
    return (struct text){ .ptr = scan->all.len ? scan->all.ptr + from : "", .len = to - from };
}

struct text scan_name (struct scan *scan)
{
    uint32_t from = scan->at;
    while (!scan_ended (scan) && is_name_character (scan_next (scan)))
        scan->at++;
    return scan_part (scan, from, scan->at);
}

struct text scan_digits (struct scan *scan)
{
    uint32_t from = scan->at;
    while (!scan_ended (scan) && is_digit (scan_next (scan)))
        scan->at++;
    return scan_part (scan, from, scan->at);
}

int scan_refuse (const struct scan *scan, enum err_code code, uint32_t at, const char *what)
{
    struct buf shown;
    buf_init (&shown, 1024);
    if (at < scan->all.len)
        buf_escaped (&shown, scan_part (scan, at, scan->all.len), SHOWN_COLUMNS);
    err_set (scan->err, code, "host set, character %" PRIu32 " (%s%s): %s", at + 1,
             at < scan->all.len ? "at " : "the end", buf_c (&shown), what);
    buf_release (&shown);
    return -1;
}

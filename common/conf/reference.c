/* reference.c - the tables of keys as people read them: in messages and in docs/spec/configuration.md. */
#include <inttypes.h>
#include <stdio.h>

#include "common/base/duration.h"
#include "common/conf/conf_keys.h"

static const char *size_print (uint64_t bytes, char out[DURATION_TEXT_BYTES])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB" };
    unsigned unit = 0;
    while (unit < 3 && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        unit++;
    }
    snprintf (out, DURATION_TEXT_BYTES, "%" PRIu64 " %s", bytes, units[unit]);
    return out;
}

static void words (const struct enum_names *names, struct buf *out)
{
    const char *before = "one of ";
    for (uint32_t i = 1; i < names->n; i++) {
        buf_printf (out, "%s%s", before, names->of[i]);
        before = ", ";
    }
}

void key_describe_value (const struct conf_key *key, struct buf *out)
{
    char from[DURATION_TEXT_BYTES], to[DURATION_TEXT_BYTES];
    switch (key->kind) {
    case KEY_NAME:
        buf_printf (out, "a name of letters, digits, '.', '_' and '-', at most %d bytes", ID_MAX_BYTES);
        break;
    case KEY_TEXT: buf_printf (out, "one line of %" PRIu64 " to %" PRIu64 " bytes", key->min, key->max); break;
    case KEY_REFERENCE: buf_puts (out, "a name or a path"); break;
    case KEY_PATH: buf_puts (out, "a path, absolute or below SLICEUP_HOME"); break;
    case KEY_FOLDER:
        buf_printf (out, "an absolute path of letters, digits and '/._+@-', at most %" PRIu64 " bytes", key->max);
        break;
    case KEY_OWN_PATH: buf_puts (out, "a path of this machine, absolute or beginning with ~/"); break;
    case KEY_HOSTS: buf_puts (out, "a host set such as v6e[0-3]"); break;
    case KEY_WORD: words (key->words, out); break;
    case KEY_BOOL: buf_puts (out, "true or false"); break;
    case KEY_NUMBER: buf_printf (out, "a whole number from %" PRIu64 " to %" PRIu64, key->min, key->max); break;
    case KEY_DURATION:
        buf_printf (out, "a duration from %s to %s with its unit, such as 90s", duration_print (key->min, from),
                    duration_print (key->max, to));
        break;
    case KEY_SIZE:
        buf_printf (out, "a size from %s to %s with its unit, such as 4MiB", size_print (key->min, from),
                    size_print (key->max, to));
        break;
    case KEY_MAP: buf_puts (out, "a map"); break;
    case KEY_LIST: buf_puts (out, "a list"); break;
    case KEY_ANY: buf_puts (out, "a value, a list or a map"); break;
    }
}

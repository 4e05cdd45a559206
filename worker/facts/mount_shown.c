/* mount_shown.c - see mount_shown.h. */
#include "worker/facts/mount_shown.h"

#include "worker/facts/variable_family.h"
#include <ctype.h>
#include <string.h>

/* Disks whose names go on with letters (Linux, admin-guide/devices). */
static const char *const lettered[] = { "/dev/sd", "/dev/vd", "/dev/xvd", "/dev/hd" };

static uint32_t kind_len (struct text source)
{
    uint32_t len = (uint32_t) strlen ("/dev/");
    if (!text_starts (source, "/dev/"))
        return source.len;
    for (size_t i = 0; i < sizeof lettered / sizeof *lettered; i++)
        if (text_starts (source, lettered[i]))
            return (uint32_t) strlen (lettered[i]);
    while (len < source.len && source.ptr[len] != '/' && !isdigit ((unsigned char) source.ptr[len]))
        len++;
    return len;
}

struct text mount_shown (struct arena *arena, const char *mount)
{
    const char *blank = strrchr (mount, ' ');
    struct text source = text_of (blank ? blank + 1 : mount);
    return variable_shown (arena, (struct text){ mount, (uint32_t) (source.ptr - mount) + kind_len (source) });
}

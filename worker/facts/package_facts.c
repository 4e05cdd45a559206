/* package_facts.c - versions of packages of the system, as dpkg has them (dpkg(1), /var/lib/dpkg/status). */
#include "worker/facts/host_fact_list.h"

#include "common/io/atomic_file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { STATUS_BYTES_MAX = 64 << 20 };

static bool take_value (struct text line, const char *key, struct text *value)
{
    uint32_t len = (uint32_t) strlen (key);
    if (!text_starts (line, key))
        return false;
    *value = (struct text){ line.ptr + len, line.len - len };
    return true;
}

/* Of the first paragraph that is of it and says that it is installed: of one architecture, where there are several. */
static struct text version_of (struct text status, struct text package)
{
    struct text name = { 0 }, state = { 0 }, version = { 0 };
    while (status.len) {
        struct text line = text_take_until (&status, '\n');
        if (!take_value (line, "Package: ", &name) && !take_value (line, "Status: ", &state))
            take_value (line, "Version: ", &version);
        if (line.len && status.len)
            continue;
        if (text_equal (name, package) && text_find (state, TEXT_LIT (" installed"), NULL))
            return version;
        name = state = version = (struct text){ 0 };
    }
    return (struct text){ 0 };
}

void package_facts (struct host_fact_list *list, const var_list *packages)
{
    char path[PATH_MAX_BYTES + 1];
    struct buf status;
    struct err err;
    if (packages->n == 0)
        return;
    snprintf (path, sizeof path, "%s/var/lib/dpkg/status", list->roots->root);
    buf_init (&status, STATUS_BYTES_MAX);
    int rc = file_read (path, &status, &err);
    struct text problem = rc ? text_format (&list->arena, "unreadable (%s)", err.text) : (struct text){ 0 };
    for (uint32_t i = 0; i < packages->n && i < EXPECT_PACKAGES_MAX; i++) {
        struct text name = text_clip (packages->items[i].name, ID_MAX_BYTES);
        struct text version = version_of (buf_as_text (&status), name);
        host_fact_add (list, text_format (&list->arena, EXPECT_PACKAGE "%.*s", TEXT_ARG (name)).ptr,
                       rc ? problem : text_copy (&list->arena, version));
    }
    buf_release (&status);
}

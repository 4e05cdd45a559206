/* library_facts.c - the libraries of the host that a runtime is built upon. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"
#include "worker/facts/host_fact_list.h"
#include "worker/facts/library_digest.h"

enum { LIBC_BYTES_MAX = 16 << 20, VERSION_BYTES_MAX = 32 };

/* Where the loaders of glibc's machines look, by distribution (Debian multiarch; lib64; the plain one). */
static const char *const libc_paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
                                          "/lib/aarch64-linux-gnu/libc.so.6",
                                          "/lib64/libc.so.6",
                                          "/usr/lib64/libc.so.6",
                                          "/lib/libc.so.6",
                                          "/usr/lib/libc.so.6" };

static bool find_libc (const struct host_fact_list *list, char path[PATH_MAX_BYTES + 1])
{
    for (size_t i = 0; i < sizeof libc_paths / sizeof *libc_paths; i++) {
        int len = snprintf (path, PATH_MAX_BYTES + 1, "%s%s", list->roots->root, libc_paths[i]);
        if (len > 0 && len <= PATH_MAX_BYTES && access (path, R_OK) == 0)
            return true;
    }
    return false;
}

static void add_library (struct host_fact_list *list, const char *name, const char *bytes_name, const char *path)
{
    struct text hex = TEXT_LIT ("absent");
    struct err err;
    uint64_t bytes = 0;
    bool known = path && library_xxh128 (path, &list->arena, &hex, &bytes, &err) == 0;
    if (path && !known)
        hex = access (path, F_OK) ? TEXT_LIT ("absent") : text_format (&list->arena, "unreadable (%.300s)", err.text);
    host_fact_add (list, name, host_fact_one_line (&list->arena, hex));
    if (known)
        host_fact_add_number (list, bytes_name, bytes);
    else
        host_fact_add (list, bytes_name, TEXT_LIT ("absent"));
}

/* ---- glibc's version ---- */

/* "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.\n", which the library prints when it is run. */
static struct text version_in (struct arena *arena, const char *bytes, size_t len)
{
    static const char banner[] = "GNU C Library ", mark[] = " version ";
    const char *at = memmem (bytes, len, banner, sizeof banner - 1), *end = bytes + len;
    const char *line_end = at ? memchr (at, '\n', (size_t) (end - at)) : NULL;
    const char *from = line_end ? memmem (at, (size_t) (line_end - at), mark, sizeof mark - 1) : NULL;
    if (!from)
        return TEXT_LIT ("absent");
    from += sizeof mark - 1;
    size_t n = strspn (from, "0123456789.");
    while (n && from[n - 1] == '.')
        n--;
    return text_copy (arena, (struct text){ from, (uint32_t) (n < VERSION_BYTES_MAX ? n : VERSION_BYTES_MAX) });
}

/* Not gnu_get_libc_version: a bundled worker has a libc of its own. */
static struct text libc_version (struct host_fact_list *list, const char *path)
{
    char *bytes = mem_alloc (LIBC_BYTES_MAX);
    struct text version = version_in (&list->arena, bytes, file_read_start (path, bytes, LIBC_BYTES_MAX));
    mem_free (bytes);
    return version;
}

void library_facts (struct host_fact_list *list, const char *libtpu)
{
    char path[PATH_MAX_BYTES + 1];
    bool found = find_libc (list, path);
    host_fact_add (list, "glibc.version", found ? libc_version (list, path) : TEXT_LIT ("absent"));
    add_library (list, "library.libc", "library.libc.bytes", found ? path : NULL);
    add_library (list, "library.libtpu", "library.libtpu.bytes", libtpu);
    host_fact_add (list, "library.libtpu.path",
                   libtpu ? host_fact_one_line (&list->arena, text_of (libtpu)) : TEXT_LIT ("absent"));
}

/* ---- versions of packages of the system, as dpkg has them (dpkg(1), /var/lib/dpkg/status) ---- */

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

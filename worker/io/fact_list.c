#include "worker/io/fact_list.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct fact_roots fact_roots_real = {
    .proc = "/proc", .sys = "/sys", .dev = "/dev", .etc = "/etc", .tmp = "/tmp",
};

void fact_list_init (struct fact_list *list, const struct fact_roots *roots)
{
    memset (list, 0, sizeof *list);
    list->roots = roots;
}

void fact_list_release (struct fact_list *list)
{
    arena_release (&list->arena);
}

void fact_add (struct fact_list *list, const char *name, struct text value)
{
    assert (list->n < FACT_LIST_MAX);
    list->items[list->n++] = (struct var) { text_of (name), value.len ? value : TEXT_LIT ("absent") };
}

void fact_add_number (struct fact_list *list, const char *name, uint64_t value)
{
    fact_add (list, name, text_format (&list->arena, "%" PRIu64, value));
}

struct text fact_value (const struct fact_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (text_is (list->items[i].name, name))
            return list->items[i].value;
    return (struct text) { 0 };
}

static ssize_t read_start (int fd, char *bytes, size_t max)
{
    size_t len = 0;
    while (len < max) {
        ssize_t got = read (fd, bytes + len, max - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        len += (size_t) got;
    }
    return (ssize_t) len;
}

static bool unreadable (struct fact_list *list, struct text *out)
{
    *out = errno == ENOENT || errno == ENOTDIR ? TEXT_LIT ("absent")
                                               : text_format (&list->arena, "unreadable (%s)", strerror (errno));
    return false;
}

bool fact_read (struct fact_list *list, const char *root, const char *path, struct text *out)
{
    char name[PATH_MAX_BYTES + 1], *bytes;
    int len = snprintf (name, sizeof name, "%s%s", root, path);
    assert (len > 0 && (size_t) len < sizeof name);
    int fd = open (name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return unreadable (list, out);
    bytes = mem_alloc (FACT_FILE_BYTES);
    ssize_t got = read_start (fd, bytes, FACT_FILE_BYTES);
    bool good = got >= 0 || unreadable (list, out);
    while (got > 0 && strchr (" \t\n", bytes[got - 1]))
        got--;
    if (good)
        *out = text_copy (&list->arena, (struct text) { bytes, (uint32_t) got });
    close (fd);
    mem_free (bytes);
    return good;
}

static struct text trimmed (struct text value)
{
    while (value.len && memchr (":= \t\"", value.ptr[0], 5))
        value.ptr++, value.len--;
    while (value.len && memchr (" \t\"", value.ptr[value.len - 1], 3))
        value.len--;
    return value;
}

bool fact_field (struct text file, const char *key, struct text *value)
{
    size_t key_len = strlen (key);
    while (file.len) {
        const char *end = memchr (file.ptr, '\n', file.len);
        struct text line = { file.ptr, end ? (uint32_t) (end - file.ptr) : file.len };
        if (text_starts (line, key) && line.len > key_len && memchr (":= \t", line.ptr[key_len], 4)) {
            *value = trimmed ((struct text) { line.ptr + key_len, line.len - (uint32_t) key_len });
            return true;
        }
        file.ptr += line.len + (end ? 1 : 0);
        file.len -= line.len + (end ? 1 : 0);
    }
    return false;
}

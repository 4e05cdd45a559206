#include "worker/facts/host_fact_list.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"

#define XXH_INLINE_ALL /* more libraries than a host has */
#include <xxhash.h>

enum { CHUNK_BYTES = 1 << 20 };

struct stamp {
    uint64_t device, inode, bytes;
    struct timespec mtime, ctime;
};
static struct stamp stamp_of (const struct stat *st)
{
    return (struct stamp){ st->st_dev, st->st_ino, (uint64_t) st->st_size, st->st_mtim, st->st_ctim };
}

static bool same_time (struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static bool same (const struct stamp *a, const struct stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes && same_time (a->mtime, b->mtime) &&
           same_time (a->ctime, b->ctime);
}

static int too_slow (const char *path, uint64_t total, struct err *err)
{
    return err_set (err, ERR_LIMIT,
                    "%.300s: only a part, %" PRIu64 " MiB, was read in %d s; its storage is too slow for a digest",
                    path, total >> 20, LIBRARY_READ_MS / 1000);
}

static int digest_fd (int fd, const char *path, XXH3_state_t *state, uint64_t *total, struct err *err)
{
    LOCAL_MEM uint8_t *chunk = mem_alloc (CHUNK_BYTES);
    uint64_t until_ms = clock_boot_ms () + LIBRARY_READ_MS;
    ssize_t got;
    int rc = 0;
    *total = 0;
    while (rc == 0 && (got = fd_read (fd, chunk, CHUNK_BYTES)) != 0) {
        if (got < 0) {
            rc = err_errno (err, ERR_IO, "cannot read %.300s to compute its digest", path);
            break;
        }
        *total += (uint64_t) got;
        if (*total > LIBRARY_BYTES_MAX)
            rc = err_set (err, ERR_LIMIT, "%.300s grew while its digest was computed", path);
        else if (clock_boot_ms () > until_ms)
            rc = too_slow (path, *total, err);
        else
            XXH3_128bits_update (state, chunk, (size_t) got);
    }
    return rc;
}

static void print_hex (XXH128_hash_t hash, char hex[LIBRARY_HEX_BYTES + 1])
{
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash (&bytes, hash);
    for (size_t i = 0; i < sizeof bytes.digest; i++) {
        hex[2 * i] = "0123456789abcdef"[bytes.digest[i] >> 4];
        hex[2 * i + 1] = "0123456789abcdef"[bytes.digest[i] & 15];
    }
    hex[LIBRARY_HEX_BYTES] = '\0';
}

static int digest_whole (int fd, const char *path, const struct stamp *stamp, char hex[LIBRARY_HEX_BYTES + 1],
                         struct err *err)
{
    XXH3_state_t *state = XXH3_createState ();
    struct stat after;
    uint64_t total;
    if (!state || XXH3_128bits_reset (state) != XXH_OK)
        abort (); /* out of memory is the only reason */
    int rc = digest_fd (fd, path, state, &total, err);
    print_hex (XXH3_128bits_digest (state), hex);
    XXH3_freeState (state);
    if (rc < 0)
        return -1;
    if (fstat (fd, &after))
        return err_errno (err, ERR_IO, "cannot inspect %.300s again", path);
    struct stamp now = stamp_of (&after);
    if (!same (stamp, &now) || total != stamp->bytes)
        return err_set (err, ERR_STATE, "%.300s changed while its digest was computed", path);
    return 0;
}

static int digest_open (int fd, const char *path, char hex[LIBRARY_HEX_BYTES + 1], uint64_t *bytes, struct err *err)
{
    struct stat st;
    if (fstat (fd, &st))
        return err_errno (err, ERR_IO, "cannot inspect %.300s to compute its digest", path);
    if (!S_ISREG (st.st_mode))
        return err_set (err, ERR_IO, "%.300s is not a regular file; expected a library", path);
    if ((uint64_t) st.st_size > LIBRARY_BYTES_MAX)
        return err_set (err, ERR_LIMIT, "%.300s is larger than %" PRIu64 " GiB; expected a library", path,
                        LIBRARY_BYTES_MAX >> 30);
    struct stamp stamp = stamp_of (&st);
    *bytes = stamp.bytes;
    return digest_whole (fd, path, &stamp, hex, err);
}

int library_xxh128 (const char *path, struct arena *arena, struct text *hex, uint64_t *bytes, struct err *err)
{
    char digits[LIBRARY_HEX_BYTES + 1];
    uint64_t size = 0;
    /* O_NONBLOCK: opening a pipe that nobody writes must not wait. */
    LOCAL_FD fd = open (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot open %.300s to compute its digest", path);
    int rc = digest_open (fd, path, digits, &size, err);
    if (rc < 0)
        return -1;
    *hex = text_copy (arena, text_of (digits));
    if (bytes)
        *bytes = size;
    return 0;
}

/* ---- library facts ---- */

/* Facts of the host's libraries that a runtime needs. */

enum { LIBC_BYTES_MAX = 16 << 20, VERSION_BYTES_MAX = 32 };

/* Where the loaders of glibc's machines look, by distribution (Debian multiarch; lib64; the plain one). */
static const char *const libc_paths[] = { "/lib/x86_64-linux-gnu/libc.so.6",
                                          "/lib/aarch64-linux-gnu/libc.so.6",
                                          "/lib64/libc.so.6",
                                          "/usr/lib64/libc.so.6",
                                          "/lib/libc.so.6",
                                          "/usr/lib/libc.so.6" };

static const char *find_libc (struct host_fact_list *list)
{
    for (size_t i = 0; i < sizeof libc_paths / sizeof *libc_paths; i++) {
        const char *path = text_format (&list->arena, "%s%s", list->roots->root, libc_paths[i]).ptr;
        if (access (path, R_OK) == 0)
            return path;
    }
    return NULL;
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
    LOCAL_MEM char *bytes = mem_alloc (LIBC_BYTES_MAX);
    return version_in (&list->arena, bytes, file_read_start (path, bytes, LIBC_BYTES_MAX));
}

void library_facts (struct host_fact_list *list, const char *libtpu)
{
    const char *libc = find_libc (list);
    host_fact_add (list, "glibc.version", libc ? libc_version (list, libc) : TEXT_LIT ("absent"));
    add_library (list, "library.libc", "library.libc.bytes", libc);
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

/* The version in the package's first installed paragraph, one of maybe several architectures. */
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
    struct err err;
    if (packages->n == 0)
        return;
    const char *path = text_format (&list->arena, "%s/var/lib/dpkg/status", list->roots->root).ptr;
    LOCAL_BUF status = { .max = STATUS_BYTES_MAX };
    int rc = file_read (path, &status, &err);
    struct text problem = rc ? text_format (&list->arena, "unreadable (%s)", err.text) : (struct text){ 0 };
    for (uint32_t i = 0; i < packages->n && i < EXPECT_PACKAGES_MAX; i++) {
        struct text name = text_clip (packages->items[i].name, ID_MAX_BYTES);
        struct text version = version_of (buf_as_text (&status), name);
        host_fact_add (list, text_format (&list->arena, EXPECT_PACKAGE "%.*s", TEXT_ARG (name)).ptr,
                       rc ? problem : text_copy (&list->arena, version));
    }
}

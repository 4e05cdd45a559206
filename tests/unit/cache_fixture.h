/* cache_fixture.h - a cache root in a temporary folder, and generations in it. */
#ifndef SLICEUP_TESTS_UNIT_CACHE_FIXTURE_H
#define SLICEUP_TESTS_UNIT_CACHE_FIXTURE_H

#include "common/cache/audit.h"
#include "common/io/atomic_file.h"
#include "test.h"

struct lot { /* one file of the generation that the tests seal */
    const char *path;
    const char *content;
};
static const struct lot lots[] = {
    { "jit_tiny-0a1b-cache", "executable one" },
    { "jit_tiny-0a1b-atime", "12345678" },
    { "empty", "" },
    { "xla/autotune/results.textproto", "version: 3\n" },
    { "xla/kernel cache.bin", "0123456789abcdef0123456789abcdef" },
};
enum { LOTS = sizeof lots / sizeof *lots };
static const char *const lot_folders[] = { "xla", "xla/autotune" };
enum { LOT_FOLDERS = sizeof lot_folders / sizeof *lot_folders };

struct fixture {
    char base[64]; /* the temporary folder */
    char root[96]; /* the frontend's root in it */
    char private_dir[96];
    char dir[1100]; /* as the last call prepared it */
    struct arena arena;
    struct seal seal;
    struct err err;
};

static inline void fixture_open (struct fixture *fixture)
{
    snprintf (fixture->base, sizeof fixture->base, "/tmp/sliceup-cache-XXXXXX");
    assert_non_null (mkdtemp (fixture->base));
    snprintf (fixture->root, sizeof fixture->root, "%s/cache/jax/f00d", fixture->base);
    snprintf (fixture->private_dir, sizeof fixture->private_dir, "%s/none", fixture->base);
}

/* A sealed folder lets nobody but root remove what is in it. */
static inline void fixture_reopen (const char *path)
{
    static const char *const below[] = { "", "/xla", "/xla/autotune" };
    for (size_t i = 0; i < sizeof below / sizeof *below; i++) {
        char name[1200];
        struct stat st;
        snprintf (name, sizeof name, "%s%s", path, below[i]);
        if (lstat (name, &st) == 0 && S_ISDIR (st.st_mode))
            assert_int_equal (chmod (name, 0755), 0);
    }
}

static inline char *fixture_generation (const struct fixture *fixture, uint64_t token, char out[160])
{
    snprintf (out, 160, "%s/gen-%llu", fixture->root, (unsigned long long) token);
    return out;
}

static inline void fixture_close (struct fixture *fixture)
{
    char path[160];
    for (uint64_t token = 1; token < 10; token++)
        fixture_reopen (fixture_generation (fixture, token, path));
    assert_int_equal (folder_remove (fixture->base, &fixture->err), 0);
    arena_release (&fixture->arena);
}

TEST_FIXTURE (struct fixture, fixture_open, fixture_close)

static inline void write_file (const char *folder, const char *path, const char *content, size_t len)
{
    char name[1400];
    snprintf (name, sizeof name, "%s/%s", folder, path);
    int fd = open (name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    assert_true (fd >= 0);
    assert_int_equal (write (fd, content, len), len);
    assert_int_equal (close (fd), 0);
}

static inline void fill (const char *folder)
{
    char name[1400];
    for (int i = 0; i < LOT_FOLDERS; i++) {
        snprintf (name, sizeof name, "%s/%s", folder, lot_folders[i]);
        assert_int_equal (mkdir (name, 0755), 0);
    }
    for (int i = 0; i < LOTS; i++)
        write_file (folder, lots[i].path, lots[i].content, strlen (lots[i].content));
}

static inline struct cache_access writer_order (const struct fixture *fixture, uint64_t token)
{
    return (struct cache_access){ .role = CACHE_ROLE_WRITER, .frontend_root = text_of (fixture->root), .token = token };
}

static inline struct cache_access reader_order (const struct fixture *fixture, uint64_t token)
{
    return (struct cache_access){ .role = CACHE_ROLE_READER,
                                  .frontend_root = text_of (fixture->root),
                                  .token = token,
                                  .sha256 = fixture->seal.sha256 };
}

static inline int prepare_writer (struct fixture *fixture, const struct cache_access *access)
{
    return cache_prepare_writer (access, fixture->dir, sizeof fixture->dir, &fixture->err);
}

static inline int prepare_reader (struct fixture *fixture, uint64_t token)
{
    struct cache_access access = reader_order (fixture, token);
    return cache_prepare_reader (&access, AUDIT_FULL, 0, fixture->private_dir, fixture->dir, sizeof fixture->dir,
                                 &fixture->err);
}

/* Generation `token`, prepared, filled and sealed. */
static inline void seal_lots (struct fixture *fixture, uint64_t token)
{
    struct cache_access access = writer_order (fixture, token);
    if (prepare_writer (fixture, &access))
        fail_msg ("%s", fixture->err.text);
    fill (fixture->dir);
    if (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err))
        fail_msg ("%s", fixture->err.text);
}

static inline void says (const struct fixture *fixture, const char *wanted)
{
    assert_has (fixture->err.text, wanted);
}

static inline bool exists (const char *folder, const char *name)
{
    char path[1400];
    struct stat st;
    snprintf (path, sizeof path, "%s/%s", folder, name);
    return lstat (path, &st) == 0;
}

enum { LARGE_BYTES = 1024 * 1024 };

/* Generation 4: so many files of LARGE_BYTES. */
static inline void seal_large (struct fixture *fixture, int files)
{
    struct cache_access access = writer_order (fixture, 4);
    char *bytes = mem_alloc (LARGE_BYTES), name[24];
    assert_int_equal (prepare_writer (fixture, &access), 0);
    for (int i = 0; i < files; i++) {
        snprintf (name, sizeof name, "large-%02d", i);
        write_file (fixture->dir, name, bytes, LARGE_BYTES);
    }
    mem_free (bytes);
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), 0);
}

/* Bytes of the sealed file `path` become others, its size, mode and time stay. */
static inline void spoil (struct fixture *fixture, uint64_t token, const char *path)
{
    char name[400], gen[160];
    snprintf (name, sizeof name, "%s/%s", fixture_generation (fixture, token, gen), path);
    assert_int_equal (chmod (name, 0644), 0);
    int fd = open (name, O_WRONLY | O_CLOEXEC);
    assert_true (fd >= 0);
    assert_int_equal (pwrite (fd, "#", 1, 3), 1);
    assert_int_equal (fchmod (fd, 0444), 0);
    close (fd);
}

#endif

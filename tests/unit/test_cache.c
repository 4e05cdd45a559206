/* alone: cache */
#include "cache_fixture.h"
#include "test.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

TEST_ON (fixture, what_one_host_seals_another_reads)
{
    char path[160];
    seal_lots (fixture, 3);
    assert_int_equal (fixture->seal.token, 3);
    assert_int_equal (fixture->seal.entries, LOTS);
    assert_int_equal (fixture->seal.bytes, 14 + 8 + 0 + 11 + 32);
    assert_int_equal (fixture->seal.sha256.len, 64);
    fixture->dir[0] = '\0';
    assert_int_equal (prepare_reader (fixture, 3), 0);
    assert_string_equal (fixture->dir, fixture_generation (fixture, 3, path));
}

TEST_ON (fixture, a_manifest_lists_everything_in_order_with_its_digest)
{
    char path[1200], hex[DIGEST_HEX_BYTES];
    struct buf *bytes = test_buf (t);
    seal_lots (fixture, 3);
    snprintf (path, sizeof path, "%s/MANIFEST", fixture->dir);
    assert_int_equal (file_read (path, bytes, &fixture->err), 0);
    struct digest digest = digest_of (bytes->ptr, bytes->len);
    assert_text (fixture->seal.sha256, digest_hex (&digest, hex));
    /* sha256sum of nothing, of "12345678" and of the folders */
    static const char expected[] =
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 0 0444 empty\n"
        "ef797c8118f02dfb649607dd5d3f8c7623048c9c063d532cc95c5ed7a898a64f 8 0444 jit_tiny-0a1b-atime\n";
    assert_memory_equal (bytes->ptr, expected, sizeof expected - 1);
    assert_has (bytes, "\n- 0 0555 xla/\n- 0 0555 xla/autotune/\n");
}

TEST_ON (fixture, a_sealed_generation_has_no_write_bit_left)
{
    char path[1400];
    struct stat st;
    seal_lots (fixture, 3);
    assert_int_equal (stat (fixture->dir, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0555);
    for (int i = 0; i < LOTS; i++) {
        snprintf (path, sizeof path, "%s/%s", fixture->dir, lots[i].path);
        assert_int_equal (stat (path, &st), 0);
        assert_int_equal (st.st_mode & 0222, 0);
    }
    for (int i = 0; i < LOT_FOLDERS; i++) {
        snprintf (path, sizeof path, "%s/%s", fixture->dir, lot_folders[i]);
        assert_int_equal (stat (path, &st), 0);
        assert_int_equal (st.st_mode & 0222, 0);
    }
}

TEST_ON (fixture, a_token_is_used_once)
{
    struct cache_access access = writer_order (fixture, 4);
    assert_int_equal (prepare_writer (fixture, &access), 0);
    write_file (fixture->dir, "kept", "x", 1);
    assert_int_equal (prepare_writer (fixture, &access), -1);
    assert_int_equal (fixture->err.code, ERR_REFUSED);
    says (fixture, "gen-4 already exists");
    assert_true (exists (fixture->dir, "kept"));
}

TEST_ON (fixture, a_generation_starts_as_a_copy_of_its_base)
{
    struct cache_access access = writer_order (fixture, 5);
    char base[1400], copy[1400];
    struct stat before, after;
    seal_lots (fixture, 3);
    access.base = 3;
    access.base_sha256 = fixture->seal.sha256;
    assert_int_equal (prepare_writer (fixture, &access), 0);
    assert_false (exists (fixture->dir, "MANIFEST"));
    snprintf (base, sizeof base, "%s/gen-3/%s", fixture->root, lots[3].path);
    snprintf (copy, sizeof copy, "%s/%s", fixture->dir, lots[3].path);
    assert_int_equal (stat (base, &before), 0);
    assert_int_equal (stat (copy, &after), 0);
    assert_int_not_equal (before.st_ino, after.st_ino);
    assert_int_equal (after.st_nlink, 1);
    assert_int_equal (after.st_mode & 07777, 0644);
    write_file (fixture->dir, "xla/autotune/added", "by the second writer", 20);
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), 0);
    assert_int_equal (prepare_reader (fixture, 5), 0);
    fixture->seal.sha256 = access.base_sha256;
    assert_int_equal (prepare_reader (fixture, 3), 0);
}

TEST_ON (fixture, a_copy_without_additions_has_the_digest_of_its_base)
{
    struct cache_access access = writer_order (fixture, 5);
    seal_lots (fixture, 3);
    access.base = 3;
    access.base_sha256 = fixture->seal.sha256;
    assert_int_equal (prepare_writer (fixture, &access), 0);
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), 0);
    assert_text (fixture->seal.sha256, access.base_sha256);
}

/* Runs `body` in a child, since what it changes there cannot be changed back; it returns 0 when all was as expected. */
static int in_child (int (*body) (struct fixture *), struct fixture *fixture)
{
    int status;
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0)
        _exit (body (fixture));
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return WIFEXITED (status) ? WEXITSTATUS (status) : 99;
}

/* ---- what a writer may do to the copy of its base ---- */

static struct cache_access begin_copy (struct fixture *fixture)
{
    struct cache_access access = writer_order (fixture, 5);
    access.base = 3;
    access.base_sha256 = fixture->seal.sha256;
    assert_int_equal (prepare_writer (fixture, &access), 0);
    return access;
}

/* As a program may leave them: without x for a group, or closed to all but their owner. */
TEST_ON (fixture, whatever_modes_folders_have_a_copy_is_sealed)
{
    static const mode_t modes[] = { 0755, 0700, 0750, 0711 };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        struct cache_access access = writer_order (fixture, 3);
        char xla[1200], path[160];
        mode_t before = umask (0077);
        assert_int_equal (prepare_writer (fixture, &access), 0);
        fill (fixture->dir);
        snprintf (xla, sizeof xla, "%s/xla", fixture->dir);
        assert_int_equal (chmod (xla, modes[i]), 0);
        assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), 0);
        access = begin_copy (fixture);
        write_file (fixture->dir, "xla/added", "x", 1);
        if (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err))
            fail_msg ("mode %04o: %s", modes[i], fixture->err.text);
        umask (before);
        for (uint64_t token = 3; token <= 5; token += 2) {
            fixture_reopen (fixture_generation (fixture, token, path));
            assert_int_equal (folder_remove (path, &fixture->err), 0);
        }
    }
}

static void touch_bytes (const char *dir)
{
    write_file (dir, "empty", "no longer", 9);
}

static void touch_same_size (const char *dir)
{
    write_file (dir, "jit_tiny-0a1b-cache", "executable two", 14);
}

static void touch_mode (const char *dir)
{
    char path[1400];
    snprintf (path, sizeof path, "%s/empty", dir);
    assert_int_equal (chmod (path, 0600), 0);
}

static void touch_by_removal (const char *dir)
{
    char path[1400];
    snprintf (path, sizeof path, "%s/xla/kernel cache.bin", dir);
    assert_int_equal (unlink (path), 0);
}

static void touch_by_rename (const char *dir)
{
    char from[1400], to[1400];
    write_file (dir, "new", "executable two", 14);
    snprintf (from, sizeof from, "%s/new", dir);
    snprintf (to, sizeof to, "%s/jit_tiny-0a1b-cache", dir);
    assert_int_equal (rename (from, to), 0);
}

static void touch_by_link (const char *dir)
{
    touch_by_removal (dir);
    char path[1400];
    snprintf (path, sizeof path, "%s/xla/kernel cache.bin", dir);
    assert_int_equal (symlink ("../empty", path), 0);
}

static void touch_by_second_name (const char *dir)
{
    char from[1400], to[1400];
    snprintf (from, sizeof from, "%s/empty", dir);
    snprintf (to, sizeof to, "%s/full", dir);
    assert_int_equal (link (from, to), 0);
}

static void touch_folder (const char *dir)
{
    char from[1400], to[1400];
    snprintf (from, sizeof from, "%s/xla", dir);
    snprintf (to, sizeof to, "%s/XLA2", dir);
    assert_int_equal (rename (from, to), 0);
    write_file (dir, "xla", "a file", 6);
}

struct touch {
    void (*touch) (const char *dir);
    const char *path;
    enum finding_kind kind;
    const char *says;
};

static void expect_touched (struct fixture *fixture, const struct cache_access *access, const struct touch *touch)
{
    struct finding_list list;
    if (cache_seal (access, &fixture->seal, &fixture->arena, &fixture->err) != -1)
        fail_msg ("sealed although %s %s", touch->path, touch->says);
    assert_int_equal (fixture->err.code, ERR_DAMAGE);
    says (fixture, "cannot seal gen-5");
    assert_false (exists (fixture->dir, "MANIFEST"));
    assert_int_equal (
        audit_base (access->frontend_root, 5, 3, access->base_sha256, &fixture->arena, &list, &fixture->err), 0);
    assert_true (list.n == 1 || touch->touch == touch_folder); /* what is below it went as well */
    assert_true (list.items[0].token == 5 && list.items[0].kind == touch->kind);
    assert_string_equal (text_copy (&fixture->arena, list.items[0].path).ptr, touch->path);
    struct text detail = text_format (&fixture->arena, "%s, in this writer's copy of generation 3", touch->says);
    assert_has (list.items[0].detail, detail);
}

TEST_ON (fixture, what_a_base_sealed_is_sealed_unchanged_or_not_at_all)
{
    static const struct touch touches[] = {
        { touch_bytes, "empty", FINDING_CHANGED, "has 9 bytes, but was sealed with 0" },
        { touch_same_size, "jit_tiny-0a1b-cache", FINDING_CHANGED, ")" },
        { touch_mode, "empty", FINDING_CHANGED, "has mode 0400, but was sealed with 0444" },
        { touch_by_removal, "xla/kernel cache.bin", FINDING_MISSING, "was sealed, but is missing" },
        { touch_by_rename, "jit_tiny-0a1b-cache", FINDING_CHANGED, ")" },
        { touch_by_link, "xla/kernel cache.bin", FINDING_CHANGED, "is a symbolic link" },
        { touch_by_second_name, "empty", FINDING_CHANGED, "has more than one name (hard links)" },
        { touch_folder, "xla", FINDING_CHANGED, "is a file, but was sealed as a folder" },
    };
    seal_lots (fixture, 3);
    struct text base = fixture->seal.sha256;
    for (size_t i = 0; i < sizeof touches / sizeof *touches; i++) {
        fixture->seal.sha256 = base;
        struct cache_access access = begin_copy (fixture);
        touches[i].touch (fixture->dir);
        expect_touched (fixture, &access, &touches[i]);
        fixture_reopen (fixture->dir);
        assert_int_equal (folder_remove (fixture->dir, &fixture->err), 0);
    }
    fixture->seal.sha256 = base;
    assert_int_equal (prepare_reader (fixture, 3), 0);
}

/* An ordinary user is kept out by modes: what cannot be looked at is told, and hides nothing else. */
static int close_a_folder_as_a_user (struct fixture *fixture)
{
    struct finding_list list = { 0 };
    char xla[1200];
    if (setresgid (65534, 65534, 65534) || setresuid (65534, 65534, 65534))
        return 10;
    seal_lots (fixture, 3);
    struct cache_access access = begin_copy (fixture);
    touch_same_size (fixture->dir);
    snprintf (xla, sizeof xla, "%s/xla", fixture->dir);
    if (chmod (xla, 0600) || cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err) != -1)
        return 1;
    if (audit_base (access.frontend_root, 5, 3, access.base_sha256, &fixture->arena, &list, &fixture->err))
        return 2;
    if (list.n < 2 || !text_is (list.items[0].path, "jit_tiny-0a1b-cache") || !text_is (list.items[1].path, "xla"))
        return 3;
    return chmod (xla, 0755) ? 4 : 0;
}

TEST_ON (fixture, what_a_mode_hides_is_told_and_hides_nothing_else)
{
    if (geteuid () != 0)
        skip ();
    assert_int_equal (chown (fixture->base, 65534, 65534), 0);
    assert_int_equal (in_child (close_a_folder_as_a_user, fixture), 0);
}

TEST_ON (fixture, the_same_bytes_written_again_are_no_change)
{
    seal_lots (fixture, 3);
    struct cache_access access = begin_copy (fixture);
    write_file (fixture->dir, lots[0].path, lots[0].content, strlen (lots[0].content));
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), 0);
}

/* Without it nobody knows what must be in the copy. */
TEST_ON (fixture, nothing_is_sealed_upon_a_base_that_is_gone)
{
    char path[160], manifest[180];
    seal_lots (fixture, 3);
    struct cache_access access = begin_copy (fixture);
    fixture_reopen (fixture_generation (fixture, 3, path));
    snprintf (manifest, sizeof manifest, "%s/MANIFEST", path);
    assert_int_equal (unlink (manifest), 0);
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), -1);
    says (fixture, "compared with gen-3, from which it began");
    assert_false (exists (fixture->dir, "MANIFEST"));
}

TEST_ON (fixture, a_spoiled_base_seeds_nothing)
{
    struct cache_access access = writer_order (fixture, 5);
    char path[160];
    seal_lots (fixture, 3);
    fixture_reopen (fixture->dir);
    snprintf (fixture->dir, sizeof fixture->dir, "%s", fixture_generation (fixture, 3, path));
    assert_int_equal (chmod (strcat (fixture->dir, "/jit_tiny-0a1b-cache"), 0644), 0);
    write_file (fixture_generation (fixture, 3, path), "jit_tiny-0a1b-cache", "Executable one", 14);
    assert_int_equal (chmod (fixture->dir, 0444), 0);
    assert_int_equal (chmod (path, 0555), 0);
    assert_int_equal (chmod (strcat (path, "/xla"), 0555), 0);
    assert_int_equal (chmod (strcat (path, "/autotune"), 0555), 0);
    access.base = 3;
    access.base_sha256 = fixture->seal.sha256;
    assert_int_equal (prepare_writer (fixture, &access), -1);
    says (fixture, "cannot begin gen-5 with a copy of gen-3");
    says (fixture, "\"jit_tiny-0a1b-cache\" was modified after it was sealed");
    assert_false (exists (fixture->root, "gen-5"));
}

TEST_ON (fixture, orders_that_make_no_sense_are_refused)
{
    struct cache_access access = writer_order (fixture, 0);
    assert_int_equal (prepare_writer (fixture, &access), -1);
    access.token = access.base = 7;
    assert_int_equal (prepare_writer (fixture, &access), -1);
    access.base = 0;
    access.role = CACHE_ROLE_READER;
    assert_int_equal (prepare_writer (fixture, &access), -1);
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), -1);
    static const char *const roots[] = { "", "cache", "/tmp/../etc", "/tmp/..", "/../tmp" };
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        access = (struct cache_access){ .role = CACHE_ROLE_WRITER, .frontend_root = text_of (roots[i]), .token = 1 };
        assert_int_equal (prepare_writer (fixture, &access), -1);
        assert_int_equal (fixture->err.code, ERR_REFUSED);
    }
    fixture->seal.sha256 = TEXT_LIT ("none");
    assert_int_equal (prepare_reader (fixture, 0), 0);
    assert_int_equal (mkdir (fixture->root, 0755) == 0 || errno == ENOENT, 1);
    assert_int_equal (prepare_reader (fixture, 9), -1);
}

TEST_ON (fixture, a_reader_without_a_generation_gets_an_empty_closed_folder)
{
    struct stat st;
    for (int i = 0; i < 2; i++) {
        assert_int_equal (prepare_reader (fixture, 0), 0);
        assert_string_equal (fixture->dir, fixture->private_dir);
        assert_int_equal (stat (fixture->dir, &st), 0);
        assert_int_equal (st.st_mode & 07777, 0555);
        assert_false (exists (fixture->dir, "left"));
        assert_int_equal (chmod (fixture->dir, 0755), 0);
        write_file (fixture->dir, "left", "by somebody", 11);
    }
}

TEST_ON (fixture, a_reader_that_does_not_see_the_shared_root_says_so)
{
    fixture->seal.sha256 = TEXT_LIT ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
    assert_int_equal (prepare_reader (fixture, 2), -1);
    says (fixture, "does this host see the shared cache?");
}

/* ---- what a seal refuses ---- */

static void plant_symlink (char *dir)
{
    assert_int_equal (symlink ("empty", strcat (dir, "/x")), 0);
}

static void plant_pipe (char *dir)
{
    assert_int_equal (mkfifo (strcat (dir, "/x"), 0644), 0);
}

static void plant_setuid (char *dir)
{
    write_file (dir, "x", "x", 1);
    assert_int_equal (chmod (strcat (dir, "/x"), 04755), 0);
}

static void plant_link (char *dir)
{
    char old[1400], new[1400];
    snprintf (old, sizeof old, "%s/empty", dir);
    snprintf (new, sizeof new, "%s/x", dir);
    assert_int_equal (link (old, new), 0);
}

static void plant_twin (char *dir)
{
    write_file (dir, "EMPTY", "x", 1);
}

static void plant_dash (char *dir)
{
    write_file (dir, "-rf", "x", 1);
}

static void plant_escape (char *dir)
{
    write_file (dir, "a\033[2Jb", "x", 1);
}

static void plant_manifest (char *dir)
{
    write_file (dir, "MANIFEST", "x", 1);
}

static void plant_depth (char *dir)
{
    char path[1400];
    size_t len = (size_t) snprintf (path, sizeof path, "%s", dir);
    for (int i = 0; i < 17; i++) {
        len += (size_t) snprintf (path + len, sizeof path - len, "/d");
        assert_int_equal (mkdir (path, 0755), 0);
    }
}

struct planting {
    void (*plant) (char *dir);
    const char *says;
};

TEST_ON (fixture, a_seal_refuses_what_is_not_a_plain_file_or_folder)
{
    static const struct planting plantings[] = {
        { plant_symlink, "\"x\" is a symbolic link" },
        { plant_pipe, "\"x\" is neither a regular file nor a folder" },
        { plant_setuid, "\"x\" has a setuid" },
        { plant_link, "has more than one name" },
        { plant_twin, "\"EMPTY\" and \"empty\" differ only" },
        { plant_dash, "\"-rf\" has a name that a cache does not accept" },
        { plant_escape, "\"a\\x1b[2Jb\" has a name that a cache does not accept" },
        { plant_manifest, "\"MANIFEST\" already exists" },
        { plant_depth, "more than 16 folders deep" },
    };
    for (size_t i = 0; i < sizeof plantings / sizeof *plantings; i++) {
        struct cache_access access = writer_order (fixture, 1);
        char dir[1200];
        struct stat st;
        assert_int_equal (prepare_writer (fixture, &access), 0);
        fill (fixture->dir);
        memcpy (dir, fixture->dir, sizeof fixture->dir);
        plantings[i].plant (dir);
        assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), -1);
        says (fixture, plantings[i].says);
        assert_int_equal (stat (fixture->dir, &st), 0);
        assert_int_equal (st.st_mode & 0777, 0755);
        assert_true (exists (fixture->dir, "MANIFEST") == (plantings[i].plant == plant_manifest));
        assert_int_equal (folder_remove (fixture->dir, &fixture->err), 0);
    }
}

TEST_ON (fixture, names_of_our_own_are_no_entries_in_whatever_case)
{
    static const char *const names[] = { "MANIFEST", "manifest", "MANIFEST.part", "Witness", "WITNESS" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct cache_access access = writer_order (fixture, 1);
        assert_int_equal (prepare_writer (fixture, &access), 0);
        write_file (fixture->dir, names[i], "x", 1);
        assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), -1);
        says (fixture, names[i]);
        says (fixture, "already exists");
        assert_int_equal (folder_remove (fixture->dir, &fixture->err), 0);
    }
}

TEST_ON (fixture, a_seal_leaves_a_witness_that_is_not_listed)
{
    struct cache_access access = writer_order (fixture, 5);
    char path[1300];
    struct buf *bytes = test_buf (t);
    struct stat st;
    seal_lots (fixture, 3);
    snprintf (path, sizeof path, "%s/WITNESS", fixture->dir);
    assert_int_equal (stat (path, &st), 0);
    assert_true (S_ISREG (st.st_mode) && st.st_size > 16 && (st.st_mode & 07777) == 0444);
    snprintf (path, sizeof path, "%s/MANIFEST", fixture->dir);
    assert_int_equal (file_read (path, bytes, &fixture->err), 0);
    assert_has_not (bytes, "WITNESS");
    access.base = 3;
    access.base_sha256 = fixture->seal.sha256;
    assert_int_equal (prepare_writer (fixture, &access), 0);
    assert_false (exists (fixture->dir, "WITNESS"));
}

/* ---- a cache of this host's own ---- */

static int prepare_own (struct fixture *fixture, const char *host)
{
    struct cache_access access = { .role = CACHE_ROLE_OWN, .frontend_root = text_of (fixture->root) };
    return cache_prepare_host_cache (&access, text_of (host), fixture->dir, sizeof fixture->dir, &fixture->err);
}

TEST_ON (fixture, a_host_keeps_a_cache_of_its_own_between_runs)
{
    char wanted[160];
    struct stat st;
    assert_int_equal (prepare_own (fixture, "h-1.example"), 0);
    snprintf (wanted, sizeof wanted, "%s/host-h-1.example", fixture->root);
    assert_string_equal (fixture->dir, wanted);
    assert_int_equal (stat (fixture->dir, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0700);
    write_file (fixture->dir, "kept", "half writt", 10);
    assert_int_equal (chmod (fixture->dir, 0755), 0);
    assert_int_equal (prepare_own (fixture, "h-1.example"), 0);
    assert_true (exists (fixture->dir, "kept"));
    assert_int_equal (stat (fixture->dir, &st), 0);
    assert_int_equal (st.st_mode & 07777, 0700);
    assert_int_equal (prepare_own (fixture, "h-2"), 0);
    assert_false (exists (fixture->dir, "kept"));
}

TEST_ON (fixture, what_has_no_place_in_a_cache_of_its_own_is_refused)
{
    static void (*const plants[]) (char *) = { plant_symlink, plant_pipe, plant_setuid };
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        char dir[1200];
        assert_int_equal (prepare_own (fixture, "h"), 0);
        memcpy (dir, fixture->dir, sizeof fixture->dir);
        plants[i](dir);
        assert_int_equal (prepare_own (fixture, "h"), -1);
        says (fixture, "host-h in ");
        says (fixture, "\"x\" ");
        assert_int_equal (unlink (dir), 0);
    }
    assert_int_equal (rmdir (fixture->dir), 0);
    assert_int_equal (symlink ("/", fixture->dir), 0);
    assert_int_equal (prepare_own (fixture, "h"), -1);
    says (fixture, "is not a folder");
    static const char *const names[] = { "", "..", "a/b", "-x", "a\nb" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal (prepare_own (fixture, names[i]), -1);
        says (fixture, "the name of this host cannot be the name of its per-host cache");
    }
}

/* ---- storage that says no ---- */

static int seal_under_a_file_limit (struct fixture *fixture)
{
    struct cache_access access = writer_order (fixture, 6);
    struct rlimit limit = { 100, 100 };
    if (signal (SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit (RLIMIT_FSIZE, &limit))
        return 10;
    if (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err) != -1)
        return 1;
    if (!strstr (fixture->err.text, "gen-6") || !strstr (fixture->err.text, "MANIFEST: File too large"))
        return 2;
    return exists (fixture->dir, "MANIFEST") || exists (fixture->dir, "MANIFEST.part") ? 3 : 0;
}

TEST_ON (fixture, a_seal_that_cannot_write_leaves_no_manifest)
{
    struct cache_access access = writer_order (fixture, 6);
    assert_int_equal (prepare_writer (fixture, &access), 0);
    fill (fixture->dir);
    assert_int_equal (in_child (seal_under_a_file_limit, fixture), 0);
    /* And nothing stands in the way of sealing it once there is room. */
    assert_int_equal (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err), 0);
    assert_int_equal (prepare_reader (fixture, 6), 0);
}

static int seed_under_a_file_limit (struct fixture *fixture)
{
    struct cache_access access = writer_order (fixture, 7);
    struct rlimit limit = { 20, 20 };
    access.base = 6;
    access.base_sha256 = fixture->seal.sha256;
    if (signal (SIGXFSZ, SIG_IGN) == SIG_ERR || setrlimit (RLIMIT_FSIZE, &limit))
        return 10;
    if (prepare_writer (fixture, &access) != -1)
        return 1;
    if (!strstr (fixture->err.text, "cannot copy \"xla/kernel cache.bin\": File too large"))
        return 2;
    return exists (fixture->root, "gen-7") ? 3 : 0;
}

TEST_ON (fixture, a_seed_that_does_not_fit_leaves_no_generation)
{
    seal_lots (fixture, 6);
    assert_int_equal (in_child (seed_under_a_file_limit, fixture), 0);
}

enum { CANNOT_MOUNT = 77 };

static int mount_small (const char *path, unsigned long flags)
{
    if (unshare (CLONE_NEWNS) || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return -1;
    return mount ("tmpfs", path, "tmpfs", flags, "size=64k");
}

static int fill_a_small_disk (struct fixture *fixture)
{
    char big[8192] = { 0 };
    snprintf (fixture->root, sizeof fixture->root, "%s/small", fixture->base);
    if (mkdir (fixture->root, 0755) || mount_small (fixture->root, 0))
        return CANNOT_MOUNT;
    struct cache_access access = writer_order (fixture, 2);
    if (prepare_writer (fixture, &access))
        return 1;
    for (int i = 0; i < 5; i++) {
        char name[16];
        snprintf (name, sizeof name, "f%d", i);
        write_file (fixture->dir, name, big, sizeof big);
    }
    if (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err))
        return 2;
    access.token = 3;
    access.base = 2;
    access.base_sha256 = fixture->seal.sha256;
    if (prepare_writer (fixture, &access) != -1 || !strstr (fixture->err.text, "No space left on device") ||
        !strstr (fixture->err.text, "cannot begin gen-3 with a copy of gen-2") ||
        !strstr (fixture->err.text, "needs 40 KiB; "))
        return 3;
    if (exists (fixture->root, "gen-3"))
        return 4;
    if (mount (NULL, fixture->root, NULL, MS_REMOUNT | MS_RDONLY, NULL))
        return CANNOT_MOUNT;
    access.base = 0;
    if (prepare_writer (fixture, &access) != -1 || !strstr (fixture->err.text, "Read-only file system"))
        return 5;
    return prepare_reader (fixture, 2) ? 6 : 0;
}

/* Every page of a disk taken one by one, so that the seal of the same generation fails at each place it can. */
static int seal_on_a_disk_that_fills (struct fixture *fixture)
{
    char page[4096] = { 0 }, ballast[200];
    int failures = 0, rc = -1;
    snprintf (fixture->root, sizeof fixture->root, "%s/small", fixture->base);
    struct cache_access access = writer_order (fixture, 2);
    if (mkdir (fixture->root, 0755) || mount_small (fixture->root, 0))
        return CANNOT_MOUNT;
    if (prepare_writer (fixture, &access))
        return 1;
    write_file (fixture->dir, "entry", "bytes", 5);
    snprintf (ballast, sizeof ballast, "%s/ballast", fixture->root);
    int fd = open (ballast, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    off_t pages = 0;
    while (write (fd, page, sizeof page) == sizeof page)
        pages++;
    for (; rc && pages >= 0 && ftruncate (fd, pages * (off_t) sizeof page) == 0; pages--) {
        rc = cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err);
        if (rc == 0)
            break;
        failures++;
        if (!strstr (fixture->err.text, "No space left on device") || !strstr (fixture->err.text, "gen-2") ||
            !strstr (fixture->err.text, "; 0 KiB are free there"))
            return 2;
        if (exists (fixture->dir, "MANIFEST") || exists (fixture->dir, "MANIFEST.part") ||
            exists (fixture->dir, "WITNESS"))
            return 3;
        if (!exists (fixture->dir, "entry"))
            return 4;
    }
    if (rc || failures < 2) /* the witness did not fit, and then MANIFEST did not */
        return 5;
    return prepare_reader (fixture, 2) ? 6 : 0;
}

TEST_ON (fixture, a_seal_on_a_full_disk_publishes_and_loses_nothing)
{
    int code = in_child (seal_on_a_disk_that_fills, fixture);
    if (code == CANNOT_MOUNT)
        skip ();
    assert_int_equal (code, 0);
}

static int mount_over_a_generation (struct fixture *fixture)
{
    char gen[160];
    seal_lots (fixture, 2);
    if (mount_small (fixture_generation (fixture, 2, gen), 0))
        return CANNOT_MOUNT;
    if (prepare_reader (fixture, 2) != -1 || !strstr (fixture->err.text, "another file system is mounted"))
        return 1;
    return 0;
}

TEST_ON (fixture, a_generation_on_another_file_system_is_refused)
{
    int code = in_child (mount_over_a_generation, fixture);
    if (code == CANNOT_MOUNT)
        skip ();
    assert_int_equal (code, 0);
}

TEST_ON (fixture, a_root_that_is_a_file_is_said_in_words)
{
    struct cache_access access = writer_order (fixture, 2);
    write_file (fixture->base, "cache", "x", 1);
    assert_int_equal (prepare_writer (fixture, &access), -1);
    says (fixture, "is not a folder");
    fixture->seal.sha256 = TEXT_LIT ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
    assert_int_equal (prepare_reader (fixture, 2), -1);
    says (fixture, "expected a folder");
}

/* Each is given with its own digest, so that only the lie itself can be what is refused. */
TEST_ON (fixture, a_manifest_that_lies_is_refused_by_what_it_says)
{
    static const char nothing[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    static const struct {
        const char *format;
        const char *says;
    } lies[] = {
        { "%.64s 0 0444 empty\n", NULL },
        { "%.64s 1 0444 empty\n", "\"empty\" has 0 bytes, but was sealed with 1" },
        { "%.63s4 0 0444 empty\n", "\"empty\" was modified after it was sealed" },
        { "%.64s 0 0555 empty\n", "\"empty\" has mode 0444, but was sealed with 0555" },
        { "%.64s 0 0444 another\n", "\"" },
        { "- 0 0444 empty/\n", "\"empty\" is a file, but was sealed as a folder" },
        { "%.64s 0 0444 empty\n%.64s 0 0444 empty\n", "line 2 is not sorted" },
        { "%.64s 0 0444 empty\n%.64s 0 0444 e\n", "line 2 is not sorted" },
        { "%.64s 0 0444 Empty\n%.64s 0 0444 empty\n", "lines 1 and 2 have paths that differ only in case" },
        { "%.64s 0 0444 em\tpty\n", "line 1" },
        { "%.64s 0 0444 WITNESS\n", "line 1" },
        { "%.64s 0 0444 ../empty\n", "line 1" },
        { "", "\"empty\" exists, but was never sealed" },
    };
    char dir[160];
    folder_make (fixture_generation (fixture, 2, dir), 0755, &fixture->err);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        char lie[400], hex[DIGEST_HEX_BYTES], path[200];
        snprintf (path, sizeof path, "%s/empty", dir);
        assert_true (unlink (path) == 0 || errno == ENOENT);
        write_file (dir, "empty", "", 0);
        assert_int_equal (chmod (path, 0444), 0);
        snprintf (lie, sizeof lie, lies[i].format, nothing, nothing);
        write_file (dir, "MANIFEST", lie, strlen (lie));
        struct digest digest = digest_of (lie, strlen (lie));
        fixture->seal.sha256 = text_of (digest_hex (&digest, hex));
        assert_int_equal (prepare_reader (fixture, 2), lies[i].says ? -1 : 0);
        if (lies[i].says)
            says (fixture, lies[i].says);
    }
}

TEST_ON (fixture, a_full_and_a_read_only_disk_are_said_in_words)
{
    int code = in_child (fill_a_small_disk, fixture);
    if (code == CANNOT_MOUNT)
        skip ();
    assert_int_equal (code, 0);
}

static int prepare_as_nobody (struct fixture *fixture)
{
    struct cache_access access = writer_order (fixture, 2);
    if (geteuid () == 0 && setresuid (65534, 65534, 65534))
        return CANNOT_MOUNT;
    if (prepare_writer (fixture, &access) != -1)
        return 1;
    return strstr (fixture->err.text, "user 65534 may not write there") &&
                   strstr (fixture->err.text, "Permission denied")
               ? 0
               : 2;
}

TEST_ON (fixture, a_root_one_may_not_write_is_said_in_words)
{
    assert_int_equal (chmod (fixture->base, 0755), 0);
    assert_int_equal (folder_make (fixture->root, 0755, &fixture->err), 0);
    if (geteuid () != 0)
        assert_int_equal (chmod (fixture->root, 0555), 0);
    assert_int_equal (in_child (prepare_as_nobody, fixture), 0);
    assert_int_equal (chmod (fixture->root, 0755), 0);
}

/* ---- the constant path ---- */

TEST_ON (fixture, the_constant_path_moves_at_once)
{
    char link_path[128], target[128];
    snprintf (link_path, sizeof link_path, "%s/cache-link", fixture->base);
    for (int i = 0; i < 3; i++) {
        char dir[24];
        snprintf (dir, sizeof dir, "/gen-%d", i);
        assert_int_equal (cache_set_symlink (link_path, dir, &fixture->err), 0);
        ssize_t len = readlink (link_path, target, sizeof target);
        assert_int_equal (len, 6);
        assert_memory_equal (target, dir, 6);
    }
    assert_false (exists (fixture->base, "cache-link.next"));
    assert_int_equal (unlink (link_path), 0);
    assert_int_equal (mkdir (link_path, 0755), 0);
    assert_int_equal (cache_set_symlink (link_path, "/gen-9", &fixture->err), -1);
    assert_false (exists (fixture->base, "cache-link.next"));
}

/* alone: environment */
/* Real environments, built by the real installer from tests/pins/tiny.txt. Where no package index can be reached the
 * tests that build are skipped; the others run. */
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "test.h"
#include "worker/environment/installed.h"
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>

#define NONCE "0123456789abcdef0123456789abcdef"

enum { TIMEOUT_MS = 240000 };

struct shop {
    char base[64];
    char pins[512], sha256[DIGEST_HEX_BYTES];
    char env_dir[128]; /* as ordered */
    char path[160];    /* with the interpreter's version */
    char site[256];
    bool built; /* the shared environment is there */
};

/* One run of the program, in a process of its own. */
struct talk {
    pid_t pid;
    int fd;
    struct buf received;
    int status;
};

static void sha256_of (const char *path, char hex[DIGEST_HEX_BYTES])
{
    struct digest digest;
    assert_int_equal (digest_of_file (path, &digest, NULL), 0);
    digest_hex (&digest, hex);
}

static void child (int theirs)
{
    char number[16], word[] = "restore", *argv[] = { word, NULL };
    int log = open ("/dev/null", O_WRONLY);
    snprintf (number, sizeof number, "%d", dup (theirs));
    if (!getenv ("SLICEUP_TEST_VERBOSE") && dup2 (log, 2) < 0)
        _exit (99);
    setenv ("SLICEUP_FD", number, 1);
    _exit (restore_main (1, argv));
}

static void begin (struct talk *talk, const char *pins, const char *sha256, const char *env_dir)
{
    char line[2048];
    int pair[2];
    assert_int_equal (socketpair (AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    buf_init (&talk->received, 1 << 20);
    talk->pid = fork ();
    assert_true (talk->pid >= 0);
    if (talk->pid == 0)
        child (pair[1]);
    close (pair[1]);
    talk->fd = pair[0];
    int len = snprintf (line, sizeof line,
                        "{\"type\":\"attempt\",\"protocol\":1,\"nonce\":\"" NONCE "\",\"rung\":\"environment\","
                        "\"args\":{\"pins\":\"%s\",\"pins_sha256\":\"%s\",\"env_dir\":\"%s\","
                        "\"python\":\"python3\"}}\n",
                        pins, sha256, env_dir);
    assert_int_equal (send (talk->fd, line, (size_t) len, MSG_NOSIGNAL), len);
}

/* True when `wanted` was heard; false at the end of the stream. */
static bool receive (struct talk *talk, const char *wanted)
{
    uint64_t deadline_ms = clock_boot_ms () + TIMEOUT_MS;
    char chunk[4096];
    for (;;) {
        struct pollfd one = { .fd = talk->fd, .events = POLLIN };
        if (wanted && strstr (buf_c (&talk->received), wanted))
            return true;
        assert_true (clock_boot_ms () < deadline_ms);
        if (poll (&one, 1, 1000) <= 0)
            continue;
        ssize_t got = read (talk->fd, chunk, sizeof chunk);
        if (got <= 0)
            return false;
        buf_add (&talk->received, chunk, (size_t) got);
    }
}

static void finish (struct talk *talk)
{
    receive (talk, NULL);
    assert_int_equal (waitpid (talk->pid, &talk->status, 0), talk->pid);
    close (talk->fd);
    talk->status = WIFEXITED (talk->status) ? WEXITSTATUS (talk->status) : 128;
}

static void restore (struct talk *talk, const struct shop *shop)
{
    begin (talk, shop->pins, shop->sha256, shop->env_dir);
    finish (talk);
}

static void received (struct talk *talk, const char *wanted)
{
    assert_has (buf_c (&talk->received), wanted);
}

static void failed (struct talk *talk, const char *owner, const char *sentence)
{
    char wanted[1024];
    snprintf (wanted, sizeof wanted, "{\"type\":\"failure\",\"layer\":\"%s\",\"text\":\"", owner);
    received (talk, wanted);
    received (talk, sentence);
    assert_has_not (&talk->received, "\"type\":\"done\"");
    assert_int_equal (talk->status, 1);
    buf_release (&talk->received);
}

static void passed (struct talk *talk, const char *how)
{
    if (talk->status != 0)
        fail_msg ("status %d:\n%s", talk->status, buf_c (&talk->received));
    received (talk, how);
    received (talk, "{\"type\":\"done\",\"nonce\":\"" NONCE "\"}\n");
    assert_has_not (&talk->received, "\"type\":\"failure\"");
    buf_release (&talk->received);
}

static void place (struct shop *shop, const char *name)
{
    struct pins pins = { .python = TEXT_LIT ("python3"), .env_dir = text_of (shop->env_dir) };
    snprintf (shop->env_dir, sizeof shop->env_dir, "%s/envs/%s", shop->base, name);
    pins.env_dir = text_of (shop->env_dir);
    assert_int_equal (environment_path (&pins, shop->path, sizeof shop->path, NULL), 0);
    snprintf (shop->site, sizeof shop->site, "%s/lib/python%s/site-packages", shop->path,
              strrchr (shop->path, '-') + 3);
}

static int shop_setup (void **state)
{
    struct shop *shop = mem_alloc (sizeof *shop);
    struct talk talk;
    snprintf (shop->base, sizeof shop->base, "/tmp/sliceup-restore-XXXXXX");
    assert_non_null (mkdtemp (shop->base));
    /* The installer's cache must not answer for a package index that cannot be reached. */
    assert_int_equal (setenv ("HOME", shop->base, 1), 0);
    assert_int_equal (setenv ("PIP_NO_CACHE_DIR", "1", 1), 0);
    snprintf (shop->pins, sizeof shop->pins, "%s/tests/pins/tiny.txt", SLICEUP_SOURCE_DIR);
    sha256_of (shop->pins, shop->sha256);
    place (shop, "shared");
    restore (&talk, shop);
    shop->built = !strstr (buf_c (&talk.received), "\"layer\":\"platform\"");
    *state = shop;
    if (shop->built)
        passed (&talk, "\"text\":\"installed by pip ");
    else
        buf_release (&talk.received);
    return 0;
}

static int shop_teardown (void **state)
{
    struct shop *shop = *state;
    assert_int_equal (folder_remove (shop->base, NULL), 0);
    mem_free (shop);
    return 0;
}

static struct shop *open_shop (void **state)
{
    struct shop *shop = *state;
    if (!shop->built)
        skip ();
    place (shop, "shared");
    return shop;
}

static void write_text (const char *path, const char *text)
{
    assert_int_equal (atomic_file_write (path, text, strlen (text), 0644, NULL), 0);
}

/* A pin file of the test's own; `shop` orders it from now on. */
static void order_pins (struct shop *shop, const char *text)
{
    snprintf (shop->pins, sizeof shop->pins, "%s/pins.txt", shop->base);
    write_text (shop->pins, text);
    sha256_of (shop->pins, shop->sha256);
}

static void order_tiny (struct shop *shop)
{
    snprintf (shop->pins, sizeof shop->pins, "%s/tests/pins/tiny.txt", SLICEUP_SOURCE_DIR);
    sha256_of (shop->pins, shop->sha256);
}

TEST_IN (what_was_built_is_found_complete_and_has_the_same_fingerprint, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk talk, again;
    char marker[256], hex[DIGEST_HEX_BYTES + 1], key[] = "\"fingerprint\":\"";
    struct buf bytes;
    restore (&talk, shop);
    restore (&again, shop);
    received (&talk, "\"six\":\"1.17.0\"");
    received (&talk, "\"pins-sha256\":\"");
    received (&talk, shop->sha256);
    received (&talk, key);
    const char *one = strstr (buf_c (&talk.received), key), *other = strstr (buf_c (&again.received), key);
    assert_memory_equal (one, other, sizeof key + 64);
    received (&talk, " files)\",\"source\":\"environment\"");
    received (&talk, "{\"type\":\"fact\",\"name\":\"environment.records\",\"value\":\"as installed\"}");
    passed (&talk, "\"text\":\"already installed; 2 packages verified (");
    passed (&again, "already installed");
    snprintf (marker, sizeof marker, "%s/" ENVIRONMENT_COMPLETE, shop->path);
    buf_init (&bytes, 100);
    assert_int_equal (file_read (marker, &bytes, NULL), 0);
    snprintf (hex, sizeof hex, "%s\n", shop->sha256);
    assert_string_equal (buf_c (&bytes), hex);
    buf_release (&bytes);
}

TEST_IN (another_version_in_a_complete_environment_is_named_and_not_repaired, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk talk;
    char path[512];
    struct buf kept, changed;
    snprintf (path, sizeof path, "%s/six-1.17.0.dist-info/METADATA", shop->site);
    buf_init (&kept, 1 << 20);
    buf_init (&changed, 1 << 20);
    assert_int_equal (file_read (path, &kept, NULL), 0);
    const char *version = strstr (buf_c (&kept), "Version: 1.17.0");
    assert_non_null (version);
    buf_add (&changed, kept.ptr, (size_t) (version - (char *) kept.ptr));
    buf_puts (&changed, "Version: 9.9\n\n");
    write_text (path, buf_c (&changed));
    for (int i = 0; i < 2; i++) {
        restore (&talk, shop);
        received (&talk, "; in /");
        failed (&talk, "bundle", "\"text\":\"six 9.9 is installed, 1.17.0 is pinned; in /");
    }
    write_text (path, buf_c (&kept));
    restore (&talk, shop);
    passed (&talk, "already installed");
    buf_release (&changed);
    buf_release (&kept);
}

TEST_IN (a_missing_and_an_extra_package_are_named, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk talk;
    char path[512], aside[512], extra[512];
    snprintf (path, sizeof path, "%s/six-1.17.0.dist-info", shop->site);
    snprintf (aside, sizeof aside, "%s/aside", shop->base);
    snprintf (extra, sizeof extra, "%s/left_pad-1.0.dist-info", shop->site);
    assert_int_equal (rename (path, aside), 0);
    assert_int_equal (mkdir (extra, 0755), 0);
    strcat (extra, "/METADATA");
    write_text (extra, "Name: left_pad\nVersion: 1.0\n\n");
    restore (&talk, shop);
    failed (&talk, "bundle",
            "\"text\":\"left-pad 1.0 is installed and not pinned; six is not installed, 1.17.0 is pinned; in /");
    assert_int_equal (rename (aside, path), 0);
    *strrchr (extra, '/') = '\0';
    assert_int_equal (folder_remove (extra, NULL), 0);
}

TEST_IN (a_complete_environment_of_other_pins_is_refused_with_the_difference, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk talk;
    order_pins (shop, "six==1.16.0 --hash=sha256:8abb2f1d86890a2dfb989f9a77cfcfd3e47c2a354b01111771326f8aa26e0254\n");
    restore (&talk, shop);
    received (&talk, "was built from other pins");
    failed (&talk, "bundle", "six 1.17.0 is installed, 1.16.0 is pinned");
    order_tiny (shop);
}

TEST_IN (an_interpreter_that_is_gone_is_a_broken_bundle, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk talk;
    char python[256], aside[256];
    snprintf (python, sizeof python, "%s/bin/python", shop->path);
    snprintf (aside, sizeof aside, "%s/bin/python.aside", shop->path);
    assert_int_equal (rename (python, aside), 0);
    restore (&talk, shop);
    failed (&talk, "bundle", "cannot ask the environment's own interpreter for its version");
    assert_int_equal (rename (aside, python), 0);
}

TEST_IN (of_two_at_once_one_builds_and_the_other_waits, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk one, other;
    char held[64];
    place (shop, "race");
    begin (&one, shop->pins, shop->sha256, shop->env_dir);
    assert_true (receive (&one, "{\"type\":\"phase\",\"name\":\"build\"}"));
    begin (&other, shop->pins, shop->sha256, shop->env_dir);
    snprintf (held, sizeof held, "\"name\":\"lock (held by process %d on ", (int) one.pid);
    assert_true (receive (&other, held));
    finish (&one);
    finish (&other);
    passed (&one, "installed by pip ");
    passed (&other, "already installed");
}

TEST_IN (an_index_that_cannot_be_reached_is_the_platform_s_and_the_next_try_builds, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk talk;
    char marker[256];
    place (shop, "unreachable");
    const char *links = getenv ("PIP_FIND_LINKS");
    char *kept = links ? mem_text (links) : NULL;
    /* Port 9 of this machine: nothing listens there. */
    assert_int_equal (setenv ("PIP_INDEX_URL", "http://127.0.0.1:9/simple", 1), 0);
    assert_int_equal (unsetenv ("PIP_FIND_LINKS"), 0);
    restore (&talk, shop);
    failed (&talk, "platform", "this host cannot reach the package index");
    snprintf (marker, sizeof marker, "%s/" ENVIRONMENT_COMPLETE, shop->path);
    assert_int_equal (access (marker, F_OK), -1);
    assert_int_equal (unsetenv ("PIP_INDEX_URL"), 0);
    if (kept)
        assert_int_equal (setenv ("PIP_FIND_LINKS", kept, 1), 0);
    mem_free (kept);
    restore (&talk, shop);
    passed (&talk, "installed by pip ");
}

TEST_IN (a_download_with_another_hash_is_a_broken_bundle, NULL, NULL)
{
    struct shop *shop = open_shop (state);
    struct talk talk;
    place (shop, "hash");
    order_pins (shop, "six==1.17.0 --hash=sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n");
    restore (&talk, shop);
    failed (&talk, "bundle", "a downloaded package does not have the pinned sha256");
    order_tiny (shop);
}

/* ---- what needs no index ---- */

TEST_IN (pins_that_are_not_the_ones_that_were_checked_touch_nothing, NULL, NULL)
{
    struct shop *shop = *state;
    struct talk talk;
    place (shop, "unchecked");
    begin (&talk, shop->pins, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", shop->env_dir);
    finish (&talk);
    failed (&talk, "bundle", "changed since the run started");
    assert_int_equal (access (shop->path, F_OK), -1);
}

TEST_IN (a_folder_of_somebody_else_s_is_left_alone, NULL, NULL)
{
    struct shop *shop = *state;
    struct talk talk;
    char thesis[256];
    place (shop, "thesis");
    assert_int_equal (folder_make (shop->path, 0755, NULL), 0);
    snprintf (thesis, sizeof thesis, "%s/thesis.tex", shop->path);
    write_text (thesis, "years of work");
    restore (&talk, shop);
    failed (&talk, "host", "is not an environment that sliceup started to build");
    assert_int_equal (access (thesis, F_OK), 0);
}

TEST_IN (orders_without_their_parts_are_ours_to_answer_for, NULL, NULL)
{
    struct shop *shop = *state;
    struct talk talk;
    begin (&talk, "relative.txt", shop->sha256, shop->env_dir);
    finish (&talk);
    failed (&talk, "sliceup", "the rung's args.pins is not an absolute path");
    begin (&talk, "/nonexistent/pins.txt", shop->sha256, shop->env_dir);
    finish (&talk);
    failed (&talk, "bundle", "/nonexistent/pins.txt");
    begin (&talk, shop->pins, shop->sha256, "relative");
    finish (&talk);
    failed (&talk, "host", "expected an absolute path");
}

static int by_hand (int argc, char **argv)
{
    int status;
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0) {
        int log = open ("/dev/null", O_WRONLY);
        if (dup2 (log, 1) < 0 || dup2 (log, 2) < 0)
            _exit (99);
        _exit (restore_main (argc, argv));
    }
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return WEXITSTATUS (status);
}

TEST_IN (by_hand_it_takes_words_and_says_how_they_go, NULL, NULL)
{
    struct shop *shop = *state;
    char word[] = "restore", help[] = "--help", pins[] = "--pins", env_dir[] = "--env-dir", odd[] = "--odd";
    char *alone[] = { word, NULL }, *asks[] = { word, help, NULL }, *half[] = { word, pins, shop->pins, NULL };
    char *wrong[] = { word, odd, NULL }, *whole[] = { word, pins, shop->pins, env_dir, shop->env_dir, NULL };
    char *more[] = { word, pins, shop->pins, env_dir, shop->env_dir, odd + 2, NULL };
    assert_int_equal (by_hand (1, alone), 2);
    assert_int_equal (by_hand (2, asks), 0);
    assert_int_equal (by_hand (3, half), 2);
    assert_int_equal (by_hand (2, wrong), 2);
    assert_int_equal (by_hand (6, more), 2);
    place (shop, "shared");
    if (shop->built)
        assert_int_equal (by_hand (5, whole), 0);
}

TEST_GROUP (shop_setup, shop_teardown)

/* alone: io */
#include <limits.h>
#include <sys/xattr.h>

#include "common/io/atomic_file.h"
#include "common/io/safe_path.h"
#include "test.h"

enum { ALICE = 61001, MALLORY = 61002 };

static char top[64];
static const struct safe_path_rule shared = { .what = "cache root",
                                              .instead = "set another cache.root",
                                              .trust = "cache: {trust: [...]}" };
static const struct safe_path_rule own = { .what = "home",
                                           .instead = "set SLICEUP_HOME to another folder",
                                           .own = true };

static int make_top (void **state)
{
    (void) state;
    snprintf (top, sizeof top, "/tmp/sliceup-safe-XXXXXX");
    return mkdtemp (top) && chmod (top, 0755) == 0 ? 0 : -1;
}

static int remove_top (void **state)
{
    (void) state;
    return folder_remove (top, NULL);
}

static const char *path_of (const char *name)
{
    static char paths[8][PATH_MAX];
    static int turn;
    char *out = paths[turn++ % 8];
    snprintf (out, PATH_MAX, "%s%s%s", top, name[0] ? "/" : "", name);
    return out;
}

static void make (const char *name, mode_t mode, uid_t uid)
{
    assert_int_equal (mkdir (path_of (name), 0700), 0);
    assert_int_equal (chown (path_of (name), uid, uid), 0);
    assert_int_equal (chmod (path_of (name), mode), 0);
}

static void make_link (const char *name, const char *target, uid_t uid)
{
    assert_int_equal (symlink (target, path_of (name)), 0);
    assert_int_equal (lchown (path_of (name), uid, uid), 0);
}

static void assert_good (const char *name, const struct safe_path_rule *rule)
{
    struct err err = { 0 };
    if (safe_path_check (path_of (name), rule, &err) != 0)
        fail_msg ("%s: %s", name, err.text);
}

static void assert_refused (const char *name, const struct safe_path_rule *rule, const char *words[])
{
    struct err err = { 0 };
    if (safe_path_check (path_of (name), rule, &err) == 0)
        fail_msg ("%s is not refused", name);
    if (err.code != ERR_REFUSED)
        fail_msg ("%s: code %d: %s", name, err.code, err.text);
    for (int i = 0; words[i]; i++)
        assert_has (err.text, words[i]);
}
#define WORDS(...) ((const char *[]){ __VA_ARGS__, NULL })

static bool is_root (void)
{
    if (geteuid () == 0)
        return true;
    print_message ("not run: folders of other users are made by root\n");
    return false;
}

TEST_IN (what_only_its_user_may_change_is_good, make_top, remove_top)
{
    make ("a", 0755, geteuid ());
    make ("a/b", 0700, geteuid ());
    assert_good ("a/b", &shared);
    assert_good ("a/b", &own);
    assert_good ("a/b/", &own);
    assert_good ("a/./b/../b/.", &own);
    assert_good ("a/b/not-there/at-all", &own);
}

TEST_IN (what_is_neither_folder_nor_file_is_told_so, make_top, remove_top)
{
    struct err err = { 0 };
    assert_int_equal (safe_path_check ("/dev/null", &own, &err), -1);
    assert_string_equal (err.text, "home /dev/null is neither a folder nor a file: set SLICEUP_HOME to another folder");
}

TEST_IN (what_others_may_write_is_refused, make_top, remove_top)
{
    static const mode_t modes[] = { 0777, 0775, 0757, 01777, 02775, 0720, 0702 };
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        char mode[8];
        make ("a", modes[i], geteuid ());
        snprintf (mode, sizeof mode, "%04o", (unsigned) modes[i]);
        assert_refused ("a", &shared,
                        WORDS (path_of ("a"), mode, "owner ", "chmod go-w", "set another cache.root",
                               "NFS that maps all users to one", "cache: {trust: [...]}"));
        assert_refused ("a", &own, WORDS ("home ", mode, "chmod go-w", "SLICEUP_HOME"));
        assert_refused ("a/.", &own, WORDS (mode));
        assert_int_equal (rmdir (path_of ("a")), 0);
    }
}

TEST_IN (a_folder_on_the_way_counts, make_top, remove_top)
{
    make ("a", 0777, geteuid ());
    make ("a/b", 0755, geteuid ());
    assert_refused ("a/b", &shared, WORDS (path_of ("a/b"), "lies below", path_of ("a"), "0777", "chmod go-w"));
    assert_refused ("a/not-there", &shared, WORDS ("lies below", "0777"));
    assert_refused ("a/../a/b/..", &shared, WORDS ("0777"));
    assert_int_equal (chmod (path_of ("a"), 01777), 0);
    assert_good ("a/b", &shared); /* sticky: nobody can take b away */
    assert_good ("a/not-there", &shared);
}

/* Where umask is 002, every user has a group of its own. */
TEST_IN (a_private_group_on_the_way_is_nobody_else, make_top, remove_top)
{
    if (!is_root ())
        return;
    make ("a", 0775, 0); /* of group root, in which is nobody but root */
    make ("a/b", 0755, 0);
    assert_good ("a/b", &shared);
    assert_refused ("a", &shared, WORDS ("0775"));
    assert_int_equal (chown (path_of ("a"), 0, 1), 0); /* group daemon is that of user daemon */
    assert_refused ("a/b", &shared, WORDS ("lies below", "0775"));
    assert_int_equal (chown (path_of ("a"), 0, MALLORY), 0); /* of a group that nothing is known of */
    assert_refused ("a/b", &shared, WORDS ("lies below", "0775"));
    assert_int_equal (chown (path_of ("a"), 0, 0), 0);
    assert_int_equal (chmod (path_of ("a"), 0777), 0);
    assert_refused ("a/b", &shared, WORDS ("lies below", "0777"));
}

TEST_IN (others_own_nothing_of_it, make_top, remove_top)
{
    if (!is_root ())
        return;
    make ("a", 01777, 0);
    make ("a/b", 0755, MALLORY);
    make ("a/b/c", 0755, 0);
    make ("d", 0755, 0);
    make ("d/e", 0755, MALLORY);
    assert_refused (
        "d/e", &shared,
        WORDS (path_of ("d/e"), "uid 61002", "0755", "chown it to root (uid 0)", "list 61002 in cache: {trust"));
    assert_refused ("d/e", &own, WORDS ("uid 61002", "chown", "SLICEUP_HOME"));
    assert_refused ("a/b/c", &shared, WORDS ("lies below", path_of ("a/b"), "uid 61002"));
    assert_refused ("d/../a/b/../b/c", &shared, WORDS ("lies below", path_of ("a/b")));
}

TEST_IN (whom_the_rule_trusts_may_own_it_and_others_not, make_top, remove_top)
{
    if (!is_root ())
        return;
    static const uint32_t uids[] = { 7, ALICE };
    struct safe_path_rule rule = shared;
    rule.uids = uids;
    rule.uids_n = 2;
    make ("a", 0755, ALICE);
    make ("a/b", 0755, ALICE);
    make ("a/c", 0755, MALLORY);
    make ("a/d", 0775, ALICE);
    assert_good ("a/b", &rule);
    assert_refused ("a/b", &shared, WORDS ("uid 61001"));
    assert_refused ("a/c", &rule, WORDS ("uid 61002"));
    assert_refused ("a/d", &rule, WORDS ("0775")); /* trust is in an owner, not in whoever is in a group */
}

TEST_IN (links_are_followed_and_judged, make_top, remove_top)
{
    make ("a", 0755, geteuid ());
    make ("bad", 0777, geteuid ());
    make ("bad/inner", 0755, geteuid ());
    make_link ("good", "a", geteuid ());
    make_link ("absolute", path_of ("a"), geteuid ());
    make_link ("into", "bad/inner", geteuid ());
    make_link ("bad/out", "../a", geteuid ());
    make_link ("round", "round", geteuid ());
    assert_good ("good", &shared);
    assert_good ("absolute", &shared);
    assert_good ("good/not-there", &shared);
    assert_refused ("into", &shared, WORDS ("lies below", path_of ("bad"), "0777"));
    assert_refused ("bad/out", &shared, WORDS ("lies below", path_of ("bad"))); /* who may write there may bend it */
    assert_refused ("round", &shared, WORDS ("40 symbolic links"));
    assert_refused ("good", &own, WORDS ("symbolic link", "owner ", "0777", "SLICEUP_HOME"));
    static const char *const same[] = { "good/", "good/.", "good//.//", "good/./.", "a/../good/.", "./good/./" };
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_refused (same[i], &own, WORDS ("symbolic link", path_of ("good")));
    assert_good ("good/../a", &own); /* a, by a link on the way */
    make ("a/b", 0755, geteuid ());
    assert_good ("good/b", &own); /* a link on the way to it is none itself */
}

TEST_IN (a_link_that_somebody_left_in_a_sticky_folder_is_refused, make_top, remove_top)
{
    if (!is_root ())
        return;
    make ("a", 0755, 0);
    make ("tmp", 01777, 0);
    make_link ("tmp/theirs", path_of ("a"), MALLORY);
    make_link ("tmp/ours", path_of ("a"), 0);
    assert_refused ("tmp/theirs", &shared,
                    WORDS ("leads through the symbolic link", path_of ("tmp/theirs"), "uid 61002"));
    assert_good ("tmp/ours", &shared);
}

/* As another user: what root owns is good to read, and no home. */
static int as_alice (void)
{
    struct err err = { 0 };
    if (setgid (ALICE) || setuid (ALICE))
        return 10;
    if (safe_path_check (path_of ("roots"), &shared, &err) != 0)
        return 11;
    if (safe_path_check (path_of ("alices"), &own, &err) != 0)
        return 12;
    if (safe_path_check (path_of ("roots"), &own, &err) == 0 || !strstr (err.text, "root (uid 0)"))
        return 13;
    if (safe_path_check (path_of ("mallorys"), &shared, &err) == 0 || err.code != ERR_REFUSED)
        return 14;
    return safe_path_check (path_of ("closed/inner"), &shared, &err) != 0 ? 15 : 0; /* who opens it hears why not */
}

TEST_IN (for_another_user_it_is_that_users_own_that_counts, make_top, remove_top)
{
    if (!is_root ())
        return;
    int status = 0;
    make ("roots", 0755, 0);
    make ("alices", 0700, ALICE);
    make ("mallorys", 0755, MALLORY);
    make ("closed", 0700, 0);
    make ("closed/inner", 0755, 0);
    pid_t pid = fork ();
    if (pid == 0)
        _exit (as_alice ());
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
}

/* acl(5) as the kernel keeps it: MALLORY may do everything. */
static bool give_acl (const char *path, const char *which)
{
    static const struct {
        uint32_t version;
        struct {
            uint16_t tag, perm;
            uint32_t id;
        } entries[5];
    } acl = {
        2,
        { { 0x01, 7, UINT32_MAX },
          { 0x02, 7, MALLORY },
          { 0x04, 5, UINT32_MAX },
          { 0x10, 7, UINT32_MAX },
          { 0x20, 5, UINT32_MAX } },
    };
    if (setxattr (path, which, &acl, sizeof acl, 0) == 0)
        return true;
    print_message ("not run: no ACLs on this file system\n");
    return false;
}

TEST_IN (an_acl_that_lets_somebody_write_shows_in_the_mode, make_top, remove_top)
{
    make ("a", 0755, geteuid ());
    if (!give_acl (path_of ("a"), "system.posix_acl_access"))
        return;
    assert_refused ("a", &shared, WORDS ("0775"));
}

TEST_IN (an_acl_that_new_things_inherit_opens_none_that_we_make, make_top, remove_top)
{
    make ("a", 0755, geteuid ());
    if (!give_acl (path_of ("a"), "system.posix_acl_default"))
        return;
    assert_good ("a", &shared);
    mode_t before = umask (0);
    assert_int_equal (folder_make (path_of ("a/b"), 0755, NULL), 0);
    umask (before);
    assert_good ("a/b", &shared);
}

TEST_IN (long_paths_leave_room_for_what_to_do, make_top, remove_top)
{
    char name[3000] = "";
    struct err err = { 0 };
    make ("a", 0777, geteuid ());
    for (int i = 0; i < 28; i++)
        strcat (name, i ? "/0123456789012345678901234567890123456789" : "a/0123456789");
    assert_int_equal (folder_make (path_of (name), 0700, &err), 0);
    assert_refused (name, &shared, WORDS ("0777", "set another cache.root"));
    char beyond[PATH_MAX + 100];
    memset (beyond, 'x', sizeof beyond);
    beyond[0] = '/';
    beyond[sizeof beyond - 1] = '\0';
    assert_int_equal (safe_path_check (beyond, &shared, &err), -1);
    assert_int_equal (err.code, ERR_LIMIT);
}

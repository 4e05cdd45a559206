/* alone: attempt */
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/attempt/attempt_state.h"
#include "worker/sandbox/confine.h"
#include "worker/sandbox/confine_sandbox.h"
#include <linux/capability.h>
#include <linux/landlock.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#define RIGHT(name) LANDLOCK_ACCESS_FS_##name
#define RIGHT_TRUNCATE (UINT64_C (1) << 14)
#define MODES                                                                                                          \
    (PROBE_BIT (PROBE_CHMOD) | PROBE_BIT (PROBE_UTIMES) | PROBE_BIT (PROBE_SETXATTR) | PROBE_BIT (PROBE_SETFLAGS))

/* A cache of one generation, and a child in a sandbox around it. */
struct fixture {
    char top[64], root[96], bundle[128], generation[160], scratch[96];
    struct arena arena;
};

static void fixture_open (struct fixture *fixture)
{
    snprintf (fixture->top, sizeof fixture->top, "/tmp/test_confine.XXXXXX");
    assert_non_null (mkdtemp (fixture->top));
    snprintf (fixture->root, sizeof fixture->root, "%s/root", fixture->top);
    snprintf (fixture->bundle, sizeof fixture->bundle, "%s/jax/f00d", fixture->root);
    snprintf (fixture->generation, sizeof fixture->generation, "%s/gen-1", fixture->bundle);
    snprintf (fixture->scratch, sizeof fixture->scratch, "%s/scratch", fixture->top);
    assert_int_equal (folder_make (fixture->generation, 0755, NULL), 0);
    assert_int_equal (folder_make (fixture->scratch, 0755, NULL), 0);
}

static void fixture_close (struct fixture *fixture)
{
    int rc = folder_remove (fixture->top, NULL);
    arena_release (&fixture->arena);
    assert_int_equal (rc, 0);
}

TEST_FIXTURE (struct fixture, fixture_open, fixture_close)

static struct confine_args plan_of (const struct fixture *fixture, enum enforcement most)
{
    return (struct confine_args){ .root = fixture->root,
                                  .bundle = fixture->bundle,
                                  .generation = fixture->generation,
                                  .scratch = fixture->scratch,
                                  .role = CACHE_ROLE_READER,
                                  .most = most,
                                  .least = ENFORCEMENT_COOPERATIVE,
                                  .landlock_abi = 99,
                                  .report_fd = -1 };
}

struct found {
    uint32_t open_ways, levels;
};

static uid_t find_as; /* 0: as whoever runs the test */

static void look (struct fixture *fixture, const struct confine_args *args,
                  const struct confine_restrictions *restrictions, int fd)
{
    struct confine_cache_paths cache_paths;
    struct confine_sandbox sandbox;
    struct found found = { UINT32_MAX, 0 };
    if (find_as && (setresgid (find_as, find_as, find_as) < 0 || setresuid (find_as, find_as, find_as) < 0 ||
                    prctl (PR_SET_DUMPABLE, 1) < 0))
        _exit (1);
    if (confine_cache_paths_resolve (args, &fixture->arena, &cache_paths, NULL) == 0) {
        confine_sandbox_enter (args, &cache_paths, restrictions, &fixture->arena, &sandbox);
        struct write_probe_target target = { .folder = cache_paths.generation,
                                             .witness = true,
                                             .mounts = { cache_paths.root },
                                             .own_mounts = sandbox.own_mounts };
        found = (struct found){ write_probe_try_all (&target), sandbox.levels };
    }
    _exit (write (fd, &found, sizeof found) == sizeof found ? 0 : 1);
}

/* In a child, since nothing of it can be undone. */
static struct found find (struct fixture *fixture, enum enforcement most,
                          const struct confine_restrictions *restrictions)
{
    struct confine_args args = plan_of (fixture, most);
    struct found found;
    int ends[2], status;
    char witness[256]; /* where only removing is open, it cannot be put back */
    snprintf (witness, sizeof witness, "%s/" WITNESS_NAME, fixture->generation);
    assert_int_equal (atomic_file_write (witness, "seen\n", 5, 0644, NULL), 0);
    assert_int_equal (pipe2 (ends, O_CLOEXEC), 0);
    pid_t pid = fork ();
    if (pid == 0)
        look (fixture, &args, restrictions, ends[1]);
    close (ends[1]);
    assert_int_equal (read (ends[0], &found, sizeof found), sizeof found);
    assert_int_equal (waitpid (pid, &status, 0), pid);
    assert_int_equal (status, 0);
    close (ends[0]);
    return found;
}

static struct confine_restrictions measures_of (const struct fixture *fixture, enum enforcement most)
{
    struct confine_args args = plan_of (fixture, most);
    return confine_restrictions_of_args (&args);
}

/* ---- what the measures are for: without one, a way is open ---- */

TEST_ON (fixture, without_one_right_a_probe_is_open)
{
    static const struct {
        uint64_t right;
        enum probe probe;
        int abi;
    } rows[] = {
        { RIGHT (WRITE_FILE), PROBE_OVERWRITE, 1 }, { RIGHT (WRITE_FILE), PROBE_APPEND, 1 },
        { RIGHT (REMOVE_FILE), PROBE_UNLINK, 1 },   { RIGHT (REMOVE_DIR), PROBE_UNLINK, 1 },
        { RIGHT (MAKE_REG), PROBE_CREATE, 1 },      { RIGHT (MAKE_DIR), PROBE_MKDIR, 1 },
        { RIGHT (MAKE_SYM), PROBE_SYMLINK, 1 },     { RIGHT (MAKE_FIFO), PROBE_MKFIFO, 1 },
        { RIGHT (MAKE_SOCK), PROBE_MKFIFO, 1 },     { RIGHT (MAKE_CHAR), PROBE_MKFIFO, 1 },
        { RIGHT_TRUNCATE, PROBE_TRUNCATE, 3 },
    };
    if (landlock_abi () < 1)
        skip ();
    struct confine_restrictions whole = measures_of (fixture, ENFORCEMENT_LANDLOCK);
    assert_int_equal (find (fixture, ENFORCEMENT_LANDLOCK, &whole).open_ways & ~MODES, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (landlock_abi () < rows[i].abi)
            continue;
        struct confine_restrictions holed = whole;
        holed.landlock_rights &= ~rows[i].right;
        uint32_t open_ways = find (fixture, ENFORCEMENT_LANDLOCK, &holed).open_ways;
        if (!(open_ways & PROBE_BIT (rows[i].probe)))
            fail_msg ("without right %#jx %s is still closed", (uintmax_t) rows[i].right,
                      write_probe_name (rows[i].probe));
    }
}

TEST_ON (fixture, before_abi_3_truncation_needs_seccomp)
{
    if (landlock_abi () < 3)
        skip ();
    struct confine_restrictions restrictions = measures_of (fixture, ENFORCEMENT_LANDLOCK);
    restrictions.landlock_rights = landlock_write_rights (2);
    assert_true (find (fixture, ENFORCEMENT_LANDLOCK, &restrictions).open_ways & PROBE_BIT (PROBE_TRUNCATE));
    restrictions.landlock_abi = 2;
    assert_false (find (fixture, ENFORCEMENT_LANDLOCK, &restrictions).open_ways & PROBE_BIT (PROBE_TRUNCATE));
}

TEST_ON (fixture, with_one_capability_more_a_mount_is_undone)
{
    static const struct {
        int capability;
        uint32_t probes;
    } rows[] = {
        { CAP_SYS_ADMIN, PROBE_BIT (PROBE_REMOUNT) | PROBE_BIT (PROBE_UMOUNT) },
        { CAP_SYS_PTRACE, PROBE_BIT (PROBE_WORKER_ROOT) },
    };
    if (geteuid () != 0 || !confine_caps_have (CAP_SYS_ADMIN))
        skip ();
    struct confine_restrictions whole = measures_of (fixture, ENFORCEMENT_NAMESPACE);
    struct found found = find (fixture, ENFORCEMENT_NAMESPACE, &whole);
    assert_int_equal (found.open_ways, 0);
    assert_true (found.levels & 1u << ENFORCEMENT_NAMESPACE);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct confine_restrictions holed = whole;
        holed.caps_kept |= UINT64_C (1) << rows[i].capability;
        uint32_t open_ways = find (fixture, ENFORCEMENT_NAMESPACE, &holed).open_ways;
        if ((open_ways & rows[i].probes) != rows[i].probes)
            fail_msg ("with capability %d only %#x is open", rows[i].capability, open_ways);
    }
}

/* With all capabilities in it: the mounts were made in the one outside. */
TEST_ON (fixture, in_the_second_user_namespace_mounts_are_locked)
{
    find_as = geteuid () == 0 ? 65534 : 0;
    assert_int_equal (chmod (fixture->top, 0755), 0);
    assert_true (geteuid () != 0 || chown (fixture->scratch, find_as, find_as) == 0);
    struct confine_restrictions restrictions = measures_of (fixture, ENFORCEMENT_NAMESPACE);
    restrictions.caps_kept = UINT64_MAX;
    struct found found = find (fixture, ENFORCEMENT_NAMESPACE, &restrictions);
    find_as = 0;
    if (!(found.levels & 1u << ENFORCEMENT_NAMESPACE))
        skip (); /* no user namespaces here */
    assert_int_equal (found.open_ways, 0);
}

/* Each that could undo it, by number: a test that sees the list change. */
TEST_ON (fixture, what_is_kept_undoes_nothing)
{
    static const int gone[] = {
        CAP_SYS_ADMIN,       CAP_SYS_PTRACE,   CAP_SYS_CHROOT,
        CAP_DAC_READ_SEARCH, CAP_MKNOD,        CAP_SYS_RAWIO,
        CAP_SYS_MODULE,      CAP_BPF,          CAP_PERFMON,
        CAP_SYS_BOOT,        CAP_SETPCAP,      CAP_SETFCAP,
        CAP_MAC_ADMIN,       CAP_MAC_OVERRIDE, CAP_CHECKPOINT_RESTORE,
        CAP_NET_ADMIN,       CAP_NET_RAW,      CAP_NET_BIND_SERVICE,
        CAP_LINUX_IMMUTABLE, CAP_SYS_TIME,
    };
    for (size_t i = 0; i < sizeof gone / sizeof gone[0]; i++)
        assert_false (confine_caps_kept & UINT64_C (1) << gone[i]);
    assert_int_equal (confine_caps_kept, 0x180c0fb);
}

/* ---- levels ---- */

#define SET(a, b) (1u << ENFORCEMENT_##a | 1u << ENFORCEMENT_##b)

TEST_ON (fixture, an_open_probe_takes_the_level_down_to_what_does_not_promise_it)
{
    const uint32_t both = SET (COOPERATIVE, LANDLOCK) | SET (NAMESPACE, NAMESPACE_LANDLOCK);
    assert_int_equal (write_probe_best_level (both, 0), ENFORCEMENT_NAMESPACE_LANDLOCK);
    assert_int_equal (write_probe_best_level (both | 1u << ENFORCEMENT_STORAGE, 0), ENFORCEMENT_STORAGE);
    assert_int_equal (write_probe_best_level (both, PROBE_BIT (PROBE_CHMOD)), ENFORCEMENT_LANDLOCK);
    assert_int_equal (write_probe_best_level (both, PROBE_BIT (PROBE_CREATE)), ENFORCEMENT_COOPERATIVE);
    assert_int_equal (write_probe_best_level (SET (COOPERATIVE, NAMESPACE), PROBE_BIT (PROBE_CHMOD)),
                      ENFORCEMENT_COOPERATIVE);
    assert_int_equal (write_probe_best_level (SET (COOPERATIVE, LANDLOCK), MODES), ENFORCEMENT_LANDLOCK);
    assert_int_equal (write_probe_best_level (1u << ENFORCEMENT_COOPERATIVE, 0), ENFORCEMENT_COOPERATIVE);
}

TEST_ON (fixture, every_probe_has_a_name_of_its_own)
{
    enum probe probe;
    for (int i = 0; i < PROBES_N; i++) {
        assert_true (write_probe_find (text_of (write_probe_name ((enum probe) i)), &probe));
        assert_int_equal (probe, i);
    }
    assert_false (write_probe_find (TEXT_LIT ("other"), &probe));
}

/* ---- devices ---- */

TEST_ON (fixture, a_device_is_allowed_by_what_it_is)
{
    static const struct {
        const char *number, *what;
        bool allowed;
    } rows[] = {
        { "1:3", "mem/null", true },
        { "1:9", "mem/", true }, /* where there is no /sys */
        { "1:1", "mem/mem", false },
        { "1:11", "mem/kmsg", false },
        { "11:3", "", false },
        { "5:0", "tty/tty", true },
        { "5:1", "tty/console", false },
        { "5:2", "tty/ptmx", false }, /* the host's; a program gets one of its own */
        { "4:1", "tty/tty1", false },
        { "136:0", "pts/", false },
        { "121:0", "accel/accel0", true },
        { "235:2", "vfio/2", true },
        { "234:2", "vfio-dev/vfio2", true },
        { "10:196", "misc/vfio", true },
        { "195:0", "nvidia/", true }, /* by its driver: NVIDIA's makes no class */
        { "508:0", "nvidia-uvm/", true },
        { "226:128", "drm/renderD128", true },
        { "511:0", "kfd/kfd", true },
        { "231:192", "infiniband_verbs/uverbs0", true },
        { "10:229", "misc/fuse", true },
        { "10:237", "misc/loop-control", false },
        { "10:232", "misc/kvm", false },
        { "21:0", "scsi_generic/sg0", false },
        { "247:0", "bsg/0:0:0:0", false },
        { "240:0", "nvme-generic/ng0n1", false },
        { "241:0", "nvme/nvme0", false },
        { "252:0", "dax/dax0.0", false },
        { "300:0", "/", false },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (confine_device_is_allowed (S_IFCHR, rows[i].number, rows[i].what) != rows[i].allowed)
            fail_msg ("%s %s should be %s", rows[i].number, rows[i].what, rows[i].allowed ? "allowed" : "refused");
        assert_false (confine_device_is_allowed (S_IFBLK, rows[i].number, rows[i].what));
    }
}

/* ---- orders ---- */

static int write_plan (struct fixture *fixture, struct msg_run *run, char *const *envp, struct command *out,
                       struct err *err)
{
    static char *argv[] = { (char *) "prog", (char *) "--role", NULL };
    struct command command = { .program = "/bin/prog", .argv = argv, .envp = (char **) envp };
    struct command_context context = { .directory = TEXT_LIT ("/w"), .scratch = TEXT_LIT ("/w/scratch/a") };
    const struct protected_paths paths = { .protected = { "/more/of/ours" }, .n = 1 };
    return confine_args_write (run, &context, &paths, &command, 4, &fixture->arena, out, err);
}

static uint32_t count (char *const *words)
{
    uint32_t n = 0;
    while (words[n])
        n++;
    return n;
}

TEST_ON (fixture, an_order_comes_out_as_it_went_in)
{
    struct text writable[] = { TEXT_LIT ("/more"), TEXT_LIT ("/most") }, protected[] = { TEXT_LIT ("/ours") };
    struct msg_run run = { .cache = { .role = CACHE_ROLE_WRITER,
                                      .frontend_root = TEXT_LIT ("/c/jax/f00d"),
                                      .base = 7,
                                      .least = ENFORCEMENT_LANDLOCK,
                                      .overlay = true } };
    char *envp[] = { (char *) "LD_PRELOAD=/p.so", (char *) "HOME=/h", NULL };
    struct command out;
    struct confine_args args;
    run.cache.writable.items = writable;
    run.cache.writable.n = 2;
    run.cache.protected.items = protected;
    run.cache.protected.n = 1;
    assert_int_equal (write_plan (fixture, &run, envp, &out, NULL), 0);
    assert_int_equal (confine_args_read ((int) count (out.argv) - 1, out.argv + 1, &args, NULL), 0);
    assert_string_equal (args.root, "/c");
    assert_string_equal (args.bundle, "/c/jax/f00d");
    assert_string_equal (args.base, "/c/jax/f00d/gen-7");
    assert_string_equal (args.place, "/w/cache");
    assert_string_equal (args.writable[1], "/most");
    assert_int_equal (args.protected_n, 2);
    assert_string_equal (args.protected[0], "/ours");
    assert_string_equal (args.protected[1], "/more/of/ours");
    assert_int_equal (args.least, ENFORCEMENT_LANDLOCK);
    assert_int_equal (args.report_fd, 4);
    assert_false (args.overlay); /* a writer writes the generation itself */
    assert_string_equal (args.program[0], "/bin/prog");
    assert_string_equal (args.program[2], "--role");
    assert_string_equal (out.envp[0], "SLICEUP_KEPT_LD_PRELOAD=/p.so");
    confine_args_restore_environ (out.envp);
    assert_string_equal (out.envp[0], "LD_PRELOAD=/p.so");
    assert_string_equal (out.envp[1], "HOME=/h");
}

TEST_ON (fixture, a_cache_without_two_folders_above_it_is_refused)
{
    static const char *const paths[] = { "", "/", "/a", "/a/b", "a/b/c", "//" };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        struct text root;
        if (confine_args_root_of_bundle (text_of (paths[i]), &fixture->arena, &root, NULL) == 0)
            assert_true (root.len > 0 && paths[i][0] != '/'); /* then the stage refuses it, being no absolute path */
    }
}

/* ---- the report ---- */

TEST_ON (fixture, the_last_report_counts)
{
    struct confine_report said = { .ready = true, .reached = ENFORCEMENT_NAMESPACE }, received = { 0 };
    int pair[2];
    bool over;
    assert_int_equal (socketpair (AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    assert_false (confine_report_receive (pair[0], &fixture->arena, &received, &over));
    assert_false (over);
    assert_int_equal (packet_send (pair[1], &confine_report_record, &said, NULL), 0);
    said.ready = false;
    said.problem = TEXT_LIT ("it was not to be");
    assert_int_equal (packet_send (pair[1], &confine_report_record, &said, NULL), 0);
    assert_int_equal (send (pair[1], "\xff\xff", 2, 0), 2);
    close (pair[1]);
    assert_true (confine_report_receive (pair[0], &fixture->arena, &received, &over));
    assert_true (over && !received.ready && text_is (received.problem, "it was not to be"));
    assert_int_equal (received.reached, ENFORCEMENT_NAMESPACE);
    close (pair[0]);
}

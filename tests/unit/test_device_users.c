/* alone: attempt */
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "test.h"
#include "worker/attempt/task.h"
#include "worker/facts/host_fact_list.h"
#include <poll.h>
#include <pthread.h>

/* A machine made of files: what /proc, /sys and /dev look like is all that counts. */
struct machine {
    char folder[48], proc[64], sys[64], dev[64];
    struct host_fact_roots roots;
    struct arena arena;
    struct device_users found;
};

static void machine_open (struct machine *machine)
{
    snprintf (machine->folder, sizeof machine->folder, "/tmp/test_holders.XXXXXX");
    assert_non_null (mkdtemp (machine->folder));
    snprintf (machine->proc, sizeof machine->proc, "%s/proc", machine->folder);
    snprintf (machine->sys, sizeof machine->sys, "%s/sys", machine->folder);
    snprintf (machine->dev, sizeof machine->dev, "%s/dev", machine->folder);
    machine->roots = (struct host_fact_roots){ .proc = machine->proc, .sys = machine->sys, .dev = machine->dev };
    assert_int_equal (folder_make (machine->proc, 0700, NULL), 0);
}

static void machine_close (struct machine *machine)
{
    assert_int_equal (folder_remove (machine->folder, NULL), 0);
    arena_release (&machine->arena);
}

TEST_FIXTURE (struct machine, machine_open, machine_close)

static void put (struct machine *machine, const char *path, const char *bytes, size_t len)
{
    struct text full = text_format (&machine->arena, "%s%s", machine->folder, path);
    struct text folder = text_copy (&machine->arena, full);
    *strrchr ((char *) folder.ptr, '/') = 0;
    assert_int_equal (folder_make (folder.ptr, 0700, NULL), 0);
    assert_int_equal (atomic_file_write (full.ptr, bytes, len, 0600, NULL), 0);
}

static void link_fd (struct machine *machine, unsigned pid, unsigned fd, const char *target)
{
    struct text folder = text_format (&machine->arena, "%s/%u/fd", machine->proc, pid);
    struct text at = text_format (&machine->arena, "%s/%u", folder.ptr, fd);
    assert_int_equal (folder_make (folder.ptr, 0700, NULL), 0);
    assert_int_equal (symlink (target, at.ptr), 0);
}

static void open_device (struct machine *machine, unsigned pid, const char *name)
{
    link_fd (machine, pid, 5, text_format (&machine->arena, "%s/%s", machine->dev, name).ptr);
}

static const struct device_users *find (struct machine *machine, enum device_users_of of)
{
    device_users_find (&machine->roots, of, 60 * 1000, &machine->arena, &machine->found);
    return &machine->found;
}

#define CMDLINE                                                                                                        \
    "python3\0train.py\0--steps\0"                                                                                     \
    "3\0"

TEST_ON (machine, a_holder_is_named_with_all_that_finds_it)
{
    static const char stat[] = "4711 (py) th) S 1 4711 4711 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 12300 99 1";
    put (machine, "/proc/4711/cmdline", CMDLINE, sizeof CMDLINE - 1);
    put (machine, "/proc/4711/stat", stat, sizeof stat - 1);
    link_fd (machine, 4711, 0, "/dev/null");
    open_device (machine, 4711, "accel0");
    const struct device_users *found = find (machine, DEVICE_USERS_OF_EXCLUSIVE);
    assert_int_equal (found->n, 1);
    assert_int_equal (found->items[0].pid, 4711);
    assert_int_equal (found->items[0].began_ms, 12300 * 1000 / (uint64_t) sysconf (_SC_CLK_TCK));
    assert_text (found->items[0].command, "python3 train.py --steps 3");
    assert_true (text_starts (found->items[0].device, machine->dev));
}

TEST_ON (machine, a_command_line_cannot_drive_a_terminal_or_be_long)
{
    char line[3000];
    memset (line, 'a', sizeof line);
    memcpy (line, "\033[2J\xff\n", 6);
    put (machine, "/proc/7/cmdline", line, sizeof line);
    open_device (machine, 7, "accel0");
    const struct device_users *found = find (machine, DEVICE_USERS_OF_EXCLUSIVE);
    assert_in_range (found->items[0].command.len, 10, HOLDER_COMMAND_BYTES);
    assert_true (text_is_utf8 (found->items[0].command));
    assert_null (memchr (found->items[0].command.ptr, '\033', found->items[0].command.len));
    assert_null (memchr (found->items[0].command.ptr, '\n', found->items[0].command.len));
}

TEST_ON (machine, without_a_command_line_its_name_counts)
{
    put (machine, "/proc/7/cmdline", "", 0);
    put (machine, "/proc/7/comm", "ghost\n", 6);
    open_device (machine, 7, "accel0");
    assert_text (find (machine, DEVICE_USERS_OF_EXCLUSIVE)->items[0].command, "ghost");
}

TEST_ON (machine, what_many_may_have_open_is_not_exclusive)
{
    open_device (machine, 1, "nvidia0"); /* its daemon has it open all the time */
    open_device (machine, 2, "vfio/vfio");
    open_device (machine, 3, "nvidiactl");
    open_device (machine, 4, "null");
    assert_int_equal (find (machine, DEVICE_USERS_OF_EXCLUSIVE)->n, 0);
    assert_int_equal (find (machine, DEVICE_USERS_OF_ANY)->n, 2);
}

TEST_ON (machine, a_group_of_another_device_is_nobodys_concern)
{
    put (machine, "/sys/kernel/iommu_groups/3/devices/0000:00:04.0/vendor", "0x15b3\n", 7);
    put (machine, "/sys/kernel/iommu_groups/4/devices/0000:00:05.0/vendor", "0x1ae0\n", 7);
    open_device (machine, 30, "vfio/3");
    assert_int_equal (find (machine, DEVICE_USERS_OF_EXCLUSIVE)->n, 0);
    open_device (machine, 40, "vfio/4");
    open_device (machine, 50, "vfio/5"); /* nobody says what it is */
    put (machine, "/sys/kernel/iommu_groups/6/devices/.keep", "", 0);
    open_device (machine, 60, "vfio/6"); /* nor here */
    const struct device_users *found = find (machine, DEVICE_USERS_OF_EXCLUSIVE);
    assert_int_equal (found->n, 3);
    assert_int_equal (found->items[0].pid, 40);
    assert_int_equal (found->items[1].pid, 50);
}

TEST_ON (machine, the_container_of_vfio_does_not_hide_its_group)
{
    link_fd (machine, 9, 3, text_format (&machine->arena, "%s/vfio/vfio", machine->dev).ptr);
    link_fd (machine, 9, 4, text_format (&machine->arena, "%s/vfio/0", machine->dev).ptr);
    assert_int_equal (find (machine, DEVICE_USERS_OF_EXCLUSIVE)->n, 1);
    assert_true (text_ends (find (machine, DEVICE_USERS_OF_ANY)->items[0].device, "/vfio/0"));
}

TEST_ON (machine, the_sentence_is_of_who_holds_what_only_one_can_hold)
{
    put (machine, "/proc/5/comm", "daemon\n", 7);
    open_device (machine, 5, "nvidia0");
    assert_int_equal (device_users_sentence (find (machine, DEVICE_USERS_OF_ANY), &machine->arena).len, 0);
    put (machine, "/proc/4711/cmdline", CMDLINE, sizeof CMDLINE - 1);
    open_device (machine, 4711, "accel0");
    open_device (machine, 9, "nvidia1");
    struct text told = device_users_sentence (find (machine, DEVICE_USERS_OF_ANY), &machine->arena);
    assert_text (
        told, text_format (&machine->arena, "%s/accel0 is held by 4711 python3 train.py --steps 3", machine->dev).ptr);
    open_device (machine, 4712, "accel1");
    told = device_users_sentence (find (machine, DEVICE_USERS_OF_ANY), &machine->arena);
    assert_has (told, "--steps 3 and by 1 other process");
}

TEST_ON (machine, more_than_are_kept_are_counted)
{
    for (unsigned pid = 100; pid < 100 + DEVICE_USERS_MAX + 3; pid++)
        open_device (machine, pid, "accel0");
    const struct device_users *found = find (machine, DEVICE_USERS_OF_EXCLUSIVE);
    assert_int_equal (found->n, DEVICE_USERS_MAX);
    assert_int_equal (found->more, 3);
    for (uint32_t i = 1; i < found->n; i++)
        assert_true (found->items[i - 1].pid < found->items[i].pid);
}

TEST_ON (machine, who_may_not_be_looked_into_is_told)
{
    put (machine, "/proc/1/comm", "init\n", 5);
    assert_false (find (machine, DEVICE_USERS_OF_ANY)->blind); /* it has just ended */
    put (machine, "/proc/1/fd", "no folder", 9);
    assert_true (find (machine, DEVICE_USERS_OF_ANY)->blind);
    assert_int_equal (machine->found.n, 0);
}

TEST_ON (machine, without_time_it_says_so)
{
    open_device (machine, 7, "accel0");
    device_users_find (&machine->roots, DEVICE_USERS_OF_ANY, 0, &machine->arena, &machine->found);
    assert_true (machine->found.unfinished);
    assert_int_equal (machine->found.n, 0);
    assert_false (find (machine, DEVICE_USERS_OF_ANY)->unfinished);
    assert_int_equal (machine->found.n, 1);
}

/* ---- command lines ---- */

static void is_shown (struct machine *machine, const char *raw, size_t len, const char *shown)
{
    struct text said = command_line_for_display (&machine->arena, (struct text){ raw, (uint32_t) len }, 200);
    if (!text_is (said, shown))
        fail_msg ("'%.*s' instead of '%s'", TEXT_ARG (said), shown);
}
#define IS_SHOWN(raw, shown) is_shown (machine, raw, sizeof raw - 1, shown)

TEST_ON (machine, secrets_of_a_command_line_are_not_told)
{
    IS_SHOWN ("python3\0train.py\0--token=abc\0--x=1\0", "python3 train.py --token=*** --x=1");
    IS_SHOWN ("run\0--api-key\0abc\0--token\0--also\0go", "run --api-key *** --token *** go");
    IS_SHOWN ("sh\0-c\0export A=1; MY_PASSWORD=abc x", "sh -c export A=1; MY_PASSWORD=*** x");
    IS_SHOWN ("get\0https://me:abc@host/x", "get https://***@host/x");
    IS_SHOWN ("\0\0", "");
    IS_SHOWN ("a  b\nc\t\033[2J", "a b c \\x1b[2J");
}

TEST_ON (machine, a_program_has_one_name_on_all_hosts)
{
    static const char *const lines[][2] = { { "/usr/bin/python3", "python3" },
                                            { "nvidia-x: of host 3", "nvidia-x:" },
                                            { "", "" },
                                            { "/", "" },
                                            { "a\033b", "a\\x1bb" } };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_text (display_program_name (&machine->arena, text_of (lines[i][0])), lines[i][1]);
}

/* ---- waiting ---- */

TEST_ON (machine, a_free_device_is_not_waited_for)
{
    struct text waited, why;
    uint64_t began_ms = clock_boot_ms ();
    link_fd (machine, 1, 0, "/dev/null");
    assert_int_equal (device_wait (&machine->roots, 3600 * 1000, &machine->arena, &waited, &why), 0);
    assert_true (!waited.len && !why.len);
    assert_true (clock_boot_ms () - began_ms < 60 * 1000);
}

static void has (struct text text, const char *what)
{
    assert_has (text, what);
}

TEST_ON (machine, past_the_bound_the_holder_is_named)
{
    static const char stat[] = "4711 (py) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 1 99";
    struct text waited, why;
    put (machine, "/proc/4711/cmdline", CMDLINE, sizeof CMDLINE - 1);
    put (machine, "/proc/4711/stat", stat, sizeof stat - 1);
    open_device (machine, 4711, "vfio/0");
    open_device (machine, 4712, "vfio/1");
    uint64_t began_ms = clock_boot_ms ();
    assert_int_equal (device_wait (&machine->roots, 700, &machine->arena, &waited, &why), -1);
    assert_true (clock_boot_ms () - began_ms >= 700);
    has (why, "/dev/vfio/0 is held by 4711 python3 train.py --steps 3, since ");
    has (why, " and by 1 other process; waited ");
    assert_true (why.len <= SENTENCE_MAX_BYTES && !waited.len);
}

TEST_ON (machine, a_bound_of_nothing_looks_once)
{
    struct text waited, why;
    open_device (machine, 1, "accel3");
    assert_int_equal (device_wait (&machine->roots, 0, &machine->arena, &waited, &why), -1);
    has (why, "accel3 is held by 1 ");
}

static void *let_go (void *owner)
{
    struct machine *machine = owner;
    char path[128];
    (void) poll (NULL, 0, 50);
    snprintf (path, sizeof path, "%s/4711/fd/5", machine->proc);
    return unlink (path) == 0 ? machine : NULL;
}

TEST_ON (machine, what_gets_free_was_waited_for)
{
    struct text waited, why;
    pthread_t thread;
    void *done;
    put (machine, "/proc/4711/cmdline", CMDLINE, sizeof CMDLINE - 1);
    open_device (machine, 4711, "accel0");
    device_users_find (&machine->roots, DEVICE_USERS_OF_EXCLUSIVE, 60 * 1000, &machine->arena, &machine->found);
    assert_int_equal (machine->found.n, 1);
    uint64_t began_ms = clock_boot_ms ();
    assert_int_equal (pthread_create (&thread, NULL, let_go, machine), 0);
    assert_int_equal (device_wait (&machine->roots, 60 * 1000, &machine->arena, &waited, &why), 0);
    assert_int_equal (pthread_join (thread, &done), 0);
    assert_non_null (done);
    assert_true (clock_boot_ms () - began_ms < 60 * 1000);
    if (waited.len) /* a loaded machine may have looked only when it was free already */
        has (waited, "accel0 was held by 4711 python3 train.py --steps 3 for ");
    assert_int_equal (why.len, 0);
}

/* ---- who asks ---- */

TEST (a_device_is_asked_for_by_its_backend)
{
    struct var client = { TEXT_LIT ("client"), TEXT_LIT ("false") };
    struct msg_run run = { .profile.backend = TEXT_LIT ("tpu"), .rung.kind = PROGRAM_CANARY, .key.pass = PASS_ONCE };
    assert_true (device_is_wanted (&run));
    run.rung.kind = PROGRAM_COMMAND;
    assert_true (device_is_wanted (&run));
    run.rung.backend = TEXT_LIT ("cpu");
    assert_false (device_is_wanted (&run));
    run.profile.backend = TEXT_LIT ("cpu");
    run.rung.backend = TEXT_LIT ("tpu");
    assert_true (device_is_wanted (&run));
    run.rung.warm = WARM_AOT;
    assert_true (device_is_wanted (&run));
    run.key.pass = PASS_COLD; /* compiles for devices that need not be there */
    assert_false (device_is_wanted (&run));
    run.rung = (struct rung){ .kind = PROGRAM_BUILTIN, .builtin = TEXT_LIT ("facts"), .backend = TEXT_LIT ("tpu") };
    assert_false (device_is_wanted (&run));
    run.rung.builtin = TEXT_LIT ("probe");
    assert_true (device_is_wanted (&run));
    run.rung.args.items = &client;
    run.rung.args.n = 1;
    assert_false (device_is_wanted (&run));
    run.rung = (struct rung){ .kind = PROGRAM_CANARY };
    assert_false (device_is_wanted (&run)); /* the profile says cpu */
}

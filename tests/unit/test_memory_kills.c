/* links: process */
#include "common/io/atomic_file.h"
#include "test.h"
#include "worker/process/cgroup_place.h"

/* ---- where the group lies ---- */

#define V2 "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define HYBRID                                                                                                         \
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"                                                       \
    "32 31 0:29 / /sys/fs/cgroup/cpu rw shared:9 - cgroup cgroup rw,cpu\n"                                             \
    "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                                                \
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
#define CONTAINER "35 31 0:32 /docker/ab /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
#define BLANK "31 23 0:28 / /sys/fs/my\\040groups rw - cgroup2 cgroup2 rw\n"

TEST (a_group_is_found_where_it_is_mounted)
{
    static const struct {
        const char *cgroup, *mountinfo, *controller, *path;
        uint32_t mount_len;
    } cases[] = {
        { "0::/user.slice/a.scope\n", V2, "", "/sys/fs/cgroup/user.slice/a.scope", 14 },
        { "0::/\n", V2, "", "/sys/fs/cgroup", 14 },
        { "9:name=systemd:/x\n4:cpu,memory:/jobs/7\n0::/y\n", HYBRID, "memory", "/sys/fs/cgroup/memory/jobs/7", 21 },
        { "9:name=systemd:/x\n4:memory:/jobs/7\n0::/y\n", HYBRID, "", "/sys/fs/cgroup/unified/y", 22 },
        { "4:memory:/docker/ab/c\n", CONTAINER, "memory", "/sys/fs/cgroup/memory/c", 21 },
        { "4:memory:/docker/ab\n", CONTAINER, "memory", "/sys/fs/cgroup/memory", 21 },
        { "0::/../other\n", V2, "", NULL, 0 },
        { "0::/a\n", V2, "memory", NULL, 0 },
        { "4:memory:/a\n", V2, "memory", NULL, 0 },
        { "0::/a\n", BLANK, "", "/sys/fs/my groups/a", 17 },
        { "", "", "", NULL, 0 },
        { "4:memory", "35 31", "memory", NULL, 0 },
        { "4:memory:/a\n", "36 35 98:0", "memory", NULL, 0 }, /* and nothing behind */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct cgroup_place place;
        struct arena arena = { 0 };
        struct proc_mounts mounts;
        proc_mounts_parse (text_of (cases[i].mountinfo), &arena, &mounts);
        bool found = cgroup_place_find (text_of (cases[i].cgroup), &mounts, cases[i].controller, &place);
        arena_release (&arena);
        assert_int_equal (found, cases[i].path != NULL);
        if (found)
            assert_string_equal (place.path, cases[i].path);
        if (found)
            assert_int_equal (place.mount_len, cases[i].mount_len);
    }
}

TEST (a_path_that_does_not_fit_is_not_found)
{
    struct cgroup_place place;
    char cgroup[PATH_MAX + 16];
    struct proc_mounts mounts;
    proc_mounts_parse (text_of (V2), &t->arena, &mounts);
    memset (cgroup, 'a', sizeof cgroup);
    memcpy (cgroup, "0::/", 4);
    assert_false (cgroup_place_find ((struct text){ cgroup, sizeof cgroup }, &mounts, "", &place));
    assert_int_equal (place.path[0], 0);
}

/* ---- counters ---- */

TEST (a_counter_is_read_by_its_whole_name)
{
    static const char events[] = "low 0\nhigh 3\nmax 12\noom 2\noom_kill 7\noom_group_kill 1\n";
    uint64_t value = 0;
    assert_true (memory_counter_read (text_of (events), "oom_kill", &value) && value == 7);
    assert_true (memory_counter_read (text_of (events), "oom", &value) && value == 2);
    assert_false (memory_counter_read (text_of ("oom_kill_disable 0\nunder_oom 0\n"), "oom_kill", &value));
    assert_false (memory_counter_read (text_of ("oom_kill many\n"), "oom_kill", &value));
    assert_false (memory_counter_read (text_of (""), "oom_kill", &value));
}

static void put (const char *folder, const char *name, const char *text)
{
    char path[PATH_MAX];
    assert_true (snprintf (path, sizeof path, "%s/%s", folder, name) < (int) sizeof path);
    assert_int_equal (atomic_file_write (path, text, strlen (text), 0600, NULL), 0);
}

/* A folder with two groups, one in the other, as the kernel has them. */
TEST (what_grew_is_counted_and_the_least_limit_told)
{
    char top[] = "/tmp/test_memory_kills.XXXXXX";
    struct memory_watch watch = { .before.of_group = 2, .before.counted_len = sizeof top + 3 };
    assert_non_null (mkdtemp (top));
    snprintf (watch.group.path, sizeof watch.group.path, "%s/pod/step", top);
    watch.group.mount_len = (uint32_t) strlen (top);
    assert_int_equal (folder_make (watch.group.path, 0700, NULL), 0);
    char pod[64];
    snprintf (pod, sizeof pod, "%s/pod", top);
    put (pod, "memory.events", "oom_kill 5\n");
    put (pod, "memory.max", "67108864\n");
    put (watch.group.path, "memory.max", "max\n");
    struct memory_kills kills = memory_watch_end (&watch); /* the inner one has no counter */
    assert_true (kills.of_group == 3 && kills.limit_bytes == 67108864 && kills.shared);
    put (watch.group.path, "memory.events", "max 9\noom_kill 3\n");
    put (watch.group.path, "memory.max", "1048576\n");
    assert_true (memory_watch_end (&watch).of_group == 0); /* the outer one was counted when it began */
    watch.before.counted_len = (uint32_t) strlen (watch.group.path);
    kills = memory_watch_end (&watch);
    assert_true (kills.of_group == 1 && kills.limit_bytes == 1048576 && !kills.shared);
    put (watch.group.path, "memory.events", "oom_kill 1\n"); /* made anew meanwhile */
    assert_true (memory_watch_end (&watch).of_group == 0);
    assert_int_equal (folder_remove (top, NULL), 0);
    assert_true (memory_watch_end (&watch).of_group == 0);
}

TEST (no_limit_of_the_former_hierarchy_is_none)
{
    char top[] = "/tmp/test_memory_kills.XXXXXX";
    struct memory_watch watch = { .group.v1 = true, .before.counted_len = sizeof top - 1 };
    assert_non_null (mkdtemp (top));
    snprintf (watch.group.path, sizeof watch.group.path, "%s", top);
    put (top, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n");
    put (top, "memory.limit_in_bytes", "9223372036854771712\n");
    struct memory_kills kills = memory_watch_end (&watch);
    assert_true (kills.of_group == 4 && kills.limit_bytes == 0);
    assert_int_equal (folder_remove (top, NULL), 0);
}

TEST (this_process_can_be_watched)
{
    struct memory_watch watch;
    memory_watch_begin (getpid (), &watch);
    assert_true (memory_watch_end (&watch).of_group == 0);
    memory_watch_begin (0x7fffffff, &watch); /* nobody has this pid */
    assert_int_equal (watch.group.path[0], 0);
}

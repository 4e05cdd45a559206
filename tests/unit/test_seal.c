/* alone: cache */
#include "cache_fixture.h"
#include "test.h"

#include <sched.h>
#include <sys/mount.h>

/* Up to 512 entries a seal syncs each by itself; above, on the file system of this test, all at once. */
enum { FEW = 200, MANY = 800, CANNOT_MOUNT = 77, RAN_OUT = 78 };

/* Everything happens in a mount namespace of a child's, so nothing is left of it: neither mounts nor loop devices. */
static int in_child (int (*body) (struct fixture *, int), struct fixture *fixture, int files)
{
    int status;
    pid_t pid = fork ();
    assert_true (pid >= 0);
    if (pid == 0)
        _exit (body (fixture, files));
    assert_int_equal (waitpid (pid, &status, 0), pid);
    return WIFEXITED (status) ? WEXITSTATUS (status) : 99;
}

static int shell (const struct fixture *fixture, const char *line)
{
    return setenv ("B", fixture->base, 1) || setenv ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) ? -1 : system (line);
}

/* A disk in memory at $B/cache; it says that it has 256 MiB. Without a journal: one that cannot be written would make
 * the file system read-only, and then everything fails. */
static int mount_disk (struct fixture *fixture, const char *memory)
{
    if (unshare (CLONE_NEWNS) || mount (NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || setenv ("M", memory, 1))
        return CANNOT_MOUNT;
    if (shell (fixture,
               "exec 2>/dev/null; cd $B && mkdir memory cache copy && mount -t tmpfs -o size=$M none memory && "
               "truncate -s 256M memory/disk && mkfs.ext4 -q -O ^has_journal -m 0 memory/disk && "
               "mount -o loop memory/disk cache"))
        return CANNOT_MOUNT;
    struct cache_access access = writer_order (fixture, 2);
    return prepare_writer (fixture, &access) ? 1 : 0;
}

/* Bytes that take as much room as they say. */
static int write_entries (const struct fixture *fixture, int files, size_t bytes)
{
    char name[1200], *content = mem_alloc (bytes);
    int rc = 0;
    for (int i = 0; i < files && rc == 0; i++) {
        memset (content, 1 + i % 250, bytes);
        snprintf (name, sizeof name, "%s/entry-%d", fixture->dir, i);
        int fd = open (name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        rc = fd < 0 || write (fd, content, bytes) != (ssize_t) bytes || close (fd) ? RAN_OUT : 0;
    }
    mem_free (content);
    return rc;
}

/* ---- power cuts ---- */

/* What the disk holds the moment after, without what is only in this machine's memory. */
static int cut_power_after_a_seal (struct fixture *fixture, int files)
{
    struct cache_access access = writer_order (fixture, 2);
    int rc = mount_disk (fixture, "256M");
    if (rc == 0)
        rc = write_entries (fixture, files, 5000);
    if (rc)
        return rc;
    if (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err))
        return 2;
    if (shell (fixture, "cp --sparse=always $B/memory/disk $B/memory/cut && mount -o loop $B/memory/cut $B/copy"))
        return 3;
    snprintf (fixture->root, sizeof fixture->root, "%s/copy/jax/f00d", fixture->base);
    if (prepare_reader (fixture, 2)) {
        fprintf (stderr, "%s\n", fixture->err.text);
        return 4;
    }
    return 0;
}

TEST_ON (fixture, what_was_sealed_outlives_a_power_cut)
{
    int code = in_child (cut_power_after_a_seal, fixture, FEW);
    if (code == CANNOT_MOUNT)
        skip (); /* no loop devices, or no mkfs.ext4 */
    assert_int_equal (code, 0);
    assert_int_equal (folder_remove (fixture->base, &fixture->err) || mkdir (fixture->base, 0700), 0);
    assert_int_equal (in_child (cut_power_after_a_seal, fixture, MANY), 0);
}

/* ---- disks that lose writes ---- */

/* The disk takes more than there is memory behind it: what is lost is known only once it should be written. */
static int seal_what_was_lost (struct fixture *fixture, int files)
{
    struct cache_access access = writer_order (fixture, 2);
    int rc = mount_disk (fixture, "24M");
    if (rc == 0)
        rc = write_entries (fixture, files, (32 << 20) / (size_t) files);
    if (rc)
        return rc;
    if (cache_seal (&access, &fixture->seal, &fixture->arena, &fixture->err) != -1)
        return 2;
    if (!strstr (fixture->err.text, "to disk")) {
        fprintf (stderr, "%s\n", fixture->err.text);
        return 3;
    }
    return exists (fixture->dir, "MANIFEST") ? 4 : 0;
}

TEST_ON (fixture, what_the_disk_lost_is_not_sealed)
{
    int code = in_child (seal_what_was_lost, fixture, FEW);
    if (code == CANNOT_MOUNT)
        skip ();
    assert_int_equal (code, 0);
    assert_int_equal (folder_remove (fixture->base, &fixture->err) || mkdir (fixture->base, 0700), 0);
    assert_int_equal (in_child (seal_what_was_lost, fixture, MANY), 0);
}

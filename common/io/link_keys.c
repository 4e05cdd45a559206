#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include "common/io/atomic_file.h"
#include "common/io/curve_key.h"
#include "common/io/link.h"
#include "common/io/private_file.h"

static const char head[] = "sliceup link keys 1\n";
enum { FILE_BYTES = sizeof head - 1 + 2 * (sizeof "public " - 1 + LINK_KEY_BYTES) };

/* libzmq's own generator, which czmq's zcert calls as well: czmq itself would bring a dozen libraries onto every host
 * (systemd, gcrypt, lzma, zstd, lz4, cap, ...) and takes the signals and environment of the process. */
void link_keys_make (struct link_keys *keys)
{
    int rc = zmq_curve_keypair (keys->public_key, keys->secret_key);
    assert (rc == 0); /* libzmq without CURVE: Debian's has it */
}

int link_keys_save (const struct link_keys *keys, const char *path, struct err *err)
{
    char file[FILE_BYTES + 1];
    if (link_keys_check (keys, err) != 0)
        return err_prefix (err, "keys for %s", path);
    int len = snprintf (file, sizeof file, "%spublic %s\nsecret %s\n", head, keys->public_key, keys->secret_key);
    assert (len == FILE_BYTES);
    int rc = atomic_file_write (path, file, (size_t) len, 0600, err);
    explicit_bzero (file, sizeof file);
    return rc;
}

/* Owner and mode are asked of the open file, so nobody can exchange it between the question and the reading. */
static int check_private (int fd, const char *path, struct err *err)
{
    struct stat at;
    if (private_file_check (fd, path, &at, err) < 0)
        return -1;
    if (at.st_size != FILE_BYTES)
        return err_set (err, ERR_DAMAGE, "key file %s has %lld bytes, expected %d", path, (long long) at.st_size,
                        (int) FILE_BYTES);
    return 0;
}

int link_keys_parse (struct link_keys *keys, struct text file, const char *path, struct err *err)
{
    char copy[FILE_BYTES + 1];
    int end = 0;
    bool whole = file.len == FILE_BYTES && text_to_c (file, copy, sizeof copy) && text_starts (file, head) &&
                 sscanf (copy + sizeof head - 1, "public %40s\nsecret %40s\n%n", keys->public_key, keys->secret_key,
                         &end) == 2 &&
                 end == FILE_BYTES - (int) sizeof head + 1;
    explicit_bzero (copy, sizeof copy);
    if (!whole)
        return err_set (err, ERR_DAMAGE, "key file %s was not made by sliceup: it must begin with \"%.*s\"", path,
                        (int) sizeof head - 2, head);
    if (link_keys_check (keys, err) != 0)
        return err_prefix (err, "key file %s", path);
    return 0;
}

static int read_keys (int fd, const char *path, struct link_keys *keys, struct err *err)
{
    char file[FILE_BYTES];
    ssize_t n = read (fd, file, sizeof file);
    if (n < 0)
        return err_errno (err, ERR_IO, "key file %s cannot be read", path);
    int rc = link_keys_parse (keys, (struct text){ file, (uint32_t) n }, path, err);
    explicit_bzero (file, sizeof file);
    return rc;
}

int link_keys_load (struct link_keys *keys, const char *path, struct err *err)
{
    struct link_keys found = { 0 };
    int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return err_errno (err, ERR_IO, "key file %s cannot be opened", path);
    int rc = check_private (fd, path, err);
    if (rc == 0)
        rc = read_keys (fd, path, &found, err);
    if (rc == 0)
        *keys = found;
    explicit_bzero (&found, sizeof found);
    close (fd);
    return rc;
}

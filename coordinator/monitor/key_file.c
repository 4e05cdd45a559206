#include "coordinator/monitor/key_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/curve_key.h"
#include "common/io/endpoint.h"

static void wipe (struct buf *file)
{
    if (file->ptr)
        explicit_bzero (file->ptr, file->capacity);
    buf_release (file);
}

int key_file_save (const struct link_keys *keys, const char *path, struct err *err)
{
    struct buf file;
    if (link_keys_check (keys, err) != 0)
        return err_prefix (err, "keys for %s", path);
    buf_init (&file, CERTIFICATE_MAX_BYTES);
    certificate_format (keys, NULL, 0, &file);
    int rc = atomic_file_write (path, file.ptr, file.len, 0600, err);
    wipe (&file);
    return rc;
}

static int parse_certificate (struct link_keys *keys, struct text file, const char *path, struct err *err)
{
    struct certificate *certificate = certificate_parse (file);
    bool whole = certificate && certificate_keys (certificate, keys);
    certificate_release (certificate);
    if (!whole)
        return err_set (err, ERR_DAMAGE, "key file %s does not hold a CURVE secret key", path);
    return link_keys_check (keys, err) == 0 ? 0 : err_prefix (err, "key file %s", path);
}

int key_file_load (struct link_keys *keys, const char *path, struct err *err)
{
    struct buf file;
    struct link_keys found = { 0 };
    buf_init (&file, CERTIFICATE_MAX_BYTES);
    int rc = private_file_read_nofollow (path, &file, err);
    if (rc == 0)
        rc = parse_certificate (&found, buf_as_text (&file), path, err);
    if (rc == 0)
        *keys = found;
    explicit_bzero (&found, sizeof found);
    wipe (&file);
    return rc;
}

/* ---- public keys ---- */

bool public_key_is_file_name (const char *name)
{
    size_t len = strlen (name), suffix = strlen (PUBLIC_KEY_SUFFIX);
    if (len <= suffix || strcmp (name + len - suffix, PUBLIC_KEY_SUFFIX) != 0)
        return false;
    /* The same grammar as a host's name, for the same reason: it is part of a path. */
    return host_name_valid ((struct text){ name, (uint32_t) (len - suffix) });
}

int public_key_save (const char *path, const char *public_key, struct err *err)
{
    char line[LINK_KEY_BYTES + 1];
    int len = snprintf (line, sizeof line, "%s\n", public_key);
    return atomic_file_write (path, line, (size_t) len, 0600, err);
}

int public_key_load (const char *path, char out[LINK_KEY_BYTES], struct err *err)
{
    struct buf file;
    buf_init (&file, LINK_KEY_BYTES);
    int rc = file_read (path, &file, err);
    if (rc == 0 &&
        (file.len != LINK_KEY_BYTES || file.ptr[LINK_KEY_BYTES - 1] != '\n' || memchr (file.ptr, 0, file.len) != NULL))
        rc = err_set (err, ERR_DAMAGE, "%s does not hold a public key: expected %d characters and a newline", path,
                      LINK_KEY_BYTES - 1);
    if (rc == 0) {
        memcpy (out, file.ptr, LINK_KEY_BYTES - 1);
        out[LINK_KEY_BYTES - 1] = '\0';
    }
    buf_release (&file);
    return rc;
}

/* ---- what a monitor on another machine needs ---- */

static int taken (const struct run_dir *dir, const char *name, struct err *err)
{
    return err_set (err, ERR_STATE, "run %.8s already has a monitor named %s: choose another name", dir->id, name);
}

static int file_path (const struct run_dir *dir, const char *before, const char *name, const char *after,
                      char path[RUN_PATH_BYTES], struct err *err)
{
    char file[sizeof MONITORS_FOLDER + HOST_NAME_MAX_BYTES + 32];
    if (!host_name_valid (text_of (name)))
        return err_set (
            err, ERR_USAGE,
            "a monitor's name must have 1 to %d letters, digits, '.', '_' and '-', the first a letter or digit",
            HOST_NAME_MAX_BYTES);
    snprintf (file, sizeof file, "%s/%s%s%s", MONITORS_FOLDER, before, name, after);
    run_dir_path (dir, file, path);
    return 0;
}

/* The coordinator would ignore one more, so its owner would wait in vain. */
static int refuse_too_many (const struct run_dir *dir, struct err *err)
{
    char folder[RUN_PATH_BYTES];
    uint32_t n = 0;
    DIR *entries = opendir (run_dir_path (dir, MONITORS_FOLDER, folder));
    if (!entries)
        return err_errno (err, ERR_IO, "folder %s cannot be read", folder);
    for (struct dirent *entry = readdir (entries); entry; entry = readdir (entries))
        n += public_key_is_file_name (entry->d_name);
    closedir (entries);
    if (n < MONITORS_MAX)
        return 0;
    return err_set (err, ERR_LIMIT, "run %.8s already has %d monitor keys, the most a run can have: use one of them",
                    dir->id, MONITORS_MAX);
}

/* Atomic, and never replacing another: two may ask for one name at the same time. */
static int keep_public (const struct run_dir *dir, const char *name, const char *public_key, struct err *err)
{
    char path[RUN_PATH_BYTES], beside[RUN_PATH_BYTES], own[16];
    snprintf (own, sizeof own, ".%d", (int) getpid ());
    if (file_path (dir, "", name, PUBLIC_KEY_SUFFIX, path, err) < 0 || file_path (dir, ".", name, own, beside, err) < 0)
        return -1;
    if (access (path, F_OK) == 0)
        return taken (dir, name, err);
    if (refuse_too_many (dir, err) < 0)
        return -1;
    if (public_key_save (beside, public_key, err) < 0)
        return -1;
    int rc = link (beside, path);
    if (rc < 0)
        rc = errno == EEXIST ? taken (dir, name, err) : err_errno (err, ERR_IO, "%s cannot be made", path);
    (void) unlink (beside); /* an unused name, if it stays */
    return rc;
}

int monitor_key_make (struct monitor_key *key, const struct run_dir *dir, const char *name, const char *address,
                      struct err *err)
{
    struct run_addresses hub = { 0 };
    struct monitor_key made = { 0 };
    if (run_addresses_load (dir, &hub, err) < 0)
        return -1;
    snprintf (made.run, sizeof made.run, "%s", dir->id);
    if (snprintf (made.address, sizeof made.address, "%s", address ? address : hub.reach) >= (int) sizeof made.address)
        return err_set (err, ERR_USAGE, "the coordinator's address must have at most %d bytes", NAME_MAX_BYTES);
    snprintf (made.coordinator_key, sizeof made.coordinator_key, "%s", hub.public_key);
    made.port = hub.events_port;
    struct endpoint at; /* refuses what no monitor could use */
    if (endpoint_make (made.address, made.port, &at, err) != 0)
        return -1;
    link_keys_make (&made.keys);
    int rc = keep_public (dir, name, made.keys.public_key, err);
    if (rc == 0)
        *key = made;
    explicit_bzero (&made, sizeof made);
    return rc;
}

void monitor_key_format (const struct monitor_key *key, struct buf *out)
{
    char port[8];
    snprintf (port, sizeof port, "%u", (unsigned) key->port);
    const struct certificate_meta words[] = { { "sliceup-monitor", "1" },
                                              { "run", key->run },
                                              { "address", key->address },
                                              { "port", port },
                                              { "coordinator-key", key->coordinator_key } };
    certificate_format (&key->keys, words, sizeof words / sizeof words[0], out);
}

/* ---- read again ---- */

static bool key_file_take_word (const struct certificate *from, const char *name, char *out, size_t out_bytes)
{
    const char *word = certificate_meta (from, name);
    return word && word[0] && text_to_c (text_of (word), out, out_bytes);
}

static bool take_words (const struct certificate *from, struct monitor_key *key)
{
    char form[8], digits[8];
    uint64_t port;
    bool whole = key_file_take_word (from, "sliceup-monitor", form, sizeof form) && strcmp (form, "1") == 0 &&
                 key_file_take_word (from, "port", digits, sizeof digits) && text_to_u64 (text_of (digits), &port) &&
                 port > 0 && port <= UINT16_MAX && key_file_take_word (from, "run", key->run, sizeof key->run) &&
                 run_id_valid (text_of (key->run)) &&
                 key_file_take_word (from, "address", key->address, sizeof key->address) &&
                 key_file_take_word (from, "coordinator-key", key->coordinator_key, sizeof key->coordinator_key) &&
                 strlen (key->coordinator_key) == LINK_KEY_BYTES - 1 && certificate_keys (from, &key->keys);
    key->port = whole ? (uint16_t) port : 0;
    return whole;
}

static bool parse_monitor_certificate (struct text file, struct monitor_key *key)
{
    struct certificate *certificate = certificate_parse (file);
    bool good = certificate && take_words (certificate, key);
    certificate_release (certificate);
    return good;
}

int monitor_key_load (struct monitor_key *key, const char *path, struct err *err)
{
    struct buf file;
    struct monitor_key found = { 0 };
    buf_init (&file, MONITOR_KEY_FILE_MAX_BYTES);
    int rc = private_file_read (path, &file, err);
    if (rc == 0 && !parse_monitor_certificate (buf_as_text (&file), &found))
        rc = err_set (err, ERR_PARSE, "%s is not a monitor key: sliceup monitor-key RUN prints one", path);
    struct curve_key coordinator;
    if (rc == 0 && (link_keys_check (&found.keys, err) < 0 ||
                    curve_key_parse (text_of (found.coordinator_key), &coordinator, err) < 0))
        rc = err_prefix (err, "monitor key %s", path);
    if (rc == 0)
        *key = found;
    if (file.ptr)
        explicit_bzero (file.ptr, file.len);
    buf_release (&file);
    explicit_bzero (&found, sizeof found);
    return rc;
}

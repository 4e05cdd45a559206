#include "coordinator/monitor/key_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "common/io/fd.h"

static void wipe (struct buf *file)
{
    if (file->ptr)
        explicit_bzero (file->ptr, file->capacity);
    buf_release (file);
}

int key_file_save (const struct link_keys *keys, const char *path, struct err *err)
{
    if (link_keys_check (keys, err) != 0)
        return err_prefix (err, "keys for %s", path);
    struct buf file = { .max = CERTIFICATE_MAX_BYTES };
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
    struct link_keys found = { 0 };
    struct buf file = { .max = CERTIFICATE_MAX_BYTES };
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
    LOCAL_BUF file = { .max = LINK_KEY_BYTES };
    int rc = file_read (path, &file, err);
    if (rc == 0 &&
        (file.len != LINK_KEY_BYTES || file.ptr[LINK_KEY_BYTES - 1] != '\n' || memchr (file.ptr, 0, file.len) != NULL))
        rc = err_set (err, ERR_DAMAGE, "%s does not hold a public key: expected %d characters and a newline", path,
                      LINK_KEY_BYTES - 1);
    if (rc == 0) {
        memcpy (out, file.ptr, LINK_KEY_BYTES - 1);
        out[LINK_KEY_BYTES - 1] = '\0';
    }
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
    LOCAL_DIR entries = opendir (run_dir_path (dir, MONITORS_FOLDER, folder));
    if (!entries)
        return err_errno (err, ERR_IO, "folder %s cannot be read", folder);
    for (struct dirent *entry = readdir (entries); entry; entry = readdir (entries))
        n += public_key_is_file_name (entry->d_name);
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
    struct monitor_key found = { 0 };
    struct buf file = { .max = MONITOR_KEY_FILE_MAX_BYTES };
    int rc = private_file_read (path, &file, err);
    if (rc == 0 && !parse_monitor_certificate (buf_as_text (&file), &found))
        rc = err_set (err, ERR_PARSE, "%s is not a monitor key: sliceup monitor-key RUN prints one", path);
    struct curve_key coordinator;
    if (rc == 0 && (link_keys_check (&found.keys, err) < 0 ||
                    curve_key_parse (text_of (found.coordinator_key), &coordinator, err) < 0))
        rc = err_prefix (err, "monitor key %s", path);
    if (rc == 0)
        *key = found;
    wipe (&file);
    explicit_bzero (&found, sizeof found);
    return rc;
}

/* ---- tickets ---- */

enum { PATH_BYTES = 2048 };

/* ---- places ---- */

/* The plan's names are checked; the slice's is checked again, since it becomes a path. */
static int slice_path (const struct plan *plan, const char *name, char out[PATH_BYTES], struct err *err)
{
    if (!host_name_valid (plan->slice))
        return err_set (err, ERR_CONFIG,
                        "slice '%.*s' cannot have tickets: its name must begin with a letter or digit "
                        "and hold only letters, digits, '.', '_' and '-'",
                        TEXT_ARG (plan->slice));
    int len = snprintf (out, PATH_BYTES, "%.*s/slices/%.*s/%s", TEXT_ARG (plan->home), TEXT_ARG (plan->slice), name);
    return len < PATH_BYTES ? 0 : err_set (err, ERR_LIMIT, "the path of the home folder is too long for tickets");
}

static int host_path (const struct plan *plan, struct text host, char out[PATH_BYTES], struct err *err)
{
    char name[HOST_NAME_MAX_BYTES + 16], file[HOST_FILE_BYTES];
    host = host_file_name (host, file);
    snprintf (name, sizeof name, "hosts/%.*s" PUBLIC_KEY_SUFFIX, TEXT_ARG (host));
    return slice_path (plan, name, out, err);
}

static int ticket_path (const struct ticket_request *request, struct text host, char out[PATH_BYTES], struct err *err)
{
    char file[HOST_FILE_BYTES];
    host = host_file_name (host, file);
    int len = snprintf (out, PATH_BYTES, "%s/%.*s.ticket", request->folder, TEXT_ARG (host));
    return len < PATH_BYTES ? 0 : err_set (err, ERR_USAGE, "the path given with --out is too long");
}

/* Others must not write there, because they could admit workers. */
static int check_place (const struct plan *plan, struct err *err)
{
    char home[PATH_MAX_BYTES + 1], name[HOST_NAME_MAX_BYTES + 16];
    if (!text_to_c (plan->home, home, sizeof home))
        return err_set (err, ERR_LIMIT, "the path of the home folder is too long for tickets");
    snprintf (name, sizeof name, "slices/%.*s", TEXT_ARG (plan->slice));
    return home_folder_check (home, "slices", false, err) < 0 ? -1 : home_folder_check (home, name, false, err);
}

/* ---- issue ---- */

static int refuse_taken (const struct ticket_request *request, struct err *err)
{
    char path[PATH_BYTES];
    for (uint32_t i = 0; i < request->hosts->n && !request->renew; i++) {
        struct text host = request->hosts->items[i];
        if (host_path (request->plan, host, path, err) < 0)
            return -1;
        if (access (path, F_OK) == 0)
            return err_set (err, ERR_STATE,
                            "host %.*s of slice %.*s already has a ticket; --renew replaces tickets, and old ones stop "
                            "working with the next run",
                            TEXT_ARG (host), TEXT_ARG (request->plan->slice));
        if (ticket_path (request, host, path, err) < 0)
            return -1;
        if (access (path, F_OK) == 0)
            return err_set (err, ERR_STATE, "%s already exists: use --renew to replace it, or choose another folder",
                            path);
    }
    return 0;
}

static int slice_keys (const struct ticket_request *request, struct link_keys *keys, struct err *err)
{
    char path[PATH_BYTES];
    if (slice_path (request->plan, "hosts", path, err) < 0 || folder_make (path, 0700, err) < 0 ||
        slice_path (request->plan, "coordinator.key", path, err) < 0)
        return -1;
    if (!request->renew_slice && access (path, F_OK) == 0)
        return key_file_load (keys, path, err);
    link_keys_make (keys);
    return key_file_save (keys, path, err);
}

static int write_ticket (const struct ticket_request *request, struct text host, const char *coordinator_key,
                         const struct link_keys *keys, struct err *err)
{
    const struct start_plan *start = &request->plan->start;
    char path[PATH_BYTES];
    if (ticket_path (request, host, path, err) < 0)
        return -1;
    struct text slice = request->plan->slice, address = start->address;
    json_t *object = json_pack ("{s:i, s:s%, s:s%, s:s%, s:i, s:i, s:s, s:s, s:s}", "sliceup-ticket", 1, "slice",
                                slice.ptr, (size_t) slice.len, "host", host.ptr, (size_t) host.len, "address",
                                address.ptr, (size_t) address.len, "control_port", (int) start->control_port,
                                "bulk_port", (int) start->bulk_port, "coordinator_key", coordinator_key, "public_key",
                                keys->public_key, "secret_key", keys->secret_key);
    LOCAL_MEM char *text = object ? json_dumps (object, JSON_INDENT (2)) : NULL;
    json_decref (object);
    if (!text)
        return err_set (err, ERR_LIMIT, "%s cannot be written: out of memory", path);
    int rc = atomic_file_write (path, text, strlen (text), 0600, err);
    explicit_bzero (text, strlen (text));
    return rc;
}

/* The ticket first, because an admitted host without one would be awaited in vain. */
static int issue_one (const struct ticket_request *request, struct text host, const char *coordinator_key,
                      struct err *err)
{
    char path[PATH_BYTES];
    struct link_keys keys;
    link_keys_make (&keys);
    int rc = write_ticket (request, host, coordinator_key, &keys, err);
    if (rc == 0)
        rc = host_path (request->plan, host, path, err);
    if (rc == 0)
        rc = public_key_save (path, keys.public_key, err);
    explicit_bzero (&keys, sizeof keys);
    return rc;
}

int ticket_issue_all (const struct ticket_request *request, struct err *err)
{
    struct link_keys slice;
    const struct start_plan *start = &request->plan->start;
    if (request->plan->launcher != LAUNCHER_JOIN)
        return err_set (err, ERR_CONFIG,
                        "slice %.*s has launcher %s, which needs no tickets; tickets are for launcher: join",
                        TEXT_ARG (request->plan->slice), enum_name_of (&launcher_names, request->plan->launcher));
    if (!start->address.len || !start->control_port || !start->bulk_port)
        return err_set (err, ERR_CONFIG,
                        "a ticket contains the address of the coordinator: the slice file must give coordinator: "
                        "{address: ..., control_port: ..., bulk_port: ...}");
    if (check_place (request->plan, err) < 0 || refuse_taken (request, err) < 0 ||
        folder_make (request->folder, 0700, err) < 0 || slice_keys (request, &slice, err) < 0)
        return -1;
    int rc = 0;
    for (uint32_t i = 0; i < request->hosts->n && rc == 0; i++)
        rc = issue_one (request, request->hosts->items[i], slice.public_key, err);
    explicit_bzero (&slice, sizeof slice);
    return rc;
}

/* ---- the coordinator's side ---- */

static int no_ticket (const struct plan *plan, struct text host, struct err *err)
{
    return err_set (err, ERR_STATE,
                    "host %.*s of slice %.*s has no ticket, so its worker cannot join; make one and copy it to the "
                    "host: sliceup ticket %.*s --out DIR --hosts %.*s",
                    TEXT_ARG (host), TEXT_ARG (plan->slice), TEXT_ARG (plan->source.path), TEXT_ARG (host));
}

static int load_hosts (const struct plan *plan, struct slice_link_keys *keys, struct err *err)
{
    char path[PATH_BYTES];
    for (uint32_t i = 0; i < plan->hosts.n; i++) {
        struct text host = plan->hosts.items[i].name;
        if (host_path (plan, host, path, err) < 0)
            return -1;
        if (access (path, F_OK) != 0 && errno == ENOENT)
            return no_ticket (plan, host, err);
        if (public_key_load (path, keys->hosts[i], err) < 0)
            return -1;
    }
    return 0;
}

int slice_link_keys_load (const struct plan *plan, struct slice_link_keys *keys, struct err *err)
{
    char path[PATH_BYTES];
    struct slice_link_keys found = { .n = plan->hosts.n };
    if (slice_path (plan, "coordinator.key", path, err) < 0 || check_place (plan, err) < 0)
        return -1;
    if (access (path, F_OK) != 0 && errno == ENOENT)
        return err_set (err, ERR_STATE,
                        "slice %.*s has no tickets yet, so no worker can join; make them and copy each to its host: "
                        "sliceup ticket %.*s --out DIR",
                        TEXT_ARG (plan->slice), TEXT_ARG (plan->source.path));
    if (key_file_load (&found.coordinator, path, err) < 0)
        return -1;
    found.hosts = mem_array (plan->hosts.n, sizeof *found.hosts);
    int rc = load_hosts (plan, &found, err);
    if (rc == 0)
        *keys = found;
    else
        slice_link_keys_release (&found);
    return rc;
}

void slice_link_keys_release (struct slice_link_keys *keys)
{
    mem_free (keys->hosts);
    explicit_bzero (keys, sizeof *keys);
}

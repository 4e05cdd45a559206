#include "coordinator/monitor/key_file.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/io/atomic_file.h"
#include "coordinator/journal/run_dir.h"

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
    char *text = object ? json_dumps (object, JSON_INDENT (2)) : NULL;
    json_decref (object);
    if (!text)
        return err_set (err, ERR_LIMIT, "%s cannot be written: out of memory", path);
    int rc = atomic_file_write (path, text, strlen (text), 0600, err);
    explicit_bzero (text, strlen (text));
    free (text);
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

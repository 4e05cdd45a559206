#include "coordinator/journal/run_dir.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/rng.h"
#include "common/io/atomic_file.h"
#include "common/io/clock.h"
#include "common/io/fd.h"
#include "common/io/safe_path.h"

enum { RUNS_LISTED_MAX = 100000, CREATED_MAX_BYTES = 64 };

const char *run_dir_path (const struct run_dir *dir, const char *name, char out[RUN_PATH_BYTES])
{
    int len = snprintf (out, RUN_PATH_BYTES, "%s/runs/%s%s%s", dir->home, dir->id, name[0] ? "/" : "", name);
    assert (len < RUN_PATH_BYTES); /* home is shorter by more than any name below it */
    return out;
}

const char *run_dir_unbegun_path (const struct run_dir *dir, char out[RUN_PATH_BYTES])
{
    snprintf (out, RUN_PATH_BYTES, "%s/runs/%s.unbegun", dir->home, dir->id);
    return out;
}

const char *run_dir_log_path (const struct run_dir *dir, const struct plan *plan, uint32_t host,
                              const struct attempt_key *key, char out[RUN_PATH_BYTES])
{
    char name[512];
    snprintf (name, sizeof (name), "logs/%.*s/%.*s.%s.%u.log", TEXT_ARG (plan->hosts.items[host].name),
              TEXT_ARG (plan->rungs.items[key->rung].id), enum_name_of (&pass_names, key->pass), key->attempt);
    return run_dir_path (dir, name, out);
}

static bool run_dir_is_word (struct text name)
{
    return name.len && name.len <= ID_MAX_BYTES && name.ptr[0] != '.' && memchr (name.ptr, '/', name.len) == NULL &&
           memchr (name.ptr, '\0', name.len) == NULL;
}

bool run_dir_names_path_safe (const struct plan *plan)
{
    for (uint32_t i = 0; i < plan->hosts.n; i++)
        if (!host_name_valid (plan->hosts.items[i].name))
            return false;
    for (uint32_t i = 0; i < plan->rungs.n; i++)
        if (!run_dir_is_word (plan->rungs.items[i].id))
            return false;
    return true;
}

static int set_home (struct run_dir *dir, const char *home, struct err *err)
{
    if (home[0] != '/' || strlen (home) >= sizeof (dir->home))
        return err_set (err, ERR_USAGE, "home '%s': expected an absolute path of fewer than %zu bytes", home,
                        sizeof (dir->home));
    snprintf (dir->home, sizeof (dir->home), "%s", home);
    return 0;
}

/* Made before the folder, so that an unbegun folder never lacks it. */
static int sign_unbegun (const struct run_dir *dir, struct err *err)
{
    char path[RUN_PATH_BYTES];
    snprintf (path, sizeof (path), "%s/runs", dir->home);
    if (folder_make (path, 0700, err) < 0)
        return -1;
    LOCAL_FD fd = open (run_dir_unbegun_path (dir, path), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return err_errno (err, ERR_IO, "cannot create %s", path);
    return 0;
}

bool run_dir_name (struct run_dir *dir, struct text home, struct text id)
{
    return run_id_valid (id) && text_to_c (id, dir->id, sizeof dir->id) && home.len && home.ptr[0] == '/' &&
           text_to_c (home, dir->home, sizeof dir->home);
}

static uint64_t changed_ms (const struct run_dir *dir, const char *name)
{
    struct stat at;
    if (stat (RUN_PATH (dir, name), &at) != 0 || at.st_mtim.tv_sec < 0)
        return UINT64_MAX;
    return (uint64_t) at.st_mtim.tv_sec * 1000 + (uint64_t) at.st_mtim.tv_nsec / 1000000;
}

/* For a folder without `created`: the oldest of its first files, since reading a run changes its folder's time. */
static uint64_t made_ms (const struct run_dir *dir)
{
    static const char *const firsts[] = { "", "created", "coordinator.key", "hosts", "receipts" };
    uint64_t least = UINT64_MAX;
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        uint64_t ms = changed_ms (dir, firsts[i]);
        least = ms < least ? ms : least;
    }
    return least == UINT64_MAX ? 0 : least;
}

/* Twice the same number, so that a wrong digit is seen. */
static bool take_created (struct text text, uint64_t *ms)
{
    struct text first;
    if (text.len == 0 || text.ptr[--text.len] != '\n' || !text_cut (&text, ' ', &first))
        return false;
    return text_equal (first, text) && text_to_u64 (first, ms) && *ms < INT64_MAX;
}

/* 0: nothing there says it. */
static uint64_t stamp_ms (const struct run_dir *dir, const char *name)
{
    LOCAL_BUF text = { .max = CREATED_MAX_BYTES };
    uint64_t ms = 0;
    bool known = file_read (RUN_PATH (dir, name), &text, NULL) == 0 && take_created (buf_as_text (&text), &ms);
    return known ? ms : 0;
}

uint64_t run_dir_held_ms (const struct run_dir *dir, uint64_t created_ms)
{
    uint64_t taken_ms = stamp_ms (dir, "taken-over");
    return taken_ms > created_ms ? taken_ms : created_ms;
}

struct listed {
    struct run_dir dir;
    uint64_t created_ms, held_ms;
};

static int run_dir_newest_first (const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    int order = order_u64 (y->created_ms, x->created_ms);
    return order ? order : strcmp (x->dir.id, y->dir.id);
}

static struct listed *list_runs (const char *home, uint32_t *n, struct err *err)
{
    char path[RUN_PATH_BYTES];
    struct listed *runs = NULL;
    uint32_t capacity = 0;
    *n = 0;
    if (home_folder_check (home, "runs", false, err) < 0)
        return NULL;
    snprintf (path, sizeof (path), "%s/runs", home);
    LOCAL_DIR folder = opendir (path);
    if (folder == NULL) {
        if (errno != ENOENT)
            err_errno (err, ERR_IO, "cannot list %s", path);
        return errno == ENOENT ? mem_alloc (sizeof (*runs)) : NULL;
    }
    struct dirent *entry;
    while ((entry = readdir (folder)) != NULL && *n < RUNS_LISTED_MAX) {
        runs = mem_room (runs, *n, &capacity, 16, sizeof (*runs));
        struct listed *run = &runs[*n];
        if (!run_dir_name (&run->dir, text_of (home), text_of (entry->d_name)))
            continue;
        (*n)++;
        uint64_t created_ms = stamp_ms (&run->dir, "created");
        run->created_ms = created_ms ? created_ms : made_ms (&run->dir);
        run->held_ms = run_dir_held_ms (&run->dir, run->created_ms);
    }
    sort_items (runs, *n, sizeof (*runs), run_dir_newest_first);
    return runs ? runs : mem_alloc (sizeof (*runs));
}

/* Now, but above all existing ones, in case the clock was set back. */
static int next_created (const char *home, unsigned long long *ms, struct err *err)
{
    uint32_t n;
    LOCAL_MEM struct listed *runs = list_runs (home, &n, err);
    if (runs == NULL)
        return -1;
    *ms = clock_wall_ms ();
    for (uint32_t i = 0; i < n; i++)
        *ms = runs[i].held_ms >= *ms ? runs[i].held_ms + 1 : *ms;
    return 0;
}

static int write_stamp (const struct run_dir *dir, const char *name, unsigned long long at_ms, struct err *err)
{
    char text[CREATED_MAX_BYTES];
    snprintf (text, sizeof (text), "%llu %llu\n", at_ms, at_ms);
    return atomic_file_write (RUN_PATH (dir, name), text, strlen (text), 0600, err);
}

int run_dir_note_taken_over (const struct run_dir *dir, struct err *err)
{
    unsigned long long at_ms;
    return next_created (dir->home, &at_ms, err) < 0 ? -1 : write_stamp (dir, "taken-over", at_ms, err);
}

static int run_dir_fill (const struct run_dir *dir, unsigned long long at_ms, struct err *err)
{
    static const char *const folders[] = { "", "hosts", "logs", "receipts" };
    if (sign_unbegun (dir, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof (folders) / sizeof (folders[0]); i++)
        if (folder_make (RUN_PATH (dir, folders[i]), 0700, err) < 0)
            return -1;
    return write_stamp (dir, "created", at_ms, err);
}

int run_dir_create (struct run_dir *dir, const char *home, struct err *err)
{
    char path[RUN_PATH_BYTES];
    unsigned long long at_ms;
    if (set_home (dir, home, err) < 0 || random_hex (dir->id, RUN_ID_HEX_BYTES - 1, "a run id", err) < 0 ||
        next_created (home, &at_ms, err) < 0)
        return -1;
    if (run_dir_fill (dir, at_ms, err) == 0)
        return 0;
    if (folder_remove (run_dir_path (dir, "", path), NULL) < 0)
        err_prefix (err, "(the folder of run %.8s remains)", dir->id);
    else
        (void) unlink (run_dir_unbegun_path (dir, path)); /* alone it is of no run */
    return -1;
}

int run_dir_each (const char *home, run_dir_fn *fn, void *owner, struct err *err)
{
    uint32_t n;
    LOCAL_MEM struct listed *runs = list_runs (home, &n, err);
    if (runs == NULL)
        return -1;
    int rc = 0;
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = fn (owner, &runs[i].dir, runs[i].created_ms);
    return rc;
}

static int run_dir_choose (const struct listed *runs, uint32_t n, const char *home, const char *wanted,
                           struct run_dir *dir, struct err *err)
{
    const struct listed *found = NULL;
    bool last = strcmp (wanted, "last") == 0;
    for (uint32_t i = 0; i < n; i++) {
        if (last ? found && runs[i].held_ms <= found->held_ms : strncmp (runs[i].dir.id, wanted, strlen (wanted)) != 0)
            continue;
        if (found && !last)
            return err_set (err, ERR_USAGE, "run '%s' is ambiguous: %.8s... and %.8s... both match; give more digits",
                            wanted, found->dir.id, runs[i].dir.id);
        found = &runs[i];
    }
    if (found == NULL && n == 0)
        return err_set (err, ERR_USAGE, "there are no runs yet in %s; start one with: sliceup run SLICE.yaml", home);
    if (found == NULL)
        return err_set (
            err, ERR_USAGE,
            "no run '%s', expected an id, the beginning of one, or 'last'; the newest is %.8s (sliceup runs lists "
            "them)",
            wanted, runs[0].dir.id);
    *dir = found->dir;
    return 0;
}

int run_dir_check (const struct run_dir *dir, struct err *err)
{
    char name[sizeof "runs/" + RUN_ID_HEX_BYTES];
    snprintf (name, sizeof name, "runs/%s", dir->id);
    return home_folder_check (dir->home, name, false, err);
}

int run_dir_find (struct run_dir *dir, const char *home, const char *wanted, struct err *err)
{
    uint32_t n;
    struct run_dir checked;
    if (set_home (&checked, home, err) < 0)
        return -1;
    if (wanted[0] == '\0')
        return err_set (err, ERR_USAGE, "an empty run id; expected an id, the beginning of one, or 'last'");
    LOCAL_MEM struct listed *runs = list_runs (home, &n, err);
    if (runs == NULL)
        return -1;
    int rc = run_dir_choose (runs, n, home, wanted, dir, err);
    return rc < 0 ? -1 : run_dir_check (dir, err);
}

static bool is_any_address (const char *address)
{
    static const char *const any[] = { "0.0.0.0", "*", "::", "[::]" };
    return text_is_word (text_of (address), any, sizeof (any) / sizeof (any[0]));
}

void run_addresses_set_reach (struct run_addresses *hub, struct text wanted)
{
    if (wanted.len)
        snprintf (hub->reach, sizeof (hub->reach), "%.*s", TEXT_ARG (wanted));
    else if (!is_any_address (hub->address) || gethostname (hub->reach, sizeof (hub->reach) - 1) != 0)
        snprintf (hub->reach, sizeof (hub->reach), "%s", hub->address);
}

const char *run_addresses_local (const struct run_addresses *hub)
{
    return !is_any_address (hub->address) ? hub->address : strchr (hub->address, ':') ? "::1" : "127.0.0.1";
}

int run_addresses_save (const struct run_dir *dir, const struct run_addresses *hub, struct err *err)
{
    json_auto_t *object = json_pack ("{s:s, s:s, s:i, s:i, s:i, s:s}", "address", hub->address, "reach", hub->reach,
                                     "control_port", (int) hub->control_port, "bulk_port", (int) hub->bulk_port,
                                     "events_port", (int) hub->events_port, "public_key", hub->public_key);
    LOCAL_MEM char *text = json_dumps (object, JSON_COMPACT);
    if (text == NULL)
        return err_set (err, ERR_IO, "cannot write hub.json: out of memory");
    return atomic_file_write (RUN_PATH (dir, "hub.json"), text, strlen (text), 0600, err);
}

static bool run_dir_take_port (const json_t *object, const char *name, uint16_t *port)
{
    const json_t *value = json_object_get (object, name);
    json_int_t number = json_is_integer (value) ? json_integer_value (value) : 0;
    *port = (uint16_t) number;
    return number > 0 && number < 65536;
}

static bool take_string (const json_t *object, const char *name, char *out, size_t out_bytes)
{
    const char *value = json_string_value (json_object_get (object, name));
    if (value == NULL || strlen (value) >= out_bytes)
        return false;
    snprintf (out, out_bytes, "%s", value);
    return true;
}

int run_addresses_load (const struct run_dir *dir, struct run_addresses *hub, struct err *err)
{
    char path[RUN_PATH_BYTES];
    LOCAL_BUF text = { .max = 4096 };
    if (file_read (run_dir_path (dir, "hub.json", path), &text, err) < 0)
        return -1;
    json_auto_t *object = json_loadb ((const char *) text.ptr, text.len, 0, NULL);
    if (object && run_dir_take_port (object, "control_port", &hub->control_port) &&
        run_dir_take_port (object, "bulk_port", &hub->bulk_port) &&
        run_dir_take_port (object, "events_port", &hub->events_port) &&
        take_string (object, "address", hub->address, sizeof (hub->address)) &&
        take_string (object, "reach", hub->reach, sizeof (hub->reach)) &&
        take_string (object, "public_key", hub->public_key, sizeof (hub->public_key)))
        return 0;
    return err_set (err, ERR_DAMAGE, "%s is damaged: it lacks values that a coordinator writes there", path);
}

/* ---- folders of the home ---- */

int home_folder_check (const char *home, const char *name, bool elsewhere, struct err *err)
{
    const struct safe_path_rule rule = { .what = "folder of the sliceup home",
                                         .instead = "move it away, or name another home with --home",
                                         .own = !elsewhere };
    char path[PATH_MAX];
    int len = snprintf (path, sizeof path, "%s/%s", home, name);
    if (len < 0 || (size_t) len >= sizeof path)
        return err_set (err, ERR_LIMIT, "the path of the sliceup home is longer than %d bytes", PATH_MAX - 1);
    return safe_path_check (path, &rule, err);
}

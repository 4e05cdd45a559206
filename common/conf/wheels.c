/* wheels.c - a folder of wheels that travel to the hosts: for every pin at least one, by its sha256 in the pin file.
 *
 * Only a file's name and bytes count; a wheel without a pin is not sent. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/conf/draft.h"
#include "common/model/kit.h"
#include "common/model/requirements.h"

enum { FOLDER_ENTRIES_MAX = 65536, LACKING_MAX = 10 };
enum { NAMES_MAX_BYTES = 36 * 1024 }; /* of all names and paths, which must fit one frame with the RUN of restore */

struct wheel_draft {
    struct draft *draft;
    const struct yaml_node *at; /* where a mistake is shown */
    const char *folder;         /* resolved */
    struct requirements pins;
    bool *served; /* per pin: a wheel was found */
    struct kit_file items[WHEELS_MAX];
    uint32_t n, names_bytes;
};

/* "jax_cuda-0.4.32-py3-none-any.whl": the pin that it is of by name and version; NULL: none. */
static struct requirement *find_pin (const struct wheel_draft *wheels, const char *file)
{
    const char *dash = strchr (file, '-'), *end = dash ? strchr (dash + 1, '-') : NULL;
    size_t len = strlen (file);
    if (!end || len < 5 || strcmp (file + len - 4, ".whl") != 0)
        return NULL;
    struct text name = requirement_normal_name ((struct text){ file, (uint32_t) (dash - file) }, wheels->draft->arena);
    struct text version = { dash + 1, (uint32_t) (end - dash - 1) };
    for (uint32_t i = 0; i < wheels->pins.n; i++) {
        struct requirement *pin = &wheels->pins.items[i];
        /* A file's name has '_' for the '-' of a local version. */
        bool same = text_equal (pin->name, name) && pin->version.len == version.len;
        for (uint32_t k = 0; same && k < version.len; k++)
            same = pin->version.ptr[k] == version.ptr[k] ||
                   (version.ptr[k] == '_' && strchr ("-_.", pin->version.ptr[k]));
        if (same)
            return pin;
    }
    return NULL;
}

static bool is_pinned (const struct requirement *pin, const struct digest *digest)
{
    for (uint32_t i = 0; i < pin->hashes_n; i++)
        if (digest_equal (&pin->hashes[i], digest))
            return true;
    return false;
}

static int check_wheel (struct wheel_draft *wheels, struct text name, struct text path)
{
    struct problem_list *problems = wheels->draft->problems;
    struct stat status;
    if (!kit_name_is_good (name) || path.len > PATH_MAX_BYTES)
        return problem_at (problems, wheels->at,
                           "the wheel %s cannot be copied to hosts, expected a name of letters, digits, '.', '_', '+' "
                           "and '-', and at most %d bytes of path",
                           problem_quote (problems, name), PATH_MAX_BYTES);
    if (lstat (path.ptr, &status) < 0 || !S_ISREG (status.st_mode) || status.st_size > WHEEL_MAX_BYTES)
        return problem_at (problems, wheels->at, "the wheel %s is not a regular file of less than 2 GiB",
                           problem_quote (problems, name));
    if (wheels->n == WHEELS_MAX || wheels->names_bytes + name.len + path.len > NAMES_MAX_BYTES)
        return problem_at (
            problems, wheels->at,
            "the wheel folder %s holds too many wheels of the pins, expected at most %d, with at most %d bytes of "
            "names and paths",
            problem_quote (problems, text_of (wheels->folder)), WHEELS_MAX, NAMES_MAX_BYTES);
    return 0;
}

static int wheels_take (struct wheel_draft *wheels, const char *file)
{
    struct requirement *pin = find_pin (wheels, file);
    struct text name = text_copy (wheels->draft->arena, text_of (file));
    struct text path = text_format (wheels->draft->arena, "%s/%s", wheels->folder, file);
    struct digest digest;
    struct err err = { 0 };
    if (!pin)
        return 0;
    if (check_wheel (wheels, name, path) != 0)
        return -1;
    if (digest_of_file (path.ptr, &digest, &err) != 0)
        return problem_at (wheels->draft->problems, wheels->at, "%s", err.text);
    if (!is_pinned (pin, &digest))
        return 0;
    wheels->served[pin - wheels->pins.items] = true;
    wheels->names_bytes += name.len + path.len;
    wheels->items[wheels->n].name = name;
    wheels->items[wheels->n].file.path = path;
    wheels->items[wheels->n++].file.sha256 = text_copy (wheels->draft->arena, text_of (DIGEST_TEXT (&digest)));
    return 0;
}

static int read_folder (struct wheel_draft *wheels)
{
    struct dirent *entry;
    int result = 0;
    uint32_t n = 0;
    DIR *folder = opendir (wheels->folder);
    if (!folder)
        return problem_at (wheels->draft->problems, wheels->at, "the wheel folder %s cannot be read: %s",
                           problem_quote (wheels->draft->problems, text_of (wheels->folder)), strerror (errno));
    for (; result == 0 && n <= FOLDER_ENTRIES_MAX && (entry = readdir (folder)); n++)
        result = wheels_take (wheels, entry->d_name);
    closedir (folder);
    if (n > FOLDER_ENTRIES_MAX) /* not all files were looked at */
        return problem_at (
            wheels->draft->problems, wheels->at,
            "the wheel folder %s holds more than %d files, expected a folder with only the wheels of the pins",
            problem_quote (wheels->draft->problems, text_of (wheels->folder)), FOLDER_ENTRIES_MAX);
    return result;
}

static void check_served (const struct wheel_draft *wheels)
{
    uint32_t n = 0;
    LOCAL_BUF lacking = { .max = 16 * 1024 };
    for (uint32_t i = 0; i < wheels->pins.n; i++) {
        const struct requirement *pin = &wheels->pins.items[i];
        if (!wheels->served[i] && !pin->marker.len && ++n <= LACKING_MAX) /* with one, not every host needs it */
            buf_printf (&lacking, "%s%.*s==%.*s", n > 1 ? ", " : "", TEXT_ARG (pin->name), TEXT_ARG (pin->version));
    }
    if (n > LACKING_MAX)
        buf_printf (&lacking, " and %u more", n - LACKING_MAX);
    if (n > 0)
        problem_at (wheels->draft->problems, wheels->at,
                    "the wheel folder %s has no wheel with a pinned sha256 for %s; expected one for every pin",
                    problem_quote (wheels->draft->problems, text_of (wheels->folder)), buf_c (&lacking));
}

static void find_all (struct wheel_draft *wheels, struct text pin_bytes)
{
    struct draft *draft = wheels->draft;
    struct pins *pins = &draft->plan.pins;
    if (requirements_parse (pin_bytes, pins->file.path.ptr, draft->arena, &wheels->pins, NULL) != 0)
        return; /* reported with the pins */
    wheels->served = arena_array (draft->arena, wheels->pins.n, sizeof *wheels->served);
    if (read_folder (wheels) != 0)
        return;
    check_served (wheels);
    sort_items (wheels->items, wheels->n, sizeof *wheels->items, text_order);
    pins->wheels.items = arena_copy (draft->arena, wheels->items, wheels->n * sizeof *wheels->items);
    pins->wheels.n = wheels->n;
}

void draft_find_wheels (struct draft *draft, const struct yaml_node *at, struct text folder, struct text pin_bytes)
{
    char path[PATH_MAX_BYTES + 1];
    LOCAL_MEM char *real = text_to_c (folder, path, sizeof path) ? realpath (path, NULL) : NULL;
    if (real) {
        LOCAL_MEM struct wheel_draft *wheels = mem_alloc (sizeof *wheels);
        *wheels = (struct wheel_draft){ .draft = draft, .at = at, .folder = real };
        find_all (wheels, pin_bytes);
    } else {
        problem_at (draft->problems, at, "the wheel folder %s cannot be found on this machine: %s",
                    problem_quote (draft->problems, folder), strerror (errno));
    }
}

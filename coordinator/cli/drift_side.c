#include "coordinator/cli/drift_side.h"

#include <string.h>
#include <unistd.h>

#include "common/base/digest.h"
#include "common/io/atomic_file.h"
#include "coordinator/cli/run_receipt.h"
#include "coordinator/home/run_begun.h"
#include "coordinator/receipt/drift.h"
#include "coordinator/view/drift_json.h"

enum { PINS_MAX_BYTES = 4 << 20 };

static bool is_path (const char *word)
{
    size_t len = strlen (word);
    return strchr (word, '/') || (len > 5 && strcmp (word + len - 5, ".json") == 0);
}

static int open_file (struct drift_side *side, const char *path, struct arena *arena, struct err *err)
{
    struct buf bytes;
    buf_init (&bytes, DRIFT_FILE_MAX_BYTES);
    int rc = file_read (path, &bytes, err);
    if (rc < 0 && access (path, F_OK) < 0)
        err_set (err, ERR_USAGE,
                 "%s is neither a run nor a file here; expected one of both, as sliceup drift --save FILE writes it",
                 path);
    /* The receipt borrows from the arena only: its reader copies. */
    if (rc == 0 && drift_baseline_read (buf_as_text (&bytes), &side->receipt, arena, err) < 0)
        rc = err_prefix (err, "%s", path);
    buf_release (&bytes);
    side->file = true;
    side->name = text_copy (arena, text_of (path));
    return rc;
}

static int open_run (struct drift_side *side, const struct cli *cli, const char *word, struct arena *arena,
                     struct err *err)
{
    struct run_dir dir;
    if (run_begun_find_checked (&dir, cli->home, word, err) < 0)
        return -1;
    side->fold = receipt_fold_create ();
    if (receipt_build (&dir, side->fold, arena, &side->receipt, err) < 0)
        return -1;
    side->plan = receipt_fold_plan (side->fold);
    side->name = text_format (arena, "run %.8s", dir.id);
    return 0;
}

int drift_side_open (struct drift_side *side, const struct cli *cli, const char *word, struct arena *arena,
                     struct err *err)
{
    *side = (struct drift_side){ 0 };
    if ((is_path (word) ? open_file (side, word, arena, err) : open_run (side, cli, word, arena, err)) < 0)
        return -1;
    if (side->receipt.headers.n)
        side->slice = side->receipt.headers.items[0].slice;
    if (side->receipt.headers.n > 1)
        return err_set (err, ERR_REFUSED,
                        "%.*s holds %u runs, but hosts are compared within one run: give the receipt of one",
                        TEXT_ARG (side->name), side->receipt.headers.n);
    if (side->receipt.hosts.n == 0)
        return err_set (err, ERR_STATE, "%.*s has no hosts: there is nothing to compare", TEXT_ARG (side->name));
    return 0;
}

void drift_side_release (struct drift_side *side)
{
    receipt_fold_destroy (side->fold);
}

/* ---- which hosts ---- */

static struct name_list all_names (const struct slice_receipt *receipt, struct arena *arena)
{
    struct name_list names = { NULL, 0 };
    if (receipt->headers.n && receipt->headers.items[0].hosts.n >= receipt->hosts.n)
        return (struct name_list){ receipt->headers.items[0].hosts.items, receipt->headers.items[0].hosts.n };
    names.items = arena_array (arena, receipt->hosts.n, sizeof (*names.items));
    for (; names.n < receipt->hosts.n; names.n++)
        names.items[names.n] = receipt->hosts.items[names.n].host;
    return names;
}

static void keep (struct slice_receipt *receipt, const struct name_list *kept, struct arena *arena)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < receipt->hosts.n; i++)
        if (name_list_has (kept, receipt->hosts.items[i].host))
            receipt->hosts.items[n++] = receipt->hosts.items[i];
    receipt->hosts.n = n;
    if (receipt->headers.n == 0)
        return;
    struct run_header *header = &receipt->headers.items[0];
    struct text *names = arena_array (arena, header->hosts.n, sizeof (*names));
    n = 0;
    for (uint32_t i = 0; i < header->hosts.n; i++)
        if (name_list_has (kept, header->hosts.items[i]))
            names[n++] = header->hosts.items[i];
    header->hosts.items = names;
    header->hosts.n = n;
}

int drift_side_keep_chosen_hosts (struct drift_side *side, const struct host_filter *filter, struct arena *arena,
                                  struct err *err)
{
    struct name_list all = all_names (&side->receipt, arena), kept = { NULL, 0 };
    bool *chosen = arena_array (arena, all.n, sizeof (*chosen));
    if (host_filter_resolve (filter, &all, side->plan, chosen, err) < 0)
        return -1;
    kept.items = arena_array (arena, all.n, sizeof (*kept.items));
    for (uint32_t i = 0; i < all.n; i++)
        if (chosen[i])
            kept.items[kept.n++] = all.items[i];
    keep (&side->receipt, &kept, arena);
    return 0;
}

void drift_side_keep_common_hosts (struct drift_side *side, const struct drift_side *other, struct arena *arena)
{
    struct name_list names = all_names (&other->receipt, arena);
    keep (&side->receipt, &names, arena);
}

/* ---- what a plan adds ---- */

bool drift_side_pins (const struct drift_side *side, struct arena *arena, var_list *pins)
{
    char path[PATH_MAX_BYTES + 1], hex[DIGEST_HEX_BYTES];
    struct buf bytes;
    bool good = false;
    *pins = (var_list){ 0 };
    if (!side->plan || side->plan->pins.file.path.len == 0)
        return true;
    buf_init (&bytes, PINS_MAX_BYTES);
    if (text_to_c (side->plan->pins.file.path, path, sizeof (path)) && file_read (path, &bytes, NULL) == 0) {
        struct digest digest = digest_of (bytes.ptr, bytes.len);
        good = text_is (side->plan->pins.file.sha256, digest_hex (&digest, hex));
    }
    if (good)
        drift_pins_parse (buf_as_text (&bytes), arena, pins);
    buf_release (&bytes);
    return good;
}

void drift_side_judge_topology (const struct drift_side *side, struct arena *arena, struct topology_findings *out)
{
    *out = (struct topology_findings){ 0 };
    if (!side->plan)
        return;
    struct topology_host *hosts = arena_array (arena, side->plan->hosts.n, sizeof (*hosts));
    for (uint32_t i = 0; i < side->receipt.hosts.n; i++) {
        const struct host_receipt *host = &side->receipt.hosts.items[i];
        if (host->rank < side->plan->hosts.n)
            hosts[host->rank] = (struct topology_host){ host->facts.items, host->facts.n };
    }
    topology_judge_hosts (side->plan, hosts, arena, out);
}

/* catalogue_cover.c - which covers of a bundle's newest generation runs have a use for, and since which generation. A
 * generation's record does not change; whoever builds upon it lets go of what was unused for longest (covers.h). */
#include "coordinator/catalogue/catalogue_private.h"
#include "coordinator/verdict/covers.h"

int catalogue_cover_mark_used (const struct catalogue *catalogue, const struct fact_generation *generation,
                               const text_list *used, struct err *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < used->n && rc == 0; i++)
        if (covers_have (&generation->covers, used->items[i]))
            rc = catalogue_change (catalogue, "record which rungs use a generation", NULL, err,
                                   "INSERT INTO cover (bundle, cover, used) VALUES (?1, ?2, ?3)"
                                   " ON CONFLICT DO UPDATE SET used = max (used, excluded.used)",
                                   "tti", generation->bundle, used->items[i], generation->token);
    return rc;
}

/* All that is known to be used of a bundle, the longest unused first. */
static int list_used (const struct catalogue *catalogue, struct text bundle, struct arena *arena, text_list *out,
                      struct err *err)
{
    uint32_t capacity = 0;
    int row;
    *out = (text_list){ 0 };
    sqlite3_stmt *rows = catalogue_prepare (
        catalogue, err, "SELECT cover FROM cover WHERE bundle = ?1 ORDER BY used, cover", "t", bundle);
    if (!rows)
        return -1;
    while ((row = catalogue_step (catalogue, rows, "list which rungs use a generation", err)) == SQLITE_ROW) {
        if (out->n == capacity)
            out->items = mem_grow (out->items, capacity = 2 * capacity + 64, sizeof *out->items);
        out->items[out->n++] = catalogue_column (rows, 0, arena);
    }
    sqlite3_finalize (rows); /* repeats an error that is in `err` */
    return row == SQLITE_DONE ? 0 : -1;
}

/* Each time what `of` has of `from`, or has not. */
static void add_where (text_list *to, const text_list *of, const text_list *from, bool there)
{
    for (uint32_t i = 0; i < of->n; i++)
        if (covers_have (from, of->items[i]) == there)
            to->items[to->n++] = of->items[i];
}

int catalogue_cover_sort_by_use (const struct catalogue *catalogue, struct fact_generation *generation,
                                 struct arena *arena, struct err *err)
{
    text_list used;
    int rc = list_used (catalogue, generation->bundle, arena, &used, err);
    if (rc == 0) {
        text_list ordered = { .items = arena_array (arena, (size_t) generation->covers.n + used.n,
                                                    sizeof *ordered.items) };
        add_where (&ordered, &generation->covers, &used,
                   false); /* of these nobody told anything since they were made */
        add_where (&ordered, &used, &generation->covers, true);
        generation->covers = ordered;
    }
    mem_free (used.items);
    return rc;
}

int catalogue_cover_drop_absent (const struct catalogue *catalogue, const struct fact_generation *generation,
                                 struct err *err)
{
    struct arena arena = { 0 };
    text_list used;
    int rc = list_used (catalogue, generation->bundle, &arena, &used, err);
    for (uint32_t i = 0; i < used.n && rc == 0; i++)
        if (!covers_have (&generation->covers, used.items[i]))
            rc = catalogue_change (catalogue, "remove the record of rungs that used a generation", NULL, err,
                                   "DELETE FROM cover WHERE bundle = ?1 AND cover = ?2", "tt", generation->bundle,
                                   used.items[i]);
    mem_free (used.items);
    arena_release (&arena);
    return rc;
}

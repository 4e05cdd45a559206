#include "coordinator/web/server.h"

#include <string.h>
#include <sys/stat.h>

#include "common/io/clock.h"
#include "coordinator/journal/journal.h"
#include "coordinator/journal/run_begun.h"
#include "coordinator/journal/run_dir.h"
#include "coordinator/monitor/follow.h"
#include "coordinator/view/record_json.h"

/* Events come at once; the journal is read as well, for facts without an event. Without events it is read a little less
 * often than states are made (WEB_PACE_MS), so that each state is fresh. */
enum { LIST_MS = 2000, JOURNAL_MS = 1000, EVENTS_MS = 100, CONNECT_MS = 310, WATCHED_MS = 3000 };

struct served_runs {
    char home[1024];
    const char *only;
    struct served_run *items[SERVED_RUNS_MAX]; /* the newest first */
    uint32_t n;
    uint64_t list_ms;
    uint64_t listed_ms; /* wall time of the last change of the folder of runs; 0: list it */
};

struct served_runs *served_runs_open (const char *home, const char *only)
{
    struct served_runs *runs = mem_alloc (sizeof *runs);
    snprintf (runs->home, sizeof runs->home, "%s", home);
    runs->only = only;
    return runs;
}

static void close_feed (struct served_run *run)
{
    follow_close (run->follow);
    feed_destroy (run->feed);
    run->follow = NULL;
    run->feed = NULL;
    run->whole = false;
    run->revision = run->index = run->notes = run->changed = 0;
}

static void free_run (struct served_run *run)
{
    if (run)
        close_feed (run);
    mem_free (run);
}

void served_runs_close (struct served_runs *runs)
{
    for (uint32_t i = 0; runs && i < runs->n; i++)
        free_run (runs->items[i]);
    mem_free (runs);
}

/* ---- which there are ---- */

struct listing {
    struct served_runs *runs;
    struct served_run *items[SERVED_RUNS_MAX];
    uint32_t n;
};

static struct served_run *take_known (struct served_runs *runs, const char *id)
{
    for (uint32_t i = 0; i < runs->n; i++)
        if (runs->items[i] && strcmp (runs->items[i]->dir.id, id) == 0) {
            struct served_run *known = runs->items[i];
            runs->items[i] = NULL;
            return known;
        }
    return NULL;
}

static int list_run (void *owner, const struct run_dir *dir, uint64_t created_ms)
{
    struct listing *listing = owner;
    const char *only = listing->runs->only;
    if (only && strcmp (only, dir->id) != 0)
        return 0;
    struct served_run *run = take_known (listing->runs, dir->id);
    if (!run) {
        run = mem_alloc (sizeof *run);
        *run =
            (struct served_run){ .dir = *dir, .created_ms = created_ms, .state = SERVED_UNBEGUN, .rest_ms = LIST_MS };
    }
    listing->items[listing->n++] = run;
    return listing->n < SERVED_RUNS_MAX ? 0 : 1;
}

/* Is the folder's time unchanged? A very recent time does not count, since more changes could have the same. */
static bool is_unchanged (struct served_runs *runs, uint64_t wall_ms)
{
    struct stat at;
    char path[RUN_PATH_BYTES];
    snprintf (path, sizeof path, "%s/runs", runs->home);
    if (stat (path, &at) < 0) {
        runs->listed_ms = 0; /* it may come back as it was */
        return false;
    }
    uint64_t changed_ms = (uint64_t) at.st_mtim.tv_sec * 1000 + (uint64_t) at.st_mtim.tv_nsec / 1000000;
    bool unchanged = changed_ms == runs->listed_ms && wall_ms > changed_ms + LIST_MS;
    runs->listed_ms = wall_ms > changed_ms + LIST_MS ? changed_ms : 0;
    return unchanged;
}

static void list (struct served_runs *runs, uint64_t wall_ms)
{
    struct listing listing = { .runs = runs };
    struct err err = { 0 };
    if (is_unchanged (runs, wall_ms))
        return;
    if (run_dir_each (runs->home, list_run, &listing, &err) < 0 && err.code != ERR_REFUSED) {
        runs->listed_ms = 0; /* listed again later; known runs stay */
        return;
    }
    for (uint32_t i = 0; i < runs->n; i++)
        free_run (runs->items[i]);
    memcpy (runs->items, listing.items, sizeof runs->items);
    runs->n = listing.n;
}

static void take_first (void *owner, const struct fact *fact)
{
    struct served_run *run = owner;
    text_to_c (text_clip (fact->of.run_opened.plan.slice, NAME_MAX_BYTES), run->slice, sizeof run->slice);
    run->hosts_n = fact->of.run_opened.plan.hosts.n;
    run->began_wall_ms = fact->wall_ms;
    run->looked = true;
}

static void take_last (void *owner, const struct fact *fact)
{
    struct served_run *run = owner;
    if (fact->kind != FACT_RUN_ENDED)
        return;
    LOCAL_BUF safe = { .max = 64 << 10 };
    buf_escaped (&safe, text_clip (fact->of.run_ended.sentence, sizeof run->sentence), sizeof run->sentence - 1);
    text_to_c (text_clip (buf_as_text (&safe), sizeof run->sentence - 1), run->sentence, sizeof run->sentence);
    run->state = SERVED_ENDED;
    run->outcome = fact->of.run_ended.outcome;
    run->ended_wall_ms = fact->wall_ms;
}

/* An unreadable run has no known state. */
static enum served_state state_of_error (const struct err *err, enum served_state before)
{
    return err->code == ERR_DAMAGE ? SERVED_DAMAGED : err->code == ERR_IO ? before : SERVED_UNBEGUN;
}

/* Checks the mark, which is written with every acknowledged fact; a resume records one first. */
static bool has_grown (struct served_run *run)
{
    struct stat at;
    if (stat (RUN_PATH (&run->dir, "journal.db.mark"), &at) < 0)
        return true;
    uint64_t marked_ns = (uint64_t) at.st_mtim.tv_sec * 1000000000 + (uint64_t) at.st_mtim.tv_nsec;
    bool grown = marked_ns != run->marked_ns;
    run->marked_ns = marked_ns;
    return grown;
}

/* The lock first, since an ending coordinator records the end before it unlocks. */
static void served_runs_look_at (struct served_run *run)
{
    enum served_state before = run->state;
    struct err err = { 0 };
    if (!has_grown (run) && before == SERVED_INTERRUPTED)
        return;
    int held = journal_is_locked (RUN_PATH (&run->dir, "journal.db"), NULL, &err);
    run->state = held > 0 ? SERVED_RUNNING : SERVED_INTERRUPTED;
    run->driven_ms = run_dir_held_ms (&run->dir, run->created_ms);
    if (!run->looked && (run_dir_check (&run->dir, &err) < 0 || run_begun_check (&run->dir, &err) < 0 ||
                         run_facts_read_first (&run->dir, take_first, run, &err) < 0))
        run->state = held > 0 && err.code != ERR_DAMAGE ? SERVED_RUNNING : state_of_error (&err, before);
    else if ((held <= 0 || (run->feed && feed_board (run->feed)->ended)) &&
             run_facts_read_last (&run->dir, take_last, run, &err) < 0)
        run->state = state_of_error (&err, before);
}

static bool is_watched (const struct served_run *run, uint64_t boot_ms)
{
    return run->feed && boot_ms - run->used_ms < WATCHED_MS;
}

/* Checks an idle run after longer and longer pauses. */
static void look_when_due (struct served_run *run, uint64_t boot_ms)
{
    enum served_state before = run->state;
    bool rests = boot_ms < run->again_ms && before != SERVED_RUNNING && !is_watched (run, boot_ms);
    if (before == SERVED_ENDED || rests)
        return;
    served_runs_look_at (run);
    run->rest_ms = run->state != before                ? LIST_MS
                   : run->rest_ms < SERVED_REST_MS / 2 ? 2 * run->rest_ms
                                                       : SERVED_REST_MS;
    run->again_ms = boot_ms + run->rest_ms;
}

static void served_runs_look (struct served_runs *runs, uint64_t boot_ms, uint64_t wall_ms)
{
    list (runs, wall_ms);
    for (uint32_t i = 0; i < runs->n; i++)
        look_when_due (runs->items[i], boot_ms);
}

struct served_run *served_runs_find (struct served_runs *runs, const char *wanted, struct err *err)
{
    struct served_run *found = NULL;
    bool last = strcmp (wanted, "last") == 0;
    for (uint32_t i = 0; i < runs->n; i++) {
        struct served_run *run = runs->items[i];
        if (last ? found && run->driven_ms <= found->driven_ms : strncmp (run->dir.id, wanted, strlen (wanted)) != 0)
            continue;
        if (found && !last) {
            err_set (err, ERR_USAGE, "more than one run begins with %s", wanted);
            return NULL;
        }
        found = run;
    }
    if (!found)
        err_set (err, ERR_USAGE, "no such run is served here");
    return found;
}

/* ---- feeds ---- */

static void served_runs_on_fact (void *owner, const struct fact *fact)
{
    struct served_run *run = owner;
    feed_apply (run->feed, fact, run->state == SERVED_ENDED ? 0 : clock_boot_ms (), clock_wall_ms ());
}

static bool served_runs_make_room (struct served_runs *runs, uint64_t boot_ms)
{
    struct served_run *oldest = NULL;
    uint32_t n = 0;
    for (uint32_t i = 0; i < runs->n; i++)
        if (runs->items[i]->feed) {
            n++;
            if (!oldest || runs->items[i]->used_ms < oldest->used_ms)
                oldest = runs->items[i];
        }
    if (n < SERVED_FEEDS_MAX)
        return true;
    if (is_watched (oldest, boot_ms))
        return false;
    close_feed (oldest);
    return true;
}

int served_run_want (struct served_runs *runs, struct served_run *run, uint64_t boot_ms, struct err *err)
{
    if (run->feed && run->err.code && boot_ms >= run->retry_ms)
        close_feed (run);
    if (!run->feed && !served_runs_make_room (runs, boot_ms))
        return err_set (err, ERR_STATE, "%d runs are watched at the same time, and that is the most", SERVED_FEEDS_MAX);
    if (!run->feed) {
        run->feed = feed_create (BOARD_JUDGED_STATE);
        run->feeds_n++;
        run->follow = follow_open (&run->dir, served_runs_on_fact, run);
        run->err = (struct err){ 0 };
        run->look_ms = 0;
    }
    run->used_ms = boot_ms;
    if (run->err.code && err)
        *err = run->err;
    return run->err.code ? -1 : run->whole;
}

void served_run_look_by (struct served_run *run, uint64_t boot_ms)
{
    if (run->follow && !follow_is_connected (run->follow) && boot_ms < run->look_ms)
        run->look_ms = boot_ms;
}

/* Notes visible changes of hosts, passes and notes; a heartbeat without news is none. */
static void take_changes (struct served_run *run)
{
    const struct board *board = feed_board (run->feed);
    bool told = board->index != run->index || feed_notes_last (run->feed) != run->notes;
    if (board->revision == run->revision)
        return;
    run->revision = board->revision;
    run->index = board->index;
    run->notes = feed_notes_last (run->feed);
    if (told) {
        run->changed = run->revision;
        return;
    }
    for (uint32_t i = 0; board->opened && i < board->plan.hosts.n; i++)
        if (board->hosts[i].changed > run->changed)
            run->changed = board->hosts[i].changed;
    for (uint32_t i = 0; board->opened && i < board->plan.rungs.n; i++)
        if (board->rungs[i].changed > run->changed)
            run->changed = board->rungs[i].changed;
}

static void read_journal (struct served_run *run, uint64_t boot_ms)
{
    bool more = false;
    int held = follow_look (run->follow, NULL, &more, &run->err);
    run->held = held > 0;
    if (held < 0)
        return;
    bool goes_on = !more && !feed_board (run->feed)->ended;
    if (goes_on && follow_has_journal (run->follow))
        feed_freeze_clock (run->feed, !run->held, boot_ms);
    if (goes_on && run->held)
        (void) follow_connect_events (run->follow, NULL); /* else the journal alone is followed, which is slower */
    run->whole |= !more && feed_board (run->feed)->opened;
    bool connects = run->held && !follow_is_connected (run->follow);
    run->look_ms = more ? boot_ms : boot_ms + (connects ? CONNECT_MS : JOURNAL_MS);
}

static void end_follow (struct served_run *run, uint64_t boot_ms)
{
    follow_close (run->follow);
    run->follow = NULL;
    if (run->err.code)
        run->retry_ms = boot_ms + (run->err.code == ERR_DAMAGE ? SERVED_DAMAGED_MS : SERVED_RETRY_MS);
    else
        served_runs_look_at (run); /* the list says so at once */
}

static void tick_feed (struct served_run *run, uint64_t boot_ms)
{
    if (follow_is_connected (run->follow))
        (void) follow_poll_events (run->follow, &run->err);
    if (!run->err.code && boot_ms >= run->look_ms)
        read_journal (run, boot_ms);
    feed_tick (run->feed, boot_ms);
    if (run->whole)
        take_changes (run);
    if (run->err.code || (run->whole && feed_board (run->feed)->ended))
        end_follow (run, boot_ms); /* nothing more comes */
}

/* Events need polling; a run without a coordinator has none. */
static uint64_t next_of_feed (const struct served_run *run, uint64_t boot_ms)
{
    bool hears = run->whole && run->held && follow_is_connected (run->follow);
    return hears && boot_ms + EVENTS_MS < run->look_ms ? boot_ms + EVENTS_MS : run->look_ms;
}

uint64_t served_runs_tick (struct served_runs *runs, uint64_t boot_ms, uint64_t wall_ms)
{
    uint64_t next_ms;
    if (boot_ms >= runs->list_ms) {
        served_runs_look (runs, boot_ms, wall_ms);
        runs->list_ms = boot_ms + LIST_MS;
    }
    next_ms = runs->list_ms;
    for (uint32_t i = 0; i < runs->n; i++) {
        struct served_run *run = runs->items[i];
        if (!run->follow)
            continue;
        tick_feed (run, boot_ms);
        uint64_t wants_ms = run->follow ? next_of_feed (run, boot_ms) : UINT64_MAX;
        next_ms = wants_ms < next_ms ? wants_ms : next_ms;
    }
    return next_ms;
}

/* ---- the list ---- */

static json_t *served_runs_rung_json (const struct served_run *run)
{
    const struct board *board = run->feed ? feed_board (run->feed) : NULL;
    return board && board->opened && board->running ? escaped_json (board_rung_id (board, board->key.rung))
                                                    : json_null ();
}

static json_t *run_json (const struct served_run *run)
{
    static const char *const states[] = { "running", "interrupted", "ended", "never-begun", "damaged" };
    bool ended = run->state == SERVED_ENDED;
    return json_pack ("{s:s, s:o, s:s, s:o, s:o, s:I, s:o, s:o, s:I}", "run", run->dir.id, "slice",
                      text_or_null_json (text_of (run->slice)), "state", states[run->state], "outcome",
                      ended ? json_string (enum_name_of (&outcome_names, run->outcome)) : json_null (), "sentence",
                      text_or_null_json (text_of (run->sentence)), "began_wall_ms",
                      (json_int_t) (run->looked ? run->began_wall_ms : run->created_ms), "ended_wall_ms",
                      number_or_null_json (run->ended_wall_ms), "rung", served_runs_rung_json (run), "hosts",
                      (json_int_t) run->hosts_n);
}

json_t *served_runs_json (struct served_runs *runs, uint64_t boot_ms)
{
    json_t *list = json_array ();
    for (uint32_t i = 0; i < runs->n; i++) {
        if (runs->items[i]->state == SERVED_RUNNING)
            (void) served_run_want (runs, runs->items[i], boot_ms, NULL); /* for its rung, when there is room */
        if (json_array_append_new (list, run_json (runs->items[i])) != 0)
            mem_exit_exhausted (0);
    }
    return json_pack ("{s:o}", "runs", list);
}

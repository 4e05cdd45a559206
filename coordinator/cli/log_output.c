#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/io/fd.h"
#include "coordinator/cli/logs.h"

enum { HOLE_BYTES_LEAST = 4 };

/* One fact about an output. */
struct told {
    struct told *earlier; /* of this host */
    struct attempt_key key;
    bool ended, lost, unstarted; /* `ended`: the host told how much it printed and sent */
    uint64_t output_bytes, log_bytes;
    struct text note;
};

static struct told *add_told (struct log_told *all, uint32_t host, struct attempt_key key, const char *mark,
                              struct text note)
{
    struct told *told = arena_alloc (&all->arena, sizeof (*told));
    *told = (struct told){ .earlier = all->newest[host], .key = key };
    told->note = text_format (&all->arena, "%s%.*s", mark, TEXT_ARG (note));
    return all->newest[host] = told;
}

static void take_ended (struct log_told *all, uint32_t host, const struct result *result)
{
    struct told *told = add_told (all, host, result->key, "", (struct text){ 0 });
    told->ended = result->ending != ENDING_LOST;
    told->unstarted = result->ending == ENDING_NOT_STARTED;
    told->output_bytes = result->output_bytes;
    told->log_bytes = result->log_bytes;
    for (uint32_t i = 0; i < result->notes.n; i++)
        if (text_is (result->notes.items[i].source, "log"))
            add_told (all, host, result->key, "", result->notes.items[i].text);
}

void log_told_take (struct log_told *told, const struct fact *fact)
{
    const struct fact_output_lost *lost = &fact->of.output_lost;
    if (fact->kind == FACT_OUTPUT_LOST)
        add_told (told, lost->host, lost->key, "output is lost: ", lost->why)->lost = true;
    else if (fact->kind == FACT_ATTEMPT_ENDED)
        take_ended (told, fact->of.attempt_ended.host, &fact->of.attempt_ended.result);
}

static void put_amount (const struct told *ended, uint64_t here_bytes, bool may_come, struct buf *out)
{
    if (ended && here_bytes < ended->log_bytes)
        buf_printf (out, "[sliceup] %llu of the %llu bytes that its host sent are not here%s\n",
                    (unsigned long long) (ended->log_bytes - here_bytes), (unsigned long long) ended->log_bytes,
                    may_come ? " yet" : "");
    else if (ended && ended->output_bytes == 0)
        buf_puts (out, ended->unstarted ? "(its program was not started)\n" : "(it printed nothing)\n");
    else if (!ended && here_bytes == 0)
        buf_puts (out, "(nothing of its output is here)\n");
}

bool log_told_lost (const struct log_told *told, const struct log_source *source)
{
    const struct told *at = told->newest[source->host];
    while (at && !(at->lost && attempt_key_equal (&at->key, &source->key)))
        at = at->earlier;
    return at != NULL;
}

bool log_told_whole (const struct log_told *told, const struct log_source *source, uint64_t bytes)
{
    for (const struct told *at = told->newest[source->host]; at; at = at->earlier)
        if (at->ended && attempt_key_equal (&at->key, &source->key))
            return bytes >= at->log_bytes;
    return false;
}

bool log_told_put (const struct log_told *told, const struct log_source *source, uint64_t bytes, uint64_t hole_bytes,
                   bool held, struct buf *out)
{
    const struct told *ended = NULL;
    bool lost = log_told_lost (told, source);
    for (const struct told *at = told->newest[source->host]; at; at = at->earlier) {
        if (!attempt_key_equal (&at->key, &source->key))
            continue;
        ended = at->ended ? at : ended;
        buf_escaped_after (out, "[sliceup] ", at->note, 0);
        buf_puts (out, at->note.len ? "\n" : "");
    }
    bytes -= lost ? hole_bytes : 0; /* else they are bytes of zero */
    put_amount (ended, bytes, held && !lost, out);
    return lost || (ended && !held && bytes < ended->log_bytes);
}

void log_output_put_header (const struct board *board, const uint32_t *hosts, uint32_t n, const struct attempt_key *key,
                            struct buf *out)
{
    board_print_hosts (board, hosts, n, out);
    buf_escaped_after (out, ", rung ", key->attempt ? board_rung_id (board, key->rung) : (struct text){ 0 }, 0);
    if (key->attempt)
        buf_printf (out, ", %s, attempt %u:\n", enum_name_of (&pass_names, key->pass), key->attempt);
    else
        buf_puts (out, ", worker:\n");
}

static uint32_t zeros_at (struct text bytes, uint32_t at)
{
    uint32_t n = 0;
    while (at + n < bytes.len && bytes.ptr[at + n] == '\0')
        n++;
    return n;
}

/* A tab moves the cursor no farther than spaces do. */
static void log_output_add_line (struct text line, bool holes, struct buf *out)
{
    if (line.len && line.ptr[line.len - 1] == '\r')
        line.len--;
    for (uint32_t from = 0, at = 0; at <= line.len; at++) {
        uint32_t hole = holes && at < line.len ? zeros_at (line, at) : 0;
        bool is_hole = hole >= HOLE_BYTES_LEAST;
        if (at < line.len && line.ptr[at] != '\t' && !is_hole)
            continue;
        buf_escaped (out, (struct text){ line.ptr + from, at - from }, 0);
        if (is_hole) {
            buf_printf (out, "[%u bytes are missing here]", hole);
            at += hole - 1;
        } else if (at < line.len) {
            buf_puts (out, "    ");
        }
        from = at + 1;
    }
    buf_byte (out, '\n');
}

void log_output_put_body (struct text bytes, bool raw, bool holes, struct buf *out)
{
    for (struct text rest = bytes; !raw && rest.len;)
        log_output_add_line (text_take_until (&rest, '\n'), holes, out);
    if (raw)
        buf_add_text (out, bytes);
    if (raw && bytes.len && bytes.ptr[bytes.len - 1] != '\n')
        buf_byte (out, '\n');
}

struct text log_output_last_lines (struct text bytes, uint32_t lines, uint32_t *left_out)
{
    uint32_t from = bytes.len, begun = 0; /* lines that begin at or behind `from` */
    *left_out = 0;
    for (uint32_t at = bytes.len; at-- > 0 && begun < lines;)
        if (at == 0 || bytes.ptr[at - 1] == '\n') {
            from = at;
            begun++;
        }
    for (uint32_t at = 0; at < from; at++)
        *left_out += bytes.ptr[at] == '\n';
    return (struct text){ bytes.ptr + from, bytes.len - from };
}

uint64_t log_output_hole_bytes (struct text bytes)
{
    uint64_t sum = 0;
    for (uint32_t at = 0, n; at < bytes.len; at += n ? n : 1)
        sum += (n = zeros_at (bytes, at)) >= HOLE_BYTES_LEAST ? n : 0;
    return sum;
}

/* ---- log tail ---- */

enum { TAIL_BYTES = 16 << 10 };

/* Whole lines, but for one that is longer than a tail. */
static int log_output_read_end (int fd, char piece[TAIL_BYTES], struct text *rest, struct err *err)
{
    struct stat st;
    struct text cut;
    if (fstat (fd, &st) < 0 || !S_ISREG (st.st_mode))
        return err_set (err, ERR_STATE, "its log is no regular file");
    off_t from = st.st_size > TAIL_BYTES ? st.st_size - TAIL_BYTES : 0;
    ssize_t len = pread (fd, piece, TAIL_BYTES, from);
    if (len < 0)
        return err_errno (err, ERR_IO, "its log cannot be read");
    *rest = (struct text){ piece, (uint32_t) len };
    if (from > 0)
        (void) text_cut (rest, '\n', &cut);
    return 0;
}

/* The file is made when the first output comes. */
static int log_output_open_log (const char *path, struct err *err)
{
    int fd = open (path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return err_set (err, ERR_STATE, "no log here: nothing printed, or removed");
    return fd < 0 ? err_errno (err, ERR_IO, "its log cannot be read") : fd;
}

int log_tail_read (const struct run_dir *dir, const struct board *board, const struct log_source *source,
                   struct arena *arena, struct text *out, struct err *err)
{
    char path[RUN_PATH_BYTES], *piece = mem_alloc (TAIL_BYTES);
    struct text rest = { 0 };
    struct buf lines = { .max = 16 * TAIL_BYTES };
    LOCAL_FD fd = log_output_open_log (run_dir_log_path (dir, &board->plan, source->host, &source->key, path), err);
    int rc = fd < 0 ? -1 : log_output_read_end (fd, piece, &rest, err);
    if (rest.len)
        log_output_put_body (rest, false, true, &lines);
    mem_free (piece);
    *out = buf_finish (&lines, arena);
    return rc;
}

/* ---- log filter ---- */

enum { ATTEMPTS_MAX = 64 }; /* more are not kept on disk (log_store) */

bool log_filter_is_default (const struct log_filter *filter)
{
    return host_filter_is_default (&filter->hosts) && !filter->rung && !filter->pass && !filter->attempt;
}

/* ---- names -> this run ---- */

static int unknown_rung (const struct log_filter *filter, const struct board *board, struct err *err)
{
    LOCAL_BUF known = { .max = 256 };
    for (uint32_t i = 0; i < board->plan.rungs.n && !known.overflow; i++) {
        buf_puts (&known, i ? ", " : "");
        buf_escaped (&known, board_rung_id (board, i), 0);
    }
    err_set (err, ERR_USAGE, "--rung %s: this run has no such rung; it has %s", filter->rung, buf_c (&known));
    return -1;
}

static int resolve_hosts (struct log_filter *filter, const struct board *board, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct name_list all = { arena_array (&arena, board->plan.hosts.n, sizeof (*all.items)), board->plan.hosts.n,
                             NULL };
    for (uint32_t i = 0; i < all.n; i++)
        all.items[i] = board_host_name (board, i);
    filter->host_chosen = mem_array (all.n, sizeof (bool));
    return host_filter_resolve (&filter->hosts, &all, &board->plan, filter->host_chosen, err);
}

int log_filter_resolve (struct log_filter *filter, const struct board *board, struct err *err)
{
    uint32_t pass = PASS_NONE;
    filter->rung_index = filter->rung ? plan_rung_index (&board->plan, text_of (filter->rung)) : -1;
    if (filter->rung && filter->rung_index < 0)
        return unknown_rung (filter, board, err);
    if (filter->pass && !enum_value_of (&pass_names, text_of (filter->pass), &pass))
        return err_set (err, ERR_USAGE, "--pass %s: expected once, cold or restored", filter->pass);
    filter->pass_index = (enum pass) pass;
    return resolve_hosts (filter, board, err);
}

bool log_filter_takes (const struct log_filter *filter, const struct log_source *source)
{
    return filter->host_chosen[source->host] &&
           (filter->rung_index < 0 || (uint32_t) filter->rung_index == source->key.rung) &&
           (!filter->pass_index || filter->pass_index == source->key.pass) &&
           (!filter->attempt || filter->attempt == source->key.attempt);
}

/* ---- sources ---- */

static void log_sources_add (struct log_sources *sources, const struct log_source *source)
{
    sources->items = mem_room (sources->items, sources->n, &sources->capacity, 16, sizeof (*sources->items));
    sources->items[sources->n++] = *source;
}

static void log_output_add_attempt (const struct log_filter *filter, const struct board *board, struct attempt_key key,
                                    struct log_sources *sources)
{
    for (uint32_t i = 0; i < board->plan.hosts.n; i++) {
        struct log_source source = { i, key };
        if (log_filter_takes (filter, &source))
            log_sources_add (sources, &source);
    }
}

static void log_output_add_all (const struct log_filter *filter, const struct board *board, struct log_sources *sources)
{
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++)
        for (uint32_t pass = PASS_ONCE; pass < BOARD_PASSES; pass++) {
            uint32_t last = board->rungs[rung].passes[pass].attempt;
            for (uint32_t attempt = last > ATTEMPTS_MAX ? last - ATTEMPTS_MAX + 1 : 1; attempt <= last && last;
                 attempt++)
                log_output_add_attempt (filter, board, (struct attempt_key){ rung, pass, attempt }, sources);
        }
}

/* Hosts with a failure of their own; cascades only when no other host is to blame. */
static void add_failed (const struct board *board, uint32_t rung, bool cascades, struct log_sources *sources)
{
    const struct board_rung *state = &board->rungs[rung];
    const struct board_pass *pass = &state->passes[state->last];
    for (uint32_t i = 0; pass->attempt && i < pass->groups.n; i++) { /* no attempt, no output */
        const struct board_verdict_group *group = &pass->groups.items[i];
        for (uint32_t k = 0; k < group->hosts.n && (group->outcome == OUTCOME_CASCADE) == cascades; k++)
            if (group->hosts.items[k] < board->plan.hosts.n)
                log_sources_add (sources,
                                 &(struct log_source){ group->hosts.items[k], { rung, state->last, pass->attempt } });
    }
}

static void add_by_default (const struct log_filter *filter, const struct board *board, struct log_sources *sources)
{
    for (uint32_t rung = 0; rung < board->plan.rungs.n; rung++) {
        add_failed (board, rung, false, sources);
        if (sources->n == 0)
            add_failed (board, rung, true, sources);
    }
    if (sources->n == 0 && board->running)
        log_output_add_attempt (filter, board, board->key, sources);
}

void log_filter_list_sources (const struct log_filter *filter, const struct board *board, struct log_sources *sources,
                              bool *everything)
{
    *everything = false;
    if (log_filter_is_default (filter))
        add_by_default (filter, board, sources);
    if (sources->n)
        return;
    *everything = log_filter_is_default (filter);
    log_output_add_all (filter, board, sources);
}

void log_filter_list_workers (const struct log_filter *filter, const struct board *board, struct log_sources *sources)
{
    log_output_add_attempt (filter, board, (struct attempt_key){ 0 }, sources);
}

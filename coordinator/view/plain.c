#include "coordinator/view/plain.h"

#include <inttypes.h>
#include <math.h>

#include "coordinator/verdict/failure.h"
#include "coordinator/view/status.h"

enum { SENTENCE_BYTES = 1 << 20, SET_COLUMNS = 120, EXIT_CACHE_VIOLATION = 4 };

struct printer {
    const struct board *board;
    const struct style *style;
    struct buf *out;
    struct buf words; /* of the line being made */
};

void plain_line (uint64_t at_ms, struct buf *words, const struct style *style, struct buf *out)
{
    struct line line = line_begin (out, style);
    line_printf (&line, "[%6" PRIu64 ".%" PRIu64 " s] ", at_ms / 1000, at_ms % 1000 / 100);
    line_text (&line, buf_as_text (words));
    line_end (&line);
    buf_clear (words);
}

static void plain_say (struct printer *printer, uint64_t at_ms)
{
    plain_line (at_ms, &printer->words, printer->style, printer->out);
}

/* "tiny restored"; a rung with one pass only needs no word for it. */
static void add_key (struct printer *printer, const struct attempt_key *key)
{
    buf_add_text (&printer->words, board_rung_id (printer->board, key->rung));
    if (key->pass == PASS_COLD || key->pass == PASS_RESTORED)
        buf_printf (&printer->words, " %s", enum_name_of (&pass_names, key->pass));
}

static void plain_add_host (struct printer *printer, uint32_t host)
{
    buf_add_text (&printer->words, board_host_name (printer->board, host));
}

/* What stands behind a mark, where there is something. */
static void add_after (struct printer *printer, const char *mark, struct text text)
{
    if (text.len)
        buf_puts (&printer->words, mark);
    buf_add_text (&printer->words, text);
}

/* ---- hosts ---- */

static uint32_t back_n (const struct board *board)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < board->plan.hosts.n; i++)
        n += board->hosts[i].life == BOARD_JOINED && board->hosts[i].epoch == board->epoch;
    return n;
}

static void tell_joined (struct printer *printer, const struct fact *fact)
{
    uint32_t at = fact->of.host_joined.host, n = printer->board->plan.hosts.n;
    if (at >= n)
        return;
    const struct board_host *host = &printer->board->hosts[at];
    if (!host->returned && back_n (printer->board) == n)
        buf_printf (&printer->words, host->joins > 1 ? "%u host%s came back" : "%u host%s joined", n, plural (n));
}

/* ---- the cache ---- */

static void add_generation (struct printer *printer, const struct fact_generation *generation)
{
    buf_printf (&printer->words, "cache generation %" PRIu64, generation->token);
    buf_printf (&printer->words, " (%u entr%s, %s)", generation->entries, generation->entries == 1 ? "y" : "ies",
                SIZE_TEXT (generation->bytes));
}

static void tell_adopted (struct printer *printer, const struct fact *fact)
{
    if (fact->of.generation.token) {
        add_generation (printer, &fact->of.generation);
        buf_puts (&printer->words, " of an earlier run fits and is used");
    } else {
        buf_puts (&printer->words, "no published cache generation fits");
    }
}

static void tell_published (struct printer *printer, const struct fact *fact)
{
    add_generation (printer, &fact->of.generation);
    buf_puts (&printer->words, " published, written by ");
    plain_add_host (printer, fact->of.generation.writer);
}

static void tell_granted (struct printer *printer, const struct fact *fact)
{
    plain_add_host (printer, fact->of.writer_granted.host);
    buf_printf (&printer->words, " may write cache generation %" PRIu64, fact->of.writer_granted.token);
}

static void tell_lease_lost (struct printer *printer, const struct fact *fact)
{
    const struct fact_lease_lost *lost = &fact->of.lease_lost;
    plain_add_host (printer, lost->host);
    buf_printf (&printer->words, " may not write cache generation %" PRIu64 " any more", lost->token);
    add_after (printer, ": ", lost->why);
}

static void tell_dropped (struct printer *printer, const struct fact *fact)
{
    const struct fact_generation_dropped *dropped = &fact->of.generation_dropped;
    buf_printf (&printer->words, "cache generation %" PRIu64 " is quarantined", dropped->token);
    add_after (printer, ": ", dropped->why);
}

/* ---- what is run again: retries, and parts of the slice by themselves ---- */

static void tell_retry (struct printer *printer, const struct fact *fact)
{
    const struct board_retry *retry = &printer->board->retry;
    add_key (printer, &fact->of.retry_planned.key);
    buf_printf (&printer->words, " is run again in %s (retry %u of %u): ",
                DURATION_TEXT (retry->due_ms > fact->at_ms ? retry->due_ms - fact->at_ms : 0), retry->nth,
                printer->board->plan.limits.retries);
    buf_add_text (&printer->words, fact->of.retry_planned.why);
}

/* Before the first part: what it costs at most, and how to end it. */
static void announce_parts (struct printer *printer, const struct fact *fact)
{
    const struct board *board = printer->board;
    uint32_t most_n = board_trials_max (board);
    uint64_t part_ms = board_trial_timeout_ms (board);
    char each[DURATION_TEXT_BYTES], all[DURATION_TEXT_BYTES];
    buf_add_text (&printer->words, board_rung_id (board, fact->of.pass_began.key.rung));
    buf_printf (
        &printer->words,
        ": no host reports a cause; to find it, parts of the slice are run by themselves: at most %u, each for at most "
        "%s (%s in all); Ctrl-C ends this search and keeps the failure, splits: false in the profile turns it off",
        most_n, duration_print (part_ms, each), duration_print (most_n * part_ms, all));
    plain_say (printer, fact->at_ms);
}

static void add_part_began (struct printer *printer, const struct fact *fact)
{
    const struct board *board = printer->board;
    if (board->isolation.passes_n == 1)
        announce_parts (printer, fact);
    buf_add_text (&printer->words, board_rung_id (board, fact->of.pass_began.key.rung));
    buf_printf (&printer->words, " part %u began on ", board->isolation.passes_n);
}

static void tell_part_ended (struct printer *printer, const struct fact *fact)
{
    const struct fact_pass_ended *ended = &fact->of.pass_ended;
    buf_add_text (&printer->words, board_rung_id (printer->board, ended->key.rung));
    buf_printf (&printer->words, " part %u: %s by itself (%s)", printer->board->isolation.passes_n,
                ended->outcome == OUTCOME_PASSED ? "works" : "fails", DURATION_TEXT (ended->duration_ms));
}

static void tell_suspects (struct printer *printer, const struct fact *fact)
{
    const struct fact_suspects_named *named = &fact->of.suspects_named;
    add_key (printer, &named->key);
    buf_puts (&printer->words, named->suspects.n ? " isolated, suspected: " : " not isolated: ");
    board_print_hosts (printer->board, named->suspects.items, named->suspects.n, &printer->words);
    buf_puts (&printer->words, named->suspects.n ? ": " : "");
    buf_add_text (&printer->words, named->why);
}

/* One line for each reason. */
static void tell_left_behind (struct printer *printer, const struct fact *fact)
{
    const struct verdict *verdicts = fact->of.hosts_left_behind.verdicts.items;
    uint32_t n = fact->of.hosts_left_behind.verdicts.n, *hosts = mem_array (n, sizeof (*hosts));
    LOCAL_MEM bool *told = mem_array (n, sizeof (*told));
    for (uint32_t i = 0; i < n; i++) {
        uint32_t alike = 0;
        for (uint32_t k = i; k < n && !told[i]; k++)
            if (text_equal (verdicts[k].cause, verdicts[i].cause)) {
                told[k] = k > i;
                hosts[alike++] = verdicts[k].host;
            }
        if (alike == 0)
            continue;
        buf_puts (&printer->words, "the climb goes on without ");
        board_print_hosts (printer->board, hosts, alike, &printer->words);
        add_after (printer, ": ", verdicts[i].cause);
        plain_say (printer, fact->at_ms);
    }
    mem_free (hosts);
}

/* ---- passes ---- */

static void tell_began (struct printer *printer, const struct fact *fact)
{
    const struct fact_pass_began *began = &fact->of.pass_began;
    if (began->purpose == PURPOSE_ISOLATION) {
        add_part_began (printer, fact);
    } else {
        add_key (printer, &began->key);
        buf_printf (&printer->words, " %sattempt %u began on ", began->purpose == PURPOSE_RETRY ? "again, " : "",
                    began->key.attempt);
    }
    board_print_hosts (printer->board, began->hosts.items, began->hosts.n, &printer->words);
    buf_printf (&printer->words, " (%u host%s)", began->hosts.n, plural (began->hosts.n));
}

static void tell_skipped (struct printer *printer, const struct fact *fact)
{
    add_key (printer, &fact->of.pass_skipped.key);
    buf_puts (&printer->words, " skipped: ");
    buf_add_text (&printer->words, fact->of.pass_skipped.why);
}

static void tell_stopped (struct printer *printer, const struct fact *fact)
{
    const struct fact_pass_stopped *stopped = &fact->of.pass_stopped;
    add_key (printer, &stopped->key);
    buf_puts (&printer->words, " stopped because of ");
    board_print_hosts (printer->board, stopped->culprits.items, stopped->culprits.n, &printer->words);
    buf_puts (&printer->words, ": ");
    buf_add_text (&printer->words, stopped->cause);
}

void plain_counts (const struct board_pass *pass, struct buf *out)
{
    bool any = false;
    if (pass->counts[OUTCOME_PASSED]) {
        buf_printf (out, "%u passed", pass->counts[OUTCOME_PASSED]);
        any = true;
    }
    for (uint32_t i = 0; i < OUTCOME_N - 1; i++) { /* the worst next */
        enum outcome outcome = outcome_order[i];
        if (outcome == OUTCOME_PASSED || pass->counts[outcome] == 0)
            continue;
        buf_printf (out, "%s%u %s", any ? ", " : "", pass->counts[outcome], enum_name_of (&outcome_names, outcome));
        any = true;
    }
    if (!any)
        buf_puts (out, enum_name_of (&outcome_names, pass->outcome));
}

static void tell_ended (struct printer *printer, const struct fact *fact)
{
    const struct attempt_key *key = &fact->of.pass_ended.key;
    if (key->rung >= printer->board->plan.rungs.n || (uint32_t) key->pass >= BOARD_PASSES)
        return;
    if (printer->board->purpose == PURPOSE_ISOLATION && attempt_key_equal (key, &printer->board->key)) {
        tell_part_ended (printer, fact);
        return;
    }
    const struct board_pass *pass = &printer->board->rungs[key->rung].passes[key->pass];
    add_key (printer, key);
    buf_puts (&printer->words, ": ");
    plain_counts (pass, &printer->words);
    if (key->attempt)
        buf_printf (&printer->words, " in %s", DURATION_TEXT (pass->duration_ms));
    else
        buf_puts (&printer->words, ", so it was not run");
    if (key->pass == PASS_COLD && pass->found_n && pass->found_n == pass->hosts_n)
        buf_puts (&printer->words, "; compiled nothing: every program was in the cache already");
    plain_say (printer, fact->at_ms);
    for (uint32_t i = 0; i < pass->groups.n; i++) {
        buf_puts (&printer->words, "  ");
        group_text (printer->board, &pass->groups.items[i], &printer->words);
        plain_say (printer, fact->at_ms);
    }
    if (pass->ungrouped_n)
        buf_printf (&printer->words, "  and %u more host%s; see the receipt", pass->ungrouped_n,
                    plural (pass->ungrouped_n));
}

/* ---- metrics ---- */

/* The hosts whose contribution is missing, or else those whose own report is wrong. */
static void add_at_fault (struct printer *printer, const struct fact_metric_judged *judged)
{
    const uint32_t *hosts = judged->missing.n ? judged->missing.items : judged->culprits.items;
    uint32_t n = judged->missing.n ? judged->missing.n : judged->culprits.n;
    if (n)
        buf_puts (&printer->words, judged->missing.n ? ", missing " : ", on ");
    board_print_hosts (printer->board, hosts, n, &printer->words);
}

static void tell_metric (struct printer *printer, const struct fact *fact)
{
    const struct fact_metric_judged *judged = &fact->of.metric_judged;
    buf_puts (&printer->words, "metric ");
    buf_add_text (&printer->words, judged->metric);
    if (isfinite (judged->value))
        buf_printf (&printer->words, " = %.6g", judged->value);
    buf_printf (&printer->words, ": %s", enum_name_of (&proof_names, judged->proof));
    for (uint32_t i = 0; i < judged->axes.n; i++) {
        buf_puts (&printer->words, i ? ", " : " over ");
        buf_add_text (&printer->words, judged->axes.items[i]);
    }
    if (judged->proof != PROOF_PROVED && judged->why.len) {
        buf_puts (&printer->words, ": ");
        buf_add_text (&printer->words, judged->why);
    }
    add_at_fault (printer, judged);
    uint64_t contradicted = 0;
    for (uint32_t i = 0; i < judged->contradicted.n; i++)
        contradicted += judged->contradicted.items[i].count;
    if (contradicted)
        buf_printf (&printer->words, "; the same proof fails for %" PRIu64 " earlier value%s of the metric",
                    contradicted, plural (contradicted));
}

/* ---- the run ---- */

static void tell_opened (struct printer *printer, const struct fact *fact)
{
    const struct fact_run_opened *opened = &fact->of.run_opened;
    buf_puts (&printer->words, "slice ");
    buf_add_text (&printer->words, opened->plan.slice);
    buf_printf (&printer->words, ": %u host%s, %u rung%s", opened->plan.hosts.n, plural (opened->plan.hosts.n),
                opened->plan.rungs.n, plural (opened->plan.rungs.n));
}

static void tell_epoch (struct printer *printer, const struct fact *fact)
{
    if (fact->of.epoch_began.epoch <= 1)
        return;
    buf_printf (&printer->words, "another coordinator took over the run (epoch %" PRIu64 ")",
                fact->of.epoch_began.epoch);
}

static void tell_cancel (struct printer *printer, const struct fact *fact)
{
    buf_puts (&printer->words, fact->of.cancel_asked.level > 1 ? "cancelled: the running rung is killed"
                                                               : "cancelled: the running rung is asked to end");
}

static void tell_run_ended (struct printer *printer, const struct fact *fact)
{
    const struct fact_run_ended *ended = &fact->of.run_ended;
    buf_printf (&printer->words, "ended: %s (exit status %u%s)", enum_name_of (&outcome_names, ended->outcome),
                ended->exit_status, ended->exit_status == EXIT_CACHE_VIOLATION ? ": the cache was violated" : "");
}

/* Puts words together; those that are left when it returns become the last line. */
typedef void tell_fn (struct printer *printer, const struct fact *fact);
static tell_fn *const printers[] = {
    [FACT_RUN_OPENED] = tell_opened,          [FACT_EPOCH_BEGAN] = tell_epoch,
    [FACT_HOST_JOINED] = tell_joined,         [FACT_GENERATION_ADOPTED] = tell_adopted,
    [FACT_WRITER_GRANTED] = tell_granted,     [FACT_PASS_BEGAN] = tell_began,
    [FACT_PASS_SKIPPED] = tell_skipped,       [FACT_GENERATION_PUBLISHED] = tell_published,
    [FACT_METRIC_JUDGED] = tell_metric,       [FACT_PASS_ENDED] = tell_ended,
    [FACT_CANCEL_ASKED] = tell_cancel,        [FACT_RUN_ENDED] = tell_run_ended,
    [FACT_PASS_STOPPED] = tell_stopped,       [FACT_LEASE_LOST] = tell_lease_lost,
    [FACT_GENERATION_DROPPED] = tell_dropped, [FACT_RETRY_PLANNED] = tell_retry,
    [FACT_SUSPECTS_NAMED] = tell_suspects,    [FACT_HOSTS_LEFT_BEHIND] = tell_left_behind,
};

void plain_fact (const struct board *board, const struct fact *fact, const struct style *style, struct buf *out)
{
    struct printer printer = { .board = board, .style = style, .out = out };
    if ((uint32_t) fact->kind >= sizeof (printers) / sizeof (printers[0]) || printers[fact->kind] == NULL ||
        !board->opened)
        return;
    buf_init (&printer.words, SENTENCE_BYTES);
    printers[fact->kind](&printer, fact);
    if (printer.words.len)
        plain_say (&printer, fact->at_ms);
    buf_release (&printer.words);
}

void plain_waiting (const struct board *board, uint64_t now_ms, const struct style *style, struct buf *out)
{
    struct printer printer = { .board = board, .style = style, .out = out };
    LOCAL_BUF lines = { .max = SENTENCE_BYTES };
    buf_init (&printer.words, SENTENCE_BYTES);
    waiting_append_lines (board, now_ms, WAITING_LINES, SET_COLUMNS, &lines);
    for (struct text rest = buf_as_text (&lines), line; text_cut (&rest, '\n', &line);) {
        buf_add_text (&printer.words, line);
        plain_say (&printer, now_ms);
    }
    buf_release (&printer.words);
}

/* ---- groups ---- */

enum { SET_BYTES = 1 << 20, NAMED_COLUMNS = 30 };

void group_text_set (const struct board *board, const uint32_t *hosts, uint32_t n, uint32_t columns, struct buf *out)
{
    LOCAL_BUF set = { .max = SET_BYTES };
    board_print_whom (board, hosts, n, &set);
    if (columns == 0 || n <= 1 || text_columns (buf_as_text (&set)) <= columns) {
        buf_add_text (out, buf_as_text (&set));
    } else {
        buf_printf (out, "%" PRIu32 " hosts", n);
        if (columns >= NAMED_COLUMNS) {
            buf_puts (out, " (");
            board_print_hosts (board, hosts, 1, out);
            buf_puts (out, " ...)");
        }
    }
}

void group_text (const struct board *board, const struct board_verdict_group *group, struct buf *out)
{
    board_print_whom (board, group->hosts.items, group->hosts.n, out);
    if (group->preliminary && group->hosts.n > 1)
        buf_printf (out, " (%" PRIu32 " hosts)", group->hosts.n);
    buf_printf (out, " %s: ", enum_name_of (&outcome_names, group->outcome));
    if (group->varies) /* what follows is this host's, and the others' have other numbers */
        board_print_hosts (board, group->hosts.items, 1, out);
    buf_puts (out, group->varies ? ": " : "");
    if (!text_find (group->cause, group->line, NULL)) {
        buf_add_text (out, group->line);
        buf_puts (out, "; ");
    }
    buf_add_text (out, group->cause);
    failure_print_owner (out, certainty_of_owner (group->owner, group->else_owner, group->likely), group->owner,
                         group->else_owner, group->signature);
    buf_puts (out, group->preliminary ? " so far" : "");
    bool helps = group->next.len && (!group->preliminary || group->owner != OWNER_UNKNOWN);
    buf_puts (out, helps ? "; next: " : "");
    buf_add_text (out, helps ? group->next : (struct text){ 0 });
}

/* ---- the end of a run, as a card ---- */

enum { CARD_CAUSES = 3 };

static void card_put (const char *label, struct text words, struct buf *out)
{
    if (!words.len)
        return;
    buf_puts (out, "    ");
    buf_escaped_after (out, label, words, 0);
    buf_byte (out, '\n');
}

static bool card_is_cause (const struct board_verdict_group *group)
{
    return group->outcome != OUTCOME_CASCADE && group->outcome != OUTCOME_CANCELLED;
}

static void card_put_cause (const struct board *board, const struct board_verdict_group *group, uint32_t of,
                            struct buf *out)
{
    LOCAL_BUF label = { .max = SENTENCE_BYTES };
    if (group->varies) { /* the line is this host's, others have other numbers */
        board_print_hosts (board, group->hosts.items, 1, &label);
        buf_puts (&label, ": ");
    }
    buf_puts (out, "  ");
    board_print_whom (board, group->hosts.items, group->hosts.n, out);
    buf_printf (out, " %s (%" PRIu32 " of %" PRIu32 ")\n", enum_name_of (&outcome_names, group->outcome),
                group->hosts.n, of);
    if (!text_find (group->cause, group->line, NULL))
        card_put (buf_c (&label), group->line, out);
    card_put ("", group->cause, out);
    buf_clear (&label);
    failure_print_owner (&label, certainty_of_owner (group->owner, group->else_owner, group->likely), group->owner,
                         group->else_owner, group->signature);
    if (label.len > 2) /* without the mark before it */
        card_put ("", (struct text){ (const char *) label.ptr + 2, (uint32_t) label.len - 2 }, out);
    struct text next = group->next, way = { 0 };
    if (text_starts (next, "to go on with the ") && text_find (next, TEXT_LIT ("; "), NULL))
        (void) text_cut (&next, ';', &way); /* the way on is told once, below */
    card_put ("next: ", text_trimmed (next), out);
}

/* "  3 others fell with it: h[0-1,3]"; who was only stopped is not told. */
static void card_put_others (const struct board *board, const struct board_pass *pass, uint32_t causes, struct buf *out)
{
    uint32_t *hosts = mem_array (board->plan.hosts.n, sizeof *hosts), n = 0;
    for (uint32_t i = 0; i < pass->groups.n; i++)
        for (uint32_t k = 0; pass->groups.items[i].outcome == OUTCOME_CASCADE && k < pass->groups.items[i].hosts.n; k++)
            hosts[n++] = pass->groups.items[i].hosts.items[k];
    if (n) {
        buf_printf (out, "  %" PRIu32 " other%s fell with %s: ", n, plural (n), causes == 1 ? "it" : "them");
        board_print_hosts (board, hosts, n, out);
        buf_byte (out, '\n');
    }
    mem_free (hosts);
}

bool card_print (const struct board *board, struct buf *out)
{
    uint32_t rung = board->next_rung, shown = 0, causes = 0;
    if (!board->ended || (board->exit_status != 1 && board->exit_status != 3) || rung >= board->plan.rungs.n ||
        !text_find (board->sentence, TEXT_LIT (": stopped at rung "), NULL))
        return false;
    const struct board_pass *pass =
        &board->rungs[rung].passes[board->rungs[rung].last]; /* NONE: they never came to it */
    for (uint32_t i = 0; i < pass->groups.n; i++)
        causes += card_is_cause (&pass->groups.items[i]);
    if (!causes || pass->ungrouped_n)
        return false;
    buf_escaped_after (out, "slice ", board->plan.slice, 0);
    buf_printf (out, ": %s at rung ", enum_name_of (&outcome_names, board->outcome));
    buf_escaped (out, board_rung_id (board, rung), 0);
    buf_printf (out, " (%" PRIu32 " of %" PRIu32 ")\n", rung + 1, board->plan.rungs.n);
    for (uint32_t i = 0; i < pass->groups.n; i++)
        if (card_is_cause (&pass->groups.items[i]) && shown++ < CARD_CAUSES)
            card_put_cause (board, &pass->groups.items[i], board->plan.hosts.n, out);
    if (causes > CARD_CAUSES)
        buf_printf (out, "  and %" PRIu32 " more cause%s\n", causes - CARD_CAUSES, plural (causes - CARD_CAUSES));
    card_put_others (board, pass, causes, out);
    if (text_find (board->sentence, TEXT_LIT ("; after "), &shown)) {
        struct text rest = { board->sentence.ptr + shown + 2, board->sentence.len - shown - 2 };
        card_put ("", text_take_until (&rest, ';'), out);
    }
    if (text_find (board->sentence, TEXT_LIT ("to go on with the "), &shown))
        card_put ("", (struct text){ board->sentence.ptr + shown, board->sentence.len - shown }, out);
    return true;
}

#include "coordinator/verdict/blame.h"

#include <stdlib.h>
#include <string.h>

#include "coordinator/verdict/failure.h"

/* Two hosts that name the same one are believed; with only two hosts, one is enough. */
enum { VOTES_BELIEVED = 2, NAMES_BYTES = 256 };

void verdict_replace (struct verdict *out, struct verdict with)
{
    with.host = out->host;
    with.phase = out->phase;
    with.evidence = out->evidence;
    *out = with;
}

static bool failed (const struct blame_host *host)
{
    return host->verdict->outcome != OUTCOME_PASSED;
}

bool blame_is_peer_complaint (const struct plan *plan, struct text id)
{
    const struct signature *signature = plan_find_signature (plan, id);
    return signature && signature->peer;
}

static bool follows (const struct plan *plan, const struct blame_host *host)
{
    if (host->awaited || (host->ending == ENDING_CANCELLED && host->verdict->outcome == OUTCOME_FAILED))
        return false;
    return host->ending == ENDING_CANCELLED || blame_is_peer_complaint (plan, host->verdict->signature) ||
           (host->ending == ENDING_TIMEOUT && (host->at_gate || host->waits));
}

/* A text that working programs print as well (noise) is no cause. */
static bool recognised (const struct plan *plan, const struct blame_host *host)
{
    const struct signature *signature = plan_find_signature (plan, host->verdict->signature);
    return host->killed || (host->verdict->owner != OWNER_UNKNOWN && !(signature && signature->noise));
}

static bool has_own_cause (const struct plan *plan, const struct blame_host *host)
{
    return failed (host) && !follows (plan, host) && recognised (plan, host) && !host->complains;
}

static uint32_t mark_awaited (const struct plan *plan, struct blame_host *hosts, uint32_t n)
{
    bool waited = false, caused = false;
    uint32_t awaited = 0;
    for (uint32_t i = 0; i < n; i++) {
        waited |= failed (&hosts[i]) && hosts[i].at_gate && hosts[i].ending == ENDING_TIMEOUT;
        caused |= has_own_cause (plan, &hosts[i]);
    }
    for (uint32_t i = 0; i < n && waited && !caused; i++) {
        hosts[i].awaited = failed (&hosts[i]) && !hosts[i].at_gate &&
                           (hosts[i].ending == ENDING_TIMEOUT || hosts[i].ending == ENDING_CANCELLED);
        awaited += hosts[i].awaited;
    }
    return awaited;
}

/* Its own time ran out: whoever has not come by then is late. A lost connection says nothing of the kind. */
static bool waited_in_vain (const struct blame_host *host)
{
    const struct verdict *verdict = host->verdict;
    return text_is (verdict->signature, "waited-for-others") ||
           (text_is (verdict->signature, "distributed-start") &&
            text_find (verdict->evidence, TEXT_LIT ("timeout"), NULL));
}

/* Who speaks of others itself has noticed their failure. */
static bool lags_unaware (const struct blame_host *host)
{
    return host->lags && !host->complains && !host->noticed;
}

/* If time ran out without a cause, those that stood outside of what the others waited in. Where one ended by itself for
 * another reason, where the others stood then says nothing; nor may those lag that speak of others themselves. */
static uint32_t mark_lagging (const struct plan *plan, struct blame_host *hosts, uint32_t n)
{
    uint32_t lagging = 0, ended_n = 0;
    bool late = false;
    for (uint32_t i = 0; i < n; i++) {
        bool ended = hosts[i].ending != ENDING_TIMEOUT && hosts[i].ending != ENDING_CANCELLED;
        late |= hosts[i].ending == ENDING_TIMEOUT || waited_in_vain (&hosts[i]);
        ended_n += failed (&hosts[i]) && ended;
        if (has_own_cause (plan, &hosts[i]) || (failed (&hosts[i]) && ended && !waited_in_vain (&hosts[i])))
            return 0;
    }
    if (!late)
        return 0;
    for (uint32_t i = 0; i < n; i++) {
        hosts[i].awaited = hosts[i].lags && failed (&hosts[i]) && (!ended_n || lags_unaware (&hosts[i]));
        hosts[i].silent = hosts[i].awaited && ended_n && hosts[i].ending == ENDING_CANCELLED;
        lagging += hosts[i].awaited;
    }
    for (uint32_t i = 0; i < n; i++)
        hosts[i].waits = lagging && !hosts[i].awaited;
    return lagging;
}

static bool blames_peers (const struct plan *plan, const struct blame_host *host)
{
    return host->complains || blame_is_peer_complaint (plan, host->verdict->signature);
}

/* Of connections of its own, which may have been to hosts; what is said of a service has its own types and addresses. */
static bool may_complain (const struct plan *plan, const struct blame_host *host)
{
    static const char *const words[] = { "TimeoutError: timed out", "timeout: timed out",
                                         "\nConnectionError: ", "ConnectionResetError: ", "BrokenPipeError: " };
    struct text evidence = host->verdict->evidence;
    if (blames_peers (plan, host))
        return true;
    bool found = text_starts (evidence, "ConnectionError: ");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        found |= text_find (evidence, text_of (words[i]), NULL);
    return found && host->ending == ENDING_EXITED && !text_find (evidence, TEXT_LIT ("http"), NULL) &&
           !text_find (evidence, TEXT_LIT ("HTTP"), NULL);
}

static bool was_stopped (const struct blame_host *host)
{
    return host->ending == ENDING_CANCELLED && !host->at_gate;
}

/* If all that ended by themselves only complain of peers, marks those that did not end, and if some of them lag only these;
 * only if they are fewer, else they were just slower to notice. */
static void mark_silent (const struct plan *plan, struct blame_host *hosts, uint32_t n)
{
    uint32_t silent = 0, complain = 0, lagging = 0, doubtful = 0;
    if (plan->climb.fail_fast) /* no host had time to end */
        return;
    for (uint32_t i = 0; i < n; i++) {
        bool stopped = was_stopped (&hosts[i]), complains = may_complain (plan, &hosts[i]);
        if (failed (&hosts[i]) && !complains && (!stopped || has_own_cause (plan, &hosts[i])))
            return;
        doubtful += !failed (&hosts[i]) || (complains && !blames_peers (plan, &hosts[i]));
        silent += stopped;
        complain += failed (&hosts[i]) && !stopped;
        lagging += stopped && lags_unaware (&hosts[i]);
    }
    if (silent >= complain || (doubtful && !lagging))
        return;
    for (uint32_t i = 0; i < n; i++) {
        bool stopped = was_stopped (&hosts[i]);
        hosts[i].awaited = hosts[i].silent = stopped && (!lagging || lags_unaware (&hosts[i]));
        hosts[i].complains |= failed (&hosts[i]) && !stopped;
    }
}

static struct text why_silent (const struct blame_host *host, bool in_vain, struct text others, struct arena *arena)
{
    return text_format (arena, "%s, and this one %.*s%s%.*s",
                        in_vain ? "others waited in vain" : "the other hosts complain of their peers",
                        TEXT_ARG (host->place.len ? host->place : TEXT_LIT ("did not end by itself")),
                        others.len ? "; " : "", TEXT_ARG (others));
}

/* A broken connection may be to a service, or to a host that had ended before. */
static bool may_echo (const struct blame_host *host)
{
    return host->verdict->likely && text_is (host->verdict->signature, "network-type");
}

/* Lower is stronger: 0 a known cause, 1 a likely one, 2 one that nobody recognises, 3 a complaint about other hosts. */
static uint32_t weakness (const struct plan *plan, const struct blame_host *host)
{
    if (host->complains)
        return 3;
    bool killed = host->killed && host->verdict->owner == OWNER_UNKNOWN; /* a kill has no owner by itself */
    return recognised (plan, host) && !may_echo (host) ? host->verdict->likely || killed : 2;
}

/* An error printed before a hang is earlier than any end at a limit. */
static bool began_before (const struct blame_host *a, const struct blame_host *b)
{
    bool late = a->ending == ENDING_TIMEOUT && b->ending == ENDING_TIMEOUT;
    if (late && a->verdict->outcome != b->verdict->outcome)
        return a->verdict->outcome == OUTCOME_FAILED;
    return a->order < b->order;
}

/* Index of the host with the strongest cause of its own, the earliest of equals; -1: none has one. */
static int initiator (const struct plan *plan, const struct blame_host *hosts, uint32_t n)
{
    int first = -1;
    uint32_t least = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (!failed (&hosts[i]) || follows (plan, &hosts[i]))
            continue;
        uint32_t weak = weakness (plan, &hosts[i]);
        if (first < 0 || weak < least || (weak == least && began_before (&hosts[i], &hosts[first]))) {
            first = (int) i;
            least = weak;
        }
    }
    return first;
}

static int first_to_report (const struct blame_host *hosts, uint32_t n)
{
    int first = -1;
    for (uint32_t i = 0; i < n; i++)
        if (failed (&hosts[i]) && (first < 0 || hosts[i].order < hosts[first].order))
            first = (int) i;
    return first;
}

/* Does it only repeat what the other says of itself? Without a known text that is no complaint. */
static bool only_repeats (const struct plan *plan, const struct blame_host *host, const struct blame_host *other)
{
    return !blame_is_peer_complaint (plan, host->verdict->signature) &&
           text_equal_but_numbers (host->peers, other->peers);
}

/* votes[i]: how many others name host i. */
static void count_votes (const struct plan *plan, const struct blame_host *hosts, uint32_t n, uint32_t *votes,
                         struct arena *arena)
{
    uint32_t *ranks = arena_array (arena, n, sizeof *ranks);
    bool *named = arena_array (arena, n, sizeof *named);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = hosts[i].verdict->host;
    const struct host_mentions *host_mentions = host_mentions_make_index (plan, ranks, n, arena);
    for (uint32_t i = 0; i < n; i++) {
        host_mentions_find (host_mentions, hosts[i].peers, named);
        for (uint32_t k = 0; k < n; k++) {
            votes[k] += named[k] && k != i && !only_repeats (plan, &hosts[i], &hosts[k]);
            named[k] = false;
        }
    }
}

/* The host named by most others; -1: none. */
static int named_most (const struct blame_host *hosts, uint32_t n, const uint32_t *votes)
{
    int most = -1;
    bool alone = true;
    for (uint32_t i = 0; i < n; i++) {
        if (!failed (&hosts[i]) || votes[i] < (most < 0 ? 1 : votes[most]))
            continue;
        alone = most < 0 || votes[i] > votes[most];
        most = (int) i;
    }
    bool believed = most >= 0 && (votes[most] >= VOTES_BELIEVED || n == 2);
    return believed && alone ? most : -1;
}

static int named_by_others (const struct plan *plan, const struct blame_host *hosts, uint32_t n, struct arena *arena)
{
    uint32_t *votes = arena_array (arena, n, sizeof *votes);
    for (uint32_t i = 0; i < n; i++)
        if (has_own_cause (plan, &hosts[i]))
            return -1;
    count_votes (plan, hosts, n, votes, arena);
    return named_most (hosts, n, votes);
}

/* A host that was only a cascade so far becomes a cause with an unknown owner. */
static void blame_blame_host_of (const struct plan *plan, struct blame_host *host, struct text why, struct arena *arena)
{
    struct verdict *verdict = host->verdict;
    if (follows (plan, host) || host->complains || host->awaited) {
        verdict->owner = OWNER_UNKNOWN;
        verdict->else_owner = OWNER_NONE;
    }
    if (blame_is_peer_complaint (plan, verdict->signature)) {
        verdict->signature = (struct text){ 0 };
        verdict->next = (struct text){ 0 };
    }
    if (verdict->outcome ==
        OUTCOME_CANCELLED) /* stopped because it did not end by itself: was it at the limit of all? */
        verdict->outcome = host->awaited && !host->silent ? OUTCOME_TIMED_OUT : OUTCOME_FAILED;
    verdict->transient = false;
    bool stopped = (host->silent || host->lags) && host->ending == ENDING_CANCELLED; /* that is no reason */
    verdict->cause = text_clip (
        stopped ? why : text_format (arena, "%.*s; %.*s", TEXT_ARG (verdict->cause), TEXT_ARG (why)), TEXT_MAX_BYTES);
    if (!verdict->next.len)
        verdict->next = TEXT_LIT (BLAME_NEXT);
}

/* One limit ends all hosts at once, so their order means nothing. */
static bool hung_alike (const struct blame_host *a, const struct blame_host *b)
{
    return a->ending == ENDING_TIMEOUT && b->ending == ENDING_TIMEOUT && a->verdict->outcome == OUTCOME_TIMED_OUT &&
           b->verdict->outcome == OUTCOME_TIMED_OUT;
}

static struct text blame_host_name (const struct plan *plan, const struct blame_host *host)
{
    return plan->hosts.items[host->verdict->host].name;
}

/* Did both end by themselves, in the same way and words? Then neither caused the other. */
static bool failed_alike (const struct plan *plan, const struct blame_host *a, const struct blame_host *b)
{
    const struct verdict *of_a = a->verdict, *of_b = b->verdict;
    return a->ending == b->ending && a->ending != ENDING_CANCELLED && a->code == b->code &&
           of_a->outcome == of_b->outcome && of_a->owner == of_b->owner &&
           text_equal (of_a->signature, of_b->signature) &&
           cause_equal (of_a->cause, blame_host_name (plan, a), of_b->cause, blame_host_name (plan, b)) &&
           text_equal_but_numbers (error_line_find (of_a->outcome, of_a->evidence),
                                   error_line_find (of_b->outcome, of_b->evidence));
}

/* True: no host has a cause of its own; the supposed one only complained first. */
static bool is_nobody (const struct plan *plan, const struct blame_host *cause, bool named)
{
    return !named && !cause->awaited && (follows (plan, cause) || cause->complains);
}

static bool keeps_its_cause (const struct plan *plan, const struct blame_host *host, const struct blame_host *cause,
                             bool named)
{
    if (host == cause || host->awaited || failed_alike (plan, host, cause))
        return true;
    if (is_nobody (plan, cause, named))
        return host->ending != ENDING_CANCELLED;
    /* Who notices a broken connection may have ended before the program that broke it. */
    if (follows (plan, host) || (host->complains && !cause->complains) ||
        (may_echo (host) && !may_echo (cause) && (began_before (cause, host) || may_complain (plan, host))))
        return false;
    return recognised (plan, host) || (!named && (began_before (host, cause) || hung_alike (host, cause)));
}

/* Of the cause, and of those that failed as it did. */
static struct text names_alike (const struct plan *plan, const struct blame_host *hosts, uint32_t n,
                                const struct blame_host *cause, struct arena *arena)
{
    struct text *names = arena_array (arena, n, sizeof *names);
    uint32_t named = 0;
    for (uint32_t i = 0; i < n; i++)
        if (failed (&hosts[i]) && (&hosts[i] == cause || failed_alike (plan, &hosts[i], cause)))
            names[named++] = blame_host_name (plan, &hosts[i]);
    return hostset_folded (names, named, NAMES_BYTES, arena);
}

/* Judges the other hosts once the cause is known; `named` by them. */
static void judge_others (const struct plan *plan, struct blame_host *hosts, uint32_t n, const struct blame_host *cause,
                          bool named, struct arena *arena)
{
    struct text who = names_alike (plan, hosts, n, cause, arena);
    struct text why = text_format (arena, "aborted because %.*s failed", TEXT_ARG (who)),
                at_limit = text_format (arena, BLAME_AT_LIMIT " because %.*s failed", TEXT_ARG (who));
    for (uint32_t i = 0; i < n; i++) {
        struct verdict *verdict = hosts[i].verdict;
        if (!failed (&hosts[i]))
            continue;
        if (!keeps_its_cause (plan, &hosts[i], cause, named))
            verdict_replace (
                verdict,
                (struct verdict){ .outcome = OUTCOME_CASCADE,
                                  .owner = OWNER_PEER,
                                  .signature = verdict->signature,
                                  .cause = hosts[i].ending == ENDING_TIMEOUT && !hosts[i].late ? at_limit : why });
        else if (is_nobody (plan, cause, named) && blame_is_peer_complaint (plan, verdict->signature))
            verdict->next = TEXT_LIT (
                "see what each host did before it complained: sliceup logs; then the network between them");
    }
}

/* Did it fall for want of others, as far as anybody knows? */
static bool misses_others (const struct plan *plan, const struct blame_host *host)
{
    bool stopped = host->ending == ENDING_TIMEOUT || host->ending == ENDING_CANCELLED;
    return !host->awaited && (stopped ? !has_own_cause (plan, host) : blames_peers (plan, host));
}

/* The few that had ended with status 0 when the first one failed; empty if somebody passed later, or fell for a reason. */
static struct text left_before (const struct plan *plan, const struct blame_host *hosts, uint32_t n,
                                struct arena *arena)
{
    struct text *names = arena_array (arena, n, sizeof *names);
    uint32_t first = UINT32_MAX, left = 0, passed = 0;
    for (uint32_t i = 0; i < n; i++)
        if (failed (&hosts[i])) {
            if (!misses_others (plan, &hosts[i]))
                return (struct text){ 0 };
            first = hosts[i].order < first ? hosts[i].order : first;
        }
    for (uint32_t i = 0; i < n; i++) {
        passed += !failed (&hosts[i]);
        if (!failed (&hosts[i]) && hosts[i].order < first)
            names[left++] = blame_host_name (plan, &hosts[i]);
    }
    return left == passed && 2 * left < n ? hostset_folded (names, left, NAMES_BYTES, arena) : (struct text){ 0 };
}

/* A host that passed is no cause by itself: the others say that it was gone. */
static void tell_who_left (struct blame_host *hosts, uint32_t n, struct text who, struct arena *arena)
{
    for (uint32_t i = 0; i < n && who.len; i++) {
        struct verdict *verdict = hosts[i].verdict;
        if (!failed (&hosts[i]) || verdict->outcome == OUTCOME_CASCADE)
            continue;
        verdict->cause = text_clip (text_format (arena, "%.*s; %.*s had ended before, with status 0",
                                                 TEXT_ARG (verdict->cause), TEXT_ARG (who)),
                                    TEXT_MAX_BYTES);
        verdict->next = text_format (arena, "see the end of %.*s: sliceup logs --hosts %.*s", TEXT_ARG (who),
                                     TEXT_ARG (who));
    }
}

void blame_slice (const struct plan *plan, struct blame_host *hosts, uint32_t n, struct text others,
                  struct arena *arena)
{
    uint32_t awaited = mark_awaited (plan, hosts, n);
    struct text why = TEXT_LIT ("the other hosts waited for it at a gate");
    if (!awaited && (awaited = mark_lagging (plan, hosts, n)) > 0)
        why = others.len ? others : TEXT_LIT ("others waited in vain");
    int first = awaited ? -1 : named_by_others (plan, hosts, n, arena);
    bool named = first >= 0;
    if (!named && !awaited)
        mark_silent (plan, hosts, n);
    if (!named)
        first = initiator (plan, hosts, n);
    if (first < 0)
        first = first_to_report (hosts, n);
    if (first < 0)
        return;
    if (named)
        blame_blame_host_of (plan, &hosts[first], TEXT_LIT ("the other hosts name this one as the host that failed"),
                             arena);
    for (uint32_t i = 0; i < n; i++)
        if (hosts[i].awaited)
            blame_blame_host_of (plan, &hosts[i],
                                 hosts[i].silent ? why_silent (&hosts[i], awaited > 0, others, arena) : why, arena);
    struct text left = left_before (plan, hosts, n, arena);
    judge_others (plan, hosts, n, &hosts[first], named, arena);
    tell_who_left (hosts, n, left, arena);
}

struct text blame_advice_for_lost (const struct plan *plan, uint32_t host, struct arena *arena)
{
    struct text name = plan->hosts.items[host].name;
    if (plan->launcher == LAUNCHER_JOIN)
        return text_format (arena, "on %.*s: journalctl -u sliceup-worker, or kubectl logs of its pod",
                            TEXT_ARG (name));
    return text_format (arena, "sliceup logs --worker --hosts %.*s", TEXT_ARG (name));
}

/* ---- host mentions ---- */

enum { NOBODY = UINT32_MAX, TASK_DIGITS_MAX = 6 };

struct known_as {
    struct text text;
    uint32_t rank;
};

struct host_mentions {
    struct known_as *items; /* sorted by text; rank NOBODY: shared by several */
    uint32_t n, ranks;
};

/* Equal texts become one entry, of NOBODY if several hosts have it. */
static void fold_shared (struct host_mentions *host_mentions)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < host_mentions->n; i++) {
        struct known_as *last = kept ? &host_mentions->items[kept - 1] : NULL;
        if (!last || !text_equal (last->text, host_mentions->items[i].text))
            host_mentions->items[kept++] = host_mentions->items[i];
        else if (last->rank != host_mentions->items[i].rank)
            last->rank = NOBODY;
    }
    host_mentions->n = kept;
}

struct host_mentions *host_mentions_make_index (const struct plan *plan, const uint32_t *hosts, uint32_t n,
                                                struct arena *arena)
{
    struct host_mentions *host_mentions = arena_alloc (arena, sizeof *host_mentions);
    host_mentions->ranks = n;
    host_mentions->items = arena_array (arena, 2 * (size_t) n, sizeof *host_mentions->items);
    for (uint32_t i = 0; i < n; i++) {
        const struct plan_host *host = &plan->hosts.items[hosts[i]];
        host_mentions->items[host_mentions->n++] = (struct known_as){ host->name, i };
        if (host->address.len)
            host_mentions->items[host_mentions->n++] = (struct known_as){ host->address, i };
    }
    sort_items (host_mentions->items, host_mentions->n, sizeof *host_mentions->items, text_order);
    fold_shared (host_mentions);
    return host_mentions;
}

static void name_text (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    struct known_as key = { .text = word };
    const struct known_as *found = host_mentions->n
                                       ? bsearch (&key, host_mentions->items, host_mentions->n, sizeof key, text_order)
                                       : NULL;
    if (found && found->rank != NOBODY)
        named[found->rank] = true;
}

static struct text without_end (struct text word, const char *end)
{
    while (word.len && strchr (end, word.ptr[word.len - 1]))
        word.len--;
    return word;
}

/* "/job:jax_worker/replica:0/task:3"; the ranks of jax.distributed are those of the pass. */
static void name_task (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    uint32_t at;
    uint64_t rank;
    if (!text_find (word, TEXT_LIT ("/task:"), &at))
        return;
    struct text digits = { .ptr = word.ptr + at + 6, .len = 0 };
    while (digits.ptr + digits.len < word.ptr + word.len && text_is_digit (digits.ptr[digits.len]) &&
           digits.len <= TASK_DIGITS_MAX)
        digits.len++;
    if (text_to_u64 (digits, &rank) && rank < host_mentions->ranks)
        named[rank] = true;
}

/* "10.0.0.2:8476", and an end of a sentence. */
static void name_word (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    name_task (host_mentions, word, named);
    word = without_end (word, ".:");
    name_text (host_mentions, word, named);
    struct text bare = word;
    while (bare.len && text_is_digit (bare.ptr[bare.len - 1]))
        bare.len--;
    if (bare.len < word.len && bare.len > 1 && bare.ptr[bare.len - 1] == ':') {
        bare.len--;
        name_text (host_mentions, bare, named);
    }
}

/* "The first task at the barrier: <name>" names a host that came, not one that is missing. */
static bool is_praised (struct text text, uint32_t at)
{
    static const char praise[] = "first task at the barrier: ";
    uint32_t len = sizeof praise - 1;
    return at >= len && memcmp (text.ptr + at - len, praise, len) == 0;
}

/* A shutdown barrier lists hosts that still worked; the one that came too early is at fault. */
static bool lists_late (struct text text)
{
    static const char barrier[] = "Barrier timed out. Id: ";
    uint32_t at;
    if (!text_find (text, text_of (barrier), &at))
        return true;
    at += sizeof barrier - 1;
    return !text_starts ((struct text){ .ptr = text.ptr + at, .len = text.len - at }, "Shutdown");
}

/* "Some timed out task names: 0 2", "unhealthy (stopped sending heartbeats): 1": names to the end of the line. */
static bool begins_list (struct text text, struct text word, uint32_t end)
{
    struct text rest = { .ptr = text.ptr + end, .len = text.len - end };
    return text_is (word, "names:") || (text_is (word, "heartbeats") && text_starts (rest, "):"));
}

/* "Task 3 heartbeat timeout"; "waited 10 s for rank 3". */
static bool is_task_number (struct text text, uint32_t at, uint32_t end)
{
    if (at >= 9 && memcmp (text.ptr + at - 9, "for rank ", 9) == 0)
        return true;
    struct text rest = { .ptr = text.ptr + end, .len = text.len - end };
    return at >= 5 && memcmp (text.ptr + at - 5, "Task ", 5) == 0 && text_starts (rest, " heartbeat");
}

static void name_number (const struct host_mentions *host_mentions, struct text word, bool *named)
{
    uint64_t rank;
    if (text_to_u64 (word, &rank) && rank < host_mentions->ranks)
        named[rank] = true;
}

void host_mentions_find (const struct host_mentions *host_mentions, struct text text, bool *named)
{
    bool late = lists_late (text), listed = false;
    for (uint32_t at = 0, end; at < text.len; at = end + 1) {
        struct text word = { .ptr = text.ptr + at, .len = text.len - at };
        word.len = text_span (word, ".:-_/");
        end = at + word.len;
        if (word.len && !is_praised (text, at) && (late || !listed))
            name_word (host_mentions, word, named);
        if (is_task_number (text, at, end) || (listed && late))
            name_number (host_mentions, word, named);
        listed = (listed || begins_list (text, word, end)) && !(end < text.len && text.ptr[end] == '\n');
    }
}

#include "fault.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const fault_names[FAULT_N] = {
#define FAULT_WORD(kind, name) [FAULT_##kind] = name,
    FAULT_KINDS (FAULT_WORD)
#undef FAULT_WORD
};
static const char *const moment_names[MOMENT_N] = { "ms", "send", "record", "effect", "rung", "any" };

const char *fault_name (enum fault_kind kind)
{
    return fault_names[kind];
}

struct scenario scenario_calm (uint64_t seed, uint32_t hosts)
{
    return (struct scenario){ .seed = seed,
                              .hosts = hosts,
                              .ladder = "fta",
                              .cache = CACHE_SINGLE_WRITER,
                              .writers = 1,
                              .delay_ms = 5,
                              .bound_ms = 900000 };
}

/* ---- reading ---- */

static bool number_read (struct text word, struct rng *rng, uint64_t *out)
{
    bool open = text_starts (word, "?");
    if (open)
        text_skip (&word, 1);
    if (!text_to_u64 (word, out) || (open && (!rng || *out == 0)))
        return false;
    if (open)
        *out = rng_below (rng, *out);
    return true;
}

static bool word_find (struct text word, const char *const *names, uint32_t n, uint32_t *out)
{
    for (*out = 0; *out < n; (*out)++)
        if (names[*out] && text_is (word, names[*out]))
            return true;
    return false;
}

static bool who_read (struct text word, uint32_t hosts, struct rng *rng, uint32_t *who)
{
    uint64_t host = hosts - 1;
    *who = text_is (word, "c") ? COORDINATOR : EVERYBODY;
    if (text_is (word, "c") || text_is (word, "all"))
        return true;
    if (text_is (word, "h?") && rng)
        host = rng_below (rng, hosts);
    else if (!text_is (word, "last") &&
             !(text_starts (word, "h") && text_to_u64 ((struct text){ word.ptr + 1, word.len - 1 }, &host)))
        return false;
    *who = (uint32_t) host;
    return host < hosts;
}

static bool fault_read (const struct scenario *scenario, struct text words, struct rng *rng, struct fault *fault)
{
    uint64_t *numbers[] = { &fault->at, &fault->amount, &fault->more };
    struct text word;
    uint32_t at, n = 0;
    *fault = (struct fault){ 0 };
    if (!text_next_word (&words, TEXT_LIT (" "), &word) || !word_find (word, fault_names, FAULT_N, &at))
        return false;
    fault->kind = at;
    if (!text_next_word (&words, TEXT_LIT (" "), &word) || !who_read (word, scenario->hosts, rng, &fault->who))
        return false;
    if (!text_next_word (&words, TEXT_LIT (" "), &word) || !word_find (word, moment_names, MOMENT_N, &at))
        return false;
    fault->moment = at;
    while (text_next_word (&words, TEXT_LIT (" "), &word))
        if (n == 3 || !number_read (word, rng, numbers[n++]))
            return false;
    return true;
}

/* "4*" and "30%" before a fault: how many of it. */
static bool count_read (struct text *words, struct rng *rng, uint64_t *count)
{
    struct text rest = *words, word;
    *count = 1;
    if (!text_next_word (&rest, TEXT_LIT (" "), &word) || !(text_ends (word, "*") || text_ends (word, "%")))
        return true;
    bool percent = text_ends (word, "%");
    word.len--;
    if (!rng || !number_read (word, rng, count))
        return false;
    if (percent)
        *count = rng_below (rng, 100) < *count;
    *words = rest;
    return true;
}

static bool faults_read (struct scenario *scenario, struct text words, struct rng *rng)
{
    uint64_t count;
    if (!count_read (&words, rng, &count))
        return false;
    struct fault ignored;
    if (count == 0)
        return fault_read (scenario, words, rng, &ignored);
    for (uint64_t i = 0; i < count; i++)
        if (scenario->faults_n == FAULTS_MAX ||
            !fault_read (scenario, words, rng, &scenario->faults[scenario->faults_n++]))
            return false;
    return true;
}

static bool flag_read (struct scenario *scenario, struct text word)
{
    scenario->climb.keep_going |= text_is (word, "keep-going");
    scenario->climb.fail_fast |= text_is (word, "fail-fast");
    scenario->splits |= text_is (word, "splits");
    scenario->farewell |= text_is (word, "farewell");
    return text_is (word, "keep-going") || text_is (word, "fail-fast") || text_is (word, "splits") ||
           text_is (word, "farewell");
}

static bool setting_read (struct scenario *scenario, struct text word, struct rng *rng)
{
    struct text name;
    uint64_t number;
    uint32_t mode;
    if (!text_cut (&word, '=', &name))
        return flag_read (scenario, word);
    if (text_is (name, "ladder"))
        return text_to_c (word, scenario->ladder, sizeof (scenario->ladder));
    if (text_is (name, "cache")) {
        bool known = enum_value_of (&cache_mode_names, word, &mode);
        scenario->cache = mode;
        return known;
    }
    if (!number_read (word, rng, &number))
        return false;
    if (text_is (name, "seed"))
        scenario->seed = number;
    else if (text_is (name, "hosts"))
        scenario->hosts = (uint32_t) number;
    else if (text_is (name, "writers"))
        scenario->writers = (uint32_t) number;
    else if (text_is (name, "retries"))
        scenario->retries = (uint32_t) number;
    else if (text_is (name, "min-hosts"))
        scenario->climb.min_hosts = (uint32_t) number;
    else if (text_is (name, "delay"))
        scenario->delay_ms = number;
    else if (text_is (name, "bound"))
        scenario->bound_ms = number;
    else
        return false;
    return scenario->hosts > 0 && scenario->hosts <= HOSTS_SIMULATED_MAX;
}

bool scenario_read (struct scenario *scenario, const char *line, struct rng *rng)
{
    struct text rest = text_of (line), settings, faults, word;
    if (!text_next_item (&rest, '|', &settings))
        return false;
    while (text_next_word (&settings, TEXT_LIT (" \n"), &word))
        if (!setting_read (scenario, word, rng))
            return false;
    while (text_next_item (&rest, '|', &faults))
        if (!faults_read (scenario, text_trimmed (faults), rng))
            return false;
    return true;
}

/* ---- printing ---- */

static void fault_print (const struct fault *fault, struct buf *out)
{
    buf_printf (out, " | %s ", fault_names[fault->kind]);
    if (fault->who < HOSTS_SIMULATED_MAX)
        buf_printf (out, "h%u", fault->who);
    else
        buf_puts (out, fault->who == COORDINATOR ? "c" : "all");
    buf_printf (out, " %s %" PRIu64, moment_names[fault->moment], fault->at);
    if (fault->amount || fault->more)
        buf_printf (out, " %" PRIu64, fault->amount);
    if (fault->more)
        buf_printf (out, " %" PRIu64, fault->more);
}

void scenario_print (const struct scenario *scenario, struct buf *out)
{
    buf_printf (out,
                "seed=%" PRIu64 " hosts=%u ladder=%s cache=%s writers=%u retries=%u min-hosts=%u delay=%" PRIu64
                " bound=%" PRIu64,
                scenario->seed, scenario->hosts, scenario->ladder, enum_name_of (&cache_mode_names, scenario->cache),
                scenario->writers, scenario->retries, scenario->climb.min_hosts, scenario->delay_ms,
                scenario->bound_ms);
    buf_printf (out, "%s%s%s%s", scenario->climb.keep_going ? " keep-going" : "",
                scenario->climb.fail_fast ? " fail-fast" : "", scenario->splits ? " splits" : "",
                scenario->farewell ? " farewell" : "");
    for (uint32_t i = 0; i < scenario->faults_n; i++)
        fault_print (&scenario->faults[i], out);
}

uint64_t scenario_faults_end_ms (const struct scenario *scenario)
{
    uint64_t end_ms = 0;
    for (uint32_t i = 0; i < scenario->faults_n; i++) {
        const struct fault *fault = &scenario->faults[i];
        uint64_t until_ms = fault->moment == MOMENT_MS ? fault->at : 0;
        bool lasts = fault->kind != FAULT_CANCEL && fault->kind != FAULT_JUMP && fault->kind != FAULT_SLOW;
        until_ms += lasts ? fault->amount : 0;
        end_ms = until_ms > end_ms ? until_ms : end_ms;
    }
    return end_ms;
}

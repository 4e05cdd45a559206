#include "coordinator/report/passes.h"

#include <inttypes.h>

#include "coordinator/report/attempts.h"

/* "P15.F": a letter, and how many hosts in a row have it, when it is not one: as coordinator/page writes run lengths. */
struct run_lengths {
    char letter;
    uint32_t n;
    struct buf *out;
};

static void end_run (struct run_lengths *runs)
{
    if (runs->n)
        buf_byte (runs->out, (uint8_t) runs->letter);
    if (runs->n > 1)
        buf_printf (runs->out, "%u", runs->n);
    runs->n = 0;
}

static void add_letters (struct run_lengths *runs, char letter, uint32_t n)
{
    if (n && letter != runs->letter)
        end_run (runs);
    runs->letter = n ? letter : runs->letter;
    runs->n += n;
}

static void add_pass (struct report_attempt *const *pass, uint32_t n, struct buf *out)
{
    const struct scene_attempt *of = pass[0]->of;
    struct run_lengths runs = { .out = out };
    uint64_t began_ms = of->began_ms;
    for (uint32_t i = 1; i < n; i++)
        began_ms = pass[i]->of->began_ms < began_ms ? pass[i]->of->began_ms : began_ms;
    buf_printf (out,
                "{\"rung\":%u,\"pass\":\"%s\",\"attempt\":%u,\"purpose\":\"%s\",\"began_ms\":%" PRIu64 ",\"marks\":\"",
                of->rung, enum_name_of (&pass_names, of->pass), of->attempt, enum_name_of (&purpose_names, of->purpose),
                began_ms);
    for (uint32_t i = 0, rank = 0; i < n; i++) {
        add_letters (&runs, '.', pass[i]->host - rank);
        add_letters (&runs, scene_mark_letter (pass[i]->of->mark), 1);
        rank = pass[i]->host + 1;
    }
    end_run (&runs);
    buf_puts (out, "\",\"ms\":[");
    for (uint32_t i = 0; i < n; i++)
        buf_printf (out, "%s%" PRIu64, i ? "," : "", pass[i]->of->ms);
    buf_puts (out, "]}");
}

void passes_json (const struct report *report, struct buf *out)
{
    struct arena arena = { 0 };
    struct report_attempts attempts = report_attempts_of (report, &arena);
    buf_byte (out, '[');
    for (uint32_t from = 0, to; from < attempts.n; from = to) {
        for (to = from; to < attempts.n && report_same_pass (attempts.by_pass[from], attempts.by_pass[to]);)
            to++;
        buf_puts (out, from ? ",\n" : "");
        add_pass (attempts.by_pass + from, to - from, out);
    }
    buf_byte (out, ']');
    arena_release (&arena);
}

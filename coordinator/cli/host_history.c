/* host_history.c - how hosts fared in the runs of this home: sliceup hosts --history, and the group @suspect. */
#include <jansson.h>
#include <time.h>

#include "coordinator/cli/cli.h"
#include "coordinator/cli/hosts.h"
#include "coordinator/run/calibration_store.h"
#include "coordinator/view/line.h"
#include "coordinator/view/record_json.h"

enum { SET_COLUMNS = 160, CAUSE_COLUMNS = 240, MINUTE_BYTES = 24 };

static int host_history_read (const char *home, bool failed_only, struct arena *arena, struct host_history_list *out,
                              struct err *err)
{
    struct run_hosts_list runs;
    if (calibration_read_hosts (home, arena, &runs, err) < 0)
        return -1;
    host_history_fold (&runs, failed_only, arena, out);
    return 0;
}

void host_history_keep (const struct cli *cli, const struct slice_receipt *receipt, struct arena *arena,
                        struct run_hosts *out)
{
    LOCAL_ARENA own = { 0 };
    struct run_hosts hosts;
    struct err err = { 0 };
    host_history_of_run (receipt, &own, &hosts);
    record_copy (&run_hosts_record, out, &hosts, arena);
    if ((hosts.passed.len || hosts.failed.n) && calibration_add_hosts (cli->home, &hosts, &err) < 0)
        log_print (&cli->log, "warning: how the hosts of this run fared was not remembered: %s", err.text);
}

int host_history_suspects (const char *home, struct buf *expression, struct err *err)
{
    LOCAL_ARENA arena = { 0 };
    struct host_history_list list;
    if (host_history_read (home, true, &arena, &list, err) < 0)
        return -1;
    host_history_print_suspects (&list, expression);
    return 0;
}

static const char *minute_print (uint64_t wall_ms, char out[MINUTE_BYTES])
{
    time_t seconds = (time_t) (wall_ms / 1000);
    struct tm day;
    return wall_ms && gmtime_r (&seconds, &day) && strftime (out, MINUTE_BYTES, "%Y-%m-%d %H:%M UTC", &day) ? out : "-";
}

static void print_one (const struct host_history *history, uint32_t columns, struct buf *out)
{
    static const struct style style = { .unicode = true };
    struct line line = line_begin (out, &style);
    char last[MINUTE_BYTES], since[MINUTE_BYTES];
    line_cell (&line, history->host, columns, columns + 1);
    line_printf (&line, " %-8s %5u %6u  %-20s  %-20s  %.8s  %s, rung ", history->suspect ? "suspect" : "",
                 history->runs, history->failures, minute_print (history->last_ms, last),
                 minute_print (history->since_ms, since), history->last_run.ptr,
                 enum_name_of (&owner_phrases, history->last->owner));
    line_text (&line, history->last->rung);
    line_end (&line);
    buf_escaped_after (out, "    ", history->last->cause, CAUSE_COLUMNS);
    buf_puts (out, history->last->cause.len ? "\n" : "");
}

/* Those that never failed are one line, and so are all that are suspect. */
static void print_sets (const struct host_history_list *list, struct buf *out)
{
    LOCAL_MEM struct text *good = mem_array (list->n + 1, sizeof *good);
    LOCAL_BUF suspects = { .max = CLI_ANSWER_MAX_BYTES };
    uint32_t good_n = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (!list->items[i].failures)
            good[good_n++] = list->items[i].host;
    if (good_n) {
        buf_printf (out, "%u host%s never failed by %s: ", good_n, plural (good_n),
                    good_n == 1 ? "itself" : "themselves");
        hostset_fold_escaped (good, good_n, SET_COLUMNS, out);
        buf_puts (out, "\n");
    }
    host_history_print_suspects (list, &suspects);
    if (suspects.len)
        buf_printf (out,
                    "suspect: %s   (a slice that can do without them: sliceup run SLICE.yaml --exclude @suspect)\n",
                    buf_c (&suspects));
}

static int show_text (struct cli *cli, const struct host_history_list *list)
{
    struct buf out = { .max = CLI_ANSWER_MAX_BYTES };
    uint32_t columns = 4, failed = 0;
    for (uint32_t i = 0; i < list->n; i++)
        if (list->items[i].failures && list->items[i].host.len > columns)
            columns = list->items[i].host.len;
    for (uint32_t i = 0; i < list->n; i++) {
        if (!list->items[i].failures)
            continue;
        if (failed++ == 0)
            buf_printf (&out, "%-*s %-8s %5s %6s  %-20s  %-20s  %-8s  %s\n", (int) columns, "HOST", "", "RUNS",
                        "FAILED", "LAST", "EVERY TIME SINCE", "RUN", "WHAT");
        print_one (&list->items[i], columns, &out);
    }
    print_sets (list, &out);
    if (!list->n)
        buf_puts (&out, "no run of this home says anything of these hosts: runs in which all hosts failed alike, and "
                        "cancelled runs, say nothing\n");
    return cli_write_stdout (cli, &out);
}

static json_t *history_json (const struct host_history *history)
{
    const struct host_failure none = { 0 }, *last = history->last ? history->last : &none;
    return json_pack ("{s:o, s:b, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "host", text_json (history->host),
                      "suspect", history->suspect, "runs", (int) history->runs, "failures", (int) history->failures,
                      "failing_since", time_json (history->since_ms), "last_failed", time_json (history->last_ms),
                      "run", text_or_null_json (history->last_run), "rung", text_or_null_json (last->rung), "outcome",
                      enum_json (&outcome_names, last->outcome), "owner", enum_json (&owner_names, last->owner),
                      "cause", text_or_null_json (last->cause));
}

static int show_json (struct cli *cli, const struct host_history_list *list)
{
    LOCAL_BUF suspects = { .max = CLI_ANSWER_MAX_BYTES };
    json_t *hosts = json_array ();
    for (uint32_t i = 0; i < list->n; i++)
        json_array_append_new (hosts, history_json (&list->items[i]));
    host_history_print_suspects (list, &suspects);
    return cli_print_json (cli, "sliceup.host-history/1",
                           json_pack ("{s:o, s:o}", "suspect", text_json (buf_as_text (&suspects)), "hosts", hosts));
}

int host_history_show (struct cli *cli, const struct name_list *set, bool json)
{
    LOCAL_ARENA arena = { 0 };
    struct host_history_list list;
    struct err err = { 0 };
    if (host_history_read (cli->home, false, &arena, &list, &err) < 0)
        return cli_fail (cli, &err);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list.n; i++)
        if (!set || name_list_has (set, list.items[i].host))
            list.items[kept++] = list.items[i];
    list.n = kept;
    return json ? show_json (cli, &list) : show_text (cli, &list);
}

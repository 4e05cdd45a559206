#include "coordinator/report/html.h"

#include <assert.h>
#include <inttypes.h>

#include "common/base/digest.h"
#include "coordinator/page/page_file.h"
#include "coordinator/page/scene_json.h"
#include "coordinator/report/passes.h"
#include "coordinator/view/drift_json.h"
#include "coordinator/view/drift_text.h"

enum {
    DRIFT_MAX_BYTES = 256 << 10,
    COMPARE_MAX_BYTES = 256 << 10,
    BAD_MAX = 64,
    CASCADES_MAX = 16,
    GATES_MAX = 64,
    SLOW_MAX = 16
};

/* ---- what may run ---- */

static void add_base64 (const struct digest *digest, struct buf *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (uint32_t i = 0; i < sizeof digest->bytes; i += 3) {
        uint32_t left = sizeof digest->bytes - i, bits = (uint32_t) digest->bytes[i] << 16;
        bits |= left > 1 ? (uint32_t) digest->bytes[i + 1] << 8 : 0;
        bits |= left > 2 ? digest->bytes[i + 2] : 0;
        for (uint32_t k = 0; k < 4; k++)
            buf_byte (out, k <= left ? (uint8_t) digits[bits >> (18 - 6 * k) & 63] : '=');
    }
}

static void add_source (const char *directive, struct text source, struct buf *out)
{
    struct digest digest = digest_of (source.ptr, source.len);
    buf_printf (out, "; %s 'sha256-", directive);
    add_base64 (&digest, out);
    buf_byte (out, '\'');
}

/* The file has no server that could send it as a header. */
static void add_policy (struct text style, struct text script, struct buf *out)
{
    buf_puts (out, "\n<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:");
    add_source ("script-src", script, out);
    add_source ("style-src", style, out);
    buf_puts (out,
              "; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'\">");
}

/* ---- data ---- */

/* In JSON '<' stands in texts alone: so none of them ends the element. */
static void add_json (struct text json, struct buf *out)
{
    for (uint32_t i = 0; i < json.len; i++)
        if (json.ptr[i] == '<')
            buf_puts (out, "\\u003c");
        else
            buf_byte (out, (uint8_t) json.ptr[i]);
}

static bool is_bad (const struct scene *scene, const struct scene_tile *tile, bool cascade)
{
    for (uint32_t rung = 0; rung < scene->rungs_n; rung++)
        if (scene_mark_is_bad (tile->cells[rung]) && (tile->cells[rung] == MARK_CASCADE) == cascade)
            return true;
    return false;
}

static void choose_bad (const struct scene *scene, bool cascade, uint32_t most, bool *chosen)
{
    for (uint32_t i = 0; i < scene->tiles_n && most; i++)
        if (!chosen[i] && is_bad (scene, &scene->tiles[i], cascade)) {
            chosen[i] = true;
            most--;
        }
}

static void choose_last_at_gates (const struct scene *scene, bool *chosen)
{
    for (uint32_t i = 0, n = 0; i < scene->gates_n && n < GATES_MAX; i++)
        if (scene->gates[i].last < scene->hosts_n && !chosen[scene->gates[i].last]) {
            chosen[scene->gates[i].last] = true;
            n++;
        }
}

static void choose_slowest (const struct scene *scene, bool *chosen)
{
    for (uint32_t n = 0; n < SLOW_MAX; n++) {
        uint32_t slowest = scene->tiles_n;
        for (uint32_t i = 0; i < scene->tiles_n; i++)
            if (!chosen[i] && (slowest == scene->tiles_n || scene->tiles[i].spent_ms > scene->tiles[slowest].spent_ms))
                slowest = i;
        if (slowest < scene->tiles_n)
            chosen[slowest] = true;
    }
}

/* Those that stand out, as far as there is room. */
static void add_hosts (const struct report *report, struct buf *out)
{
    const struct scene *scene = report->scene;
    bool *chosen = mem_array (scene->hosts_n, sizeof (*chosen));
    const char *before = "";
    struct buf host, escaped;
    buf_init (&host, HTML_MAX_BYTES);
    buf_init (&escaped, HTML_MAX_BYTES);
    choose_bad (scene, false, BAD_MAX, chosen);
    choose_last_at_gates (scene, chosen);
    choose_slowest (scene, chosen);
    choose_bad (scene, true, CASCADES_MAX, chosen);
    for (uint32_t i = 0; i < scene->hosts_n; i++) {
        if (!chosen[i])
            continue;
        buf_clear (&host);
        buf_clear (&escaped);
        scene_host_json (scene, &report->hosts[i], "", &host);
        add_json (buf_as_text (&host), &escaped);
        if (host.overflow || escaped.overflow || out->len + escaped.len + 64 > out->max)
            continue;
        buf_puts (out, before);
        buf_add_text (out, buf_as_text (&escaped));
        before = ",";
    }
    buf_release (&host);
    buf_release (&escaped);
    mem_free (chosen);
}

static void add_drift (const struct report *report, struct buf *out)
{
    const struct drift_query query = { .rules = report->plan->drift.items, .rules_n = report->plan->drift.n };
    const struct drift_subject subject = { .name = report->scene->run,
                                           .slice = report->scene->slice,
                                           .policy = "of the run" };
    struct arena arena = { 0 };
    struct drift drift;
    struct buf json;
    buf_init (&json, DRIFT_MAX_BYTES);
    drift_compare_hosts (report->receipt, &query, &arena, &drift);
    drift_json (&drift, &subject, &json);
    if (!json.overflow) {
        buf_puts (out, ",\"drift\":");
        add_json (buf_as_text (&json), out);
    }
    buf_release (&json);
    arena_release (&arena);
}

static void add_data (const struct report *report, struct text compare, struct buf *out)
{
    struct buf json;
    buf_init (&json, HTML_MAX_BYTES);
    buf_puts (out, "<script type=\"application/json\" id=\"sliceup-data\">{\"state\":");
    scene_state_json (report->scene, "", !report->held, 0, &json);
    add_json (buf_as_text (&json), out);
    buf_puts (out, ",\"passes\":");
    buf_clear (&json);
    passes_json (report, &json);
    add_json (buf_as_text (&json), out);
    buf_release (&json);
    add_drift (report, out);
    if (compare.len && compare.len <= COMPARE_MAX_BYTES) {
        buf_puts (out, ",\"compare\":");
        add_json (compare, out);
    }
    buf_puts (out, ",\"hosts\":[");
    add_hosts (report, out);
    buf_puts (out, "]}</script>\n");
}

/* ---- the page ---- */

/* What stands before `mark`, which the page has once. */
static struct text take_until (struct text *rest, const char *mark)
{
    struct text before = *rest, found = text_of (mark);
    bool there = text_find (*rest, found, &before.len);
    assert (there);
    rest->ptr += before.len + found.len;
    rest->len -= before.len + found.len;
    return before;
}

void html_page (const struct report *report, struct text compare, struct buf *out)
{
    static const char charset[] = "<meta charset=\"utf-8\">";
    struct text rest = page_file ("page.html"), style = page_file ("page.css"), script = page_file ("page.js");
    buf_add_text (out, take_until (&rest, charset));
    buf_puts (out, charset);
    add_policy (style, script, out);
    buf_add_text (out, take_until (&rest, "<link rel=\"stylesheet\" href=\"page.css\">"));
    buf_puts (out, "<style>");
    buf_add_text (out, style);
    buf_puts (out, "</style>");
    buf_add_text (out, take_until (&rest, "<script src=\"page.js\"></script>"));
    /* The script before the data would not find it; its size counts for the hosts that there is room for. */
    struct buf data;
    buf_init (&data, HTML_MAX_BYTES - out->len - script.len - rest.len - 64);
    add_data (report, compare, &data);
    buf_add_text (out, buf_as_text (&data));
    out->overflow |= data.overflow;
    buf_release (&data);
    buf_puts (out, "<script>");
    buf_add_text (out, script);
    buf_puts (out, "</script>");
    buf_add_text (out, rest);
}

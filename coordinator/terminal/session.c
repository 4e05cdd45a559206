#include "coordinator/terminal/session.h"

enum { REDRAW_MS = 200, REDRAW_ENDED_MS = 1000, KEYS_AT_ONCE = 256 };

struct terminal_session {
    struct terminal_options options;
    struct screen *screen;
    struct terminal_state state;
    struct arena arena; /* of the scene that is shown */
    struct scene scene;
    uint64_t drawn_ms;      /* boot clock */
    uint32_t columns, rows; /* then */
    bool changed;           /* by a key */
};

struct terminal_session *terminal_session_open (const struct terminal_options *options, struct err *err)
{
    struct screen *screen = screen_open (options->color, err);
    if (screen == NULL)
        return NULL;
    struct terminal_session *session = mem_alloc (sizeof (*session));
    session->options = *options;
    session->screen = screen;
    session->changed = true;
    session->scene.board = feed_board (options->feed);
    terminal_state_init (&session->state, options->program, options->run, options->key);
    return session;
}

void terminal_session_close (struct terminal_session *session)
{
    if (session == NULL)
        return;
    screen_close (session->screen);
    arena_release (&session->arena);
    mem_free (session);
}

/* ---- keys ---- */

static void act_on_run (struct terminal_session *session, int (*act) (void *owner, struct err *err))
{
    struct err err = { 0 };
    if (act (session->options.owner, &err) < 0)
        terminal_state_say (&session->state, true, "%s", err.text);
}

/* False: the person leaves. */
static bool take_keys (struct terminal_session *session)
{
    for (uint32_t i = 0; i < KEYS_AT_ONCE; i++) {
        uint32_t key = screen_key (session->screen);
        if (key == 0)
            break;
        enum terminal_act act = terminal_state_key (&session->state, &session->scene, key);
        session->changed = true;
        if (act == ACT_LEAVE)
            return false;
        if (act == ACT_REPAINT)
            screen_repaint (session->screen);
        if (act == ACT_CANCEL)
            act_on_run (session, session->options.cancel);
        if (act == ACT_ASK_STANDS)
            act_on_run (session, session->options.ask_stands);
    }
    return true;
}

/* ---- frames ---- */

static uint32_t read_logs (struct terminal_session *session, struct terminal_log logs[MARKED_MAX])
{
    uint32_t ranks[MARKED_MAX], n = terminal_state_log_hosts (&session->state, ranks);
    for (uint32_t i = 0; i < n; i++) {
        char name[64];
        logs[i] = (struct terminal_log){ .rank = ranks[i] };
        session->options.read_log (session->options.owner, ranks[i], &session->arena, &logs[i]);
        logs[i].name = text_copy (&session->arena, text_of (scene_host_name (&session->scene, ranks[i], name)));
    }
    return n;
}

static void draw (struct terminal_session *session, uint64_t boot_ms)
{
    struct terminal_log logs[MARKED_MAX];
    struct style style = screen_style (session->screen);
    struct scene_query query;
    arena_reset (&session->arena);
    terminal_state_query (&session->state, &query);
    scene_make (session->options.feed, &query, boot_ms, &session->arena, &session->scene);
    terminal_state_settle (&session->state, &session->scene); /* the logs are those of its cursor */
    struct cells cells = cells_make (&style, &session->arena);
    struct drawing drawing = { .state = &session->state,
                               .scene = &session->scene,
                               .logs = logs,
                               .logs_n = read_logs (session, logs),
                               .cells = &cells,
                               .arena = &session->arena };
    terminal_draw (&drawing);
    screen_show (session->screen, &cells, drawing.cursor_row, drawing.cursor_column);
    session->columns = style.columns;
    session->rows = style.rows;
}

static bool is_due (const struct terminal_session *session, uint64_t boot_ms)
{
    struct style style = screen_style (session->screen);
    return session->changed || style.columns != session->columns || style.rows != session->rows ||
           boot_ms >= session->drawn_ms + (session->scene.board->ended ? REDRAW_ENDED_MS : REDRAW_MS);
}

bool terminal_session_tick (struct terminal_session *session, uint64_t boot_ms)
{
    if (!screen_in_front (session->screen))
        return true;                               /* whoever reads a terminal in the background is stopped */
    if (session->drawn_ms && !take_keys (session)) /* before that no key has anything to act upon */
        return false;
    if (!screen_ready (session->screen) || !is_due (session, boot_ms))
        return true;
    draw (session, boot_ms);
    session->drawn_ms = boot_ms;
    session->changed = false;
    return true;
}

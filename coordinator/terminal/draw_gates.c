#include "common/base/duration.h"
#include "coordinator/terminal/draw.h"
#include "coordinator/terminal/sheet.h"

struct text draw_gate_words (const struct drawing *drawing, const struct scene_gate *gate)
{
    const struct scene *scene = drawing->scene;
    char median[DURATION_TEXT_BYTES], longest[DURATION_TEXT_BYTES], name[64];
    struct text id = gate->rung < scene->rungs_n ? scene->rungs[gate->rung].id : TEXT_LIT ("?");
    return text_format (drawing->arena, "gate %.*s of %.*s %s: %s came last, the others waited %s, %s at most",
                        TEXT_ARG (gate->gate), TEXT_ARG (id), enum_name_of (&pass_names, gate->pass),
                        scene_host_name (scene, drawing->state->feed, gate->last, name),
                        duration_print (gate->median_wait_ms, median), duration_print (gate->longest_wait_ms, longest));
}

void draw_gates (struct drawing *drawing, uint32_t row, uint32_t end)
{
    const struct scene *scene = drawing->scene;
    struct sheet sheet = { .arena = drawing->arena };
    char span[DURATION_TEXT_BYTES];
    uint64_t cost_ms = 0;
    for (uint32_t i = 0; i < scene->gates_n; i++)
        cost_ms += scene->gates[i].median_wait_ms;
    if (scene->gates_n)
        sheet_printf (&sheet, PAINT_STRONG, "%u gate%s passed; half of the hosts waited %s there, all together",
                      scene->gates_n, scene->gates_n == 1 ? "" : "s", duration_print (cost_ms, span));
    else
        sheet_add (&sheet, PAINT_FAINT,
                   filter_has_range (&drawing->state->filter)
                       ? TEXT_LIT ("no gate opened in the time that the filter names, of passes that have ended")
                       : TEXT_LIT ("no pass with a gate has ended yet"));
    for (uint32_t i = 0; i < scene->gates_n; i++)
        sheet_add (&sheet, PAINT_NONE, draw_gate_words (drawing, &scene->gates[i]));
    sheet_draw (&sheet, drawing->cells, row, end, &drawing->state->scroll);
}

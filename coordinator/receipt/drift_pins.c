#include "coordinator/receipt/drift.h"

#include <string.h>

#include "common/model/requirements.h"

static bool ends_word (char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\\' || c == ';' || c == '#';
}

/* "jaxlib==0.10.2 \" */
static bool read_line (struct text line, struct arena *arena, struct var *pin)
{
    uint32_t at, end;
    if (line.len == 0 || line.ptr[0] == '#' || line.ptr[0] == '-' || ends_word (line.ptr[0]) ||
        !text_find (line, TEXT_LIT ("=="), &at))
        return false;
    for (end = at + 2; end < line.len && !ends_word (line.ptr[end]);)
        end++;
    pin->name = requirement_normal_name ((struct text){ line.ptr, at }, arena);
    pin->value = text_copy (arena, (struct text){ line.ptr + at + 2, end - at - 2 });
    return pin->name.len > 0 && pin->value.len > 0;
}

void drift_pins_parse (struct text requirements, struct arena *arena, var_list *pins)
{
    uint32_t lines = 1;
    for (uint32_t i = 0; i < requirements.len; i++)
        lines += requirements.ptr[i] == '\n';
    pins->items = arena_array (arena, lines, sizeof (*pins->items));
    pins->n = 0;
    for (uint32_t from = 0; from < requirements.len;) {
        const char *end = memchr (requirements.ptr + from, '\n', requirements.len - from);
        uint32_t len = end ? (uint32_t) (end - requirements.ptr) - from : requirements.len - from;
        pins->n += read_line ((struct text){ requirements.ptr + from, len }, arena, &pins->items[pins->n]);
        from += len + 1;
    }
}

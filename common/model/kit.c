#include "common/model/kit.h"

enum { PARTS_MAX = 4 };

bool kit_name_is_good (struct text name)
{
    uint32_t parts = 0;
    struct text part;
    if (name.len == 0 || name.len > NAME_MAX_BYTES || text_span (name, "/._-+") < name.len)
        return false;
    while (text_next_item (&name, '/', &part))
        if (!part.len || part.ptr[0] == '.' || ++parts > PARTS_MAX) /* an empty part, absolute; "..", ".", hidden */
            return false;
    return true;
}

struct digest kit_digest (const struct kit_file *files, uint32_t n)
{
    struct digest_state *state = digest_begin ();
    for (uint32_t i = 0; i < n; i++) { /* neither holds a NUL, so different kits have different bytes */
        digest_add (state, files[i].name.ptr, files[i].name.len);
        digest_add (state, "", 1);
        digest_add (state, files[i].file.sha256.ptr, files[i].file.sha256.len);
        digest_add (state, "", 1);
    }
    return digest_end (state);
}

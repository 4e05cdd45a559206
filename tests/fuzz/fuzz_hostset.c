/* fuzz_hostset.c - no text crashes the reader of host sets or passes its bounds; what it accepts is sound: names of the
 * grammar, each once, and the same set when it is folded and read again. Other readers of host lists get it as well. */
#include <assert.h>
#include <string.h>

#include "common/model/host_source.h"
#include "common/model/hostset.h"

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len);

enum { INPUT_MAX_BYTES = 4096, NAMES_MAX = 300, FOLDED_MAX_BYTES = NAMES_MAX * (HOST_NAME_MAX_BYTES + 1) };

static struct arena arena;
static struct buf folded, again;

/* Groups of the input's own: @a is what stands behind its first newline; @b names both. */
static bool find_group (const void *owner, struct text name, struct text *expression)
{
    const struct text *input = owner;
    uint32_t at;
    if (text_is (name, "b"))
        *expression = TEXT_LIT ("@a,@b");
    else if (text_is (name, "a") && text_find (*input, TEXT_LIT ("\n"), &at))
        *expression = (struct text){ input->ptr + at + 1, input->len - at - 1 };
    else
        return false;
    return true;
}

static void check_sound (struct name_list names)
{
    const struct hostset_rules once = { .max = NAMES_MAX, .once = true };
    struct name_list back = { 0 };
    assert (names.n <= NAMES_MAX);
    for (uint32_t i = 0; i < names.n; i++)
        assert (host_name_valid (names.items[i]));
    buf_clear (&folded);
    buf_clear (&again);
    hostset_fold (names.items, names.n, &folded);
    assert (!folded.overflow);
    if (names.n == 0)
        return;
    assert (hostset_read (buf_as_text (&folded), &once, &arena, &back, NULL) == 0 && back.n == names.n);
    assert (hostset_sort (names.items, names.n) == names.n); /* as the folded form lists them */
    for (uint32_t i = 0; i < names.n; i++)
        assert (text_equal (names.items[i], back.items[i]));
    hostset_fold (back.items, back.n, &again);
    assert (text_equal (buf_as_text (&folded), buf_as_text (&again)));
}

static void read_by (struct text input, bool once)
{
    struct name_list names = { 0 };
    struct err err = { 0 };
    const struct hostset_group_lookup groups = { find_group, &input };
    const struct hostset_rules rules = { .max = NAMES_MAX, .once = once, .groups = once ? NULL : &groups };
    if (hostset_read (input, &rules, &arena, &names, &err) == 0)
        check_sound (names);
    else
        assert (err.code != ERR_NONE && strnlen (err.text, sizeof err.text) < sizeof err.text && names.n == 0);
}

static void read_source (int (*read) (struct text, struct buf *, struct err *), struct text input)
{
    struct err err = { 0 };
    buf_clear (&folded);
    if (read (input, &folded, &err) == 0)
        assert (!folded.overflow && folded.len > 0);
    else
        assert (err.code != ERR_NONE);
}

int LLVMFuzzerTestOneInput (const uint8_t *bytes, size_t len)
{
    if (len > INPUT_MAX_BYTES)
        return 0;
    if (folded.max == 0) {
        buf_init (&folded, FOLDED_MAX_BYTES);
        buf_init (&again, FOLDED_MAX_BYTES);
    }
    struct text input = { (const char *) bytes, (uint32_t) len };
    read_by (input, true);
    read_by (input, false);
    read_source (host_source_slurm, input);
    read_source (host_source_tpu_names, input);
    read_source (host_source_tpu_endpoints, input);
    for (struct host_file file = { .content = input }; host_file_next (&file);)
        assert (file.word.len > 0 && file.at <= file.content.len && file.line > 0 && file.column > 0 &&
                (host_file_other_tool (&file) || true));
    arena_reset (&arena);
    return 0;
}

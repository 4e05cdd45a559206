/* links: view */
/* Nothing that a program printed leaves its cell, its paragraph or its block of code. */
#include "coordinator/view/line.h"
#include "test.h"

static void expect (struct buf *out, const char *wanted)
{
    assert_string_equal (buf_c (out), wanted);
    buf_clear (out);
}

TEST (what_has_a_meaning_becomes_code)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    struct doc doc = doc_begin (&out, true);
    doc_say (&doc, "", "", TEXT_LIT ("a|b `c` <b>&amp; *x* _y_ [l](u) \\ ~z~ #1 @all !i $m$, http://x"));
    expect (&out, "`` a|b `c` <b>&amp; *x* _y_ [l](u) \\ ~z~ #1 @all `` !i `$m$, http://x`\n\n");
    doc_say (&doc, "", "", TEXT_LIT ("|\n\x1b[1m"));
    expect (&out, "`|\\x0a\\x1b[1m`\n\n");
    doc_say (&doc, "", "- ", TEXT_LIT ("on h[0-1]: ```` said  two_words, twice"));
    expect (&out, "- on ````` h[0-1]: ```` ````` said  `two_words`, twice\n\n");
    doc_end (&doc);
    buf_release (&out);
}

TEST (each_form_takes_its_lead_and_leaves_out_what_has_none)
{
    for (int markdown = 0; markdown < 2; markdown++) {
        struct buf out;
        buf_init (&out, 1 << 16);
        struct doc doc = doc_begin (&out, markdown);
        doc.columns = 4;
        doc_say (&doc, "  next: ", "Next: ", TEXT_LIT ("a_b\ncd"));
        doc_say (&doc, markdown ? "" : NULL, markdown ? NULL : "", TEXT_LIT ("left out"));
        doc_say (&doc, "x ", "x ", (struct text){ 0 });
        buf_puts (&doc.line, "all");
        doc_put_strong (&doc, "in ");
        buf_puts (&doc.line, "one");
        doc_put_item (&doc, "  ", "- ");
        expect (&out,
                markdown ? "Next: `a_b\\x0acd`\n\n**all**\n\n- one\n" : "  next: a_b\xE2\x80\xA6\nin all\n  one\n");
        doc_end (&doc);
        buf_release (&out);
    }
}

TEST (a_row_stays_one_row)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    struct doc doc = doc_begin (&out, true);
    doc_table (&doc, "one | two");
    doc_cell (&doc, TEXT_LIT ("x | y\n| z"));
    doc_cell (&doc, (struct text){ 0 });
    doc_row_end (&doc);
    expect (&out, "| one | two |\n| --- | --- |\n| x `\\| y\\x0a\\|` z |  |\n");
    doc_cell (&doc, TEXT_LIT ("a\\|b\\\\|c"));
    expect (&out, "| `a\\\\\\|b\\\\\\|c` "); /* a bar behind an odd number of backslashes each */
    doc_end (&doc);
    buf_release (&out);
}

TEST (no_line_ends_the_block_of_code)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    struct doc doc = doc_begin (&out, true);
    doc_code (&doc, (struct text){ 0 });
    expect (&out, "");
    doc_code (&doc, TEXT_LIT ("plain"));
    expect (&out, "```\nplain\n```\n\n");
    doc_code (&doc, TEXT_LIT ("a\n````\n</pre>\r\x1b[2J"));
    expect (&out, "`````\na\n````\n</pre>\\x0d\\x1b[2J\n`````\n\n");
    doc_end (&doc);
    buf_release (&out);
}

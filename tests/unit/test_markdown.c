/* links: cli worker_run */
/* Nothing that a program printed leaves its cell, its paragraph or its block of code. */
#include "coordinator/view/markdown.h"
#include "test.h"

static void expect (struct buf *out, const char *wanted)
{
    assert_string_equal (buf_c (out), wanted);
    buf_clear (out);
}

TEST (what_has_a_meaning_becomes_a_reference)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    markdown_text (&out, TEXT_LIT ("a|b `c` <b>&amp; *x* _y_ [l](u) \\ ~z~ #1 @all !i $m$"));
    assert_null (strpbrk (buf_c (&out), "|<>`*_[]\\~@!$"));
    buf_clear (&out);
    markdown_text (&out, TEXT_LIT ("|\n\x1b[1m"));
    expect (&out, "&#124;&#92;x0a&#92;x1b&#91;1m");
    buf_release (&out);
}

TEST (a_row_stays_one_row)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    markdown_table (&out, "one | two");
    markdown_cell (&out, TEXT_LIT ("x | y\n| z"));
    markdown_cell (&out, (struct text){ 0 });
    markdown_row_end (&out);
    expect (&out, "| one | two |\n| --- | --- |\n| x &#124; y&#92;x0a&#124; z |  |\n");
    buf_release (&out);
}

TEST (no_line_ends_the_block_of_code)
{
    struct buf out;
    buf_init (&out, 1 << 16);
    markdown_code (&out, (struct text){ 0 });
    expect (&out, "");
    markdown_code (&out, TEXT_LIT ("plain"));
    expect (&out, "```\nplain\n```\n\n");
    markdown_code (&out, TEXT_LIT ("a\n````\n</pre>\r\x1b[2J"));
    expect (&out, "`````\na\n````\n</pre>\\x0d\\x1b[2J\n`````\n\n");
    buf_release (&out);
}

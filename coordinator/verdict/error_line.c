#include "coordinator/verdict/error_line.h"

#include "common/signature/log_line.h"

struct text error_line_find (enum outcome outcome, struct text evidence)
{
    struct text first = { 0 }, last = { 0 };
    for (struct text rest = evidence; rest.len;) {
        last = text_take_until (&rest, '\n');
        if (log_line_grade (last) >= LINE_ERROR)
            return last;
        first = first.len ? first : last;
    }
    return outcome == OUTCOME_FAILED ? last : first;
}

struct text error_line_beside (enum outcome outcome, struct text evidence, struct text cause)
{
    const struct text failure = TEXT_LIT ("sliceup_canary.Failure: "); /* a canary prints what it said as its cause */
    struct text line = error_line_find (outcome, evidence), said = line;
    if (text_starts (line, "sliceup_canary.Failure: "))
        said = (struct text){ line.ptr + failure.len, line.len - failure.len };
    return said.len && text_find (cause, said, NULL) ? (struct text){ 0 } : line;
}

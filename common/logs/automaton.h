/* automaton.h - Aho and Corasick's automaton over many needles, with one row of next states per state.
 *
 * Blanks, tabs and line ends are one letter, and a run of them is read as one. Knows needles by number only. */
#ifndef SLICEUP_COMMON_LOGS_AUTOMATON_H
#define SLICEUP_COMMON_LOGS_AUTOMATON_H

#include "common/base/text.h"

/* In `next`, beside the row's offset: a needle ends here, or the letter was an ESC: look closer. */
#define AUTOMATON_EVENT UINT32_C (0x80000000)
enum { NEEDLE_NONE = -1 };

struct automaton {
    uint8_t letter_of[256]; /* byte -> column */
    uint32_t letters, states;
    uint32_t *next;    /* states rows of `letters`: offset of the next state's row, and AUTOMATON_EVENT */
    int32_t *own;      /* per state: the last needle added that is spelled by it, or NEEDLE_NONE */
    uint32_t *shorter; /* per state: the state of the longest needle that is an end of it; 0: there is none */
    int32_t *same;     /* per needle: another one with the same letters, or NEEDLE_NONE */
    uint32_t needles;
};

/* Empty needles (also: of nothing but blanks) are never found. The caller bounds the sum of their lengths. */
void automaton_build (struct automaton *automaton, const struct text *needles, uint32_t n);
void automaton_release (struct automaton *automaton);

#endif

/* mischief.h - what the lying plugin does that no answer of it shows: hangs, crashes, leaves processes, writes where it
 * must not. The name of its file says which. */
#ifndef SLICEUP_TESTS_PLUGINS_MISCHIEF_H
#define SLICEUP_TESTS_PLUGINS_MISCHIEF_H

#include <stdbool.h>

bool lies (const char *how);                /* is that its name? */
bool lacks (const char *slot);              /* none-SLOT */
void act (const char *slot);                /* hang-, crash-, abort-, kill-, exit-, done-SLOT: in that slot */
void misbehave (void);                      /* the other names; in Plugin_Initialize */
const char *at_the_edge (const char *text); /* a copy whose last byte is the last that can be read */

#endif

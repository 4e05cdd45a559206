/* host_letters.h - a letter of each host, by rank, as one short text: how docs/spec/web.md has marks, phases and groups.
 *
 * Run lengths ("P15F": a letter, and how many hosts in a row have it), or, where those are long, packed if that is shorter: "!", the letters
 * that occur, "!", and the place of each host's letter among them, in as few bits as they need, as base64url.
 * So it is never longer than the hosts are many. Letters are ASCII, and neither digits nor '!'. Pure. No errors. */
#ifndef SLICEUP_COORDINATOR_PAGE_HOST_LETTERS_H
#define SLICEUP_COORDINATOR_PAGE_HOST_LETTERS_H

#include "coordinator/view/record_json.h"

enum { HOST_NUMBERS = 69 }; /* numbers that have a letter: 0 is ':', 1 ';' and so on */
char host_letter_of_number (uint32_t number);
json_t *host_letters_json (const char *letters, uint32_t n);
void host_letters_add_runs (const char *letters, uint32_t n, struct buf *out); /* run lengths alone */

#endif

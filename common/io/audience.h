/* audience.h - private to common/io: the monitors of a run, behind a ROUTER of their own.
 *
 * Not an XPUB: that one keeps whatever its peers subscribe to, without bound and without a word to the application.
 * Here a monitor has a place for MONITOR_STAY_MS after each question, at most MONITOR_PLACES_A_KEY of them; without
 * one it is neither heard nor told. The first place of each of MONITOR_KEYS keys is reserved: no other key can take it.
 * Used on the thread of the hub. */
#ifndef SLICEUP_IO_AUDIENCE_H
#define SLICEUP_IO_AUDIENCE_H

#include "common/io/link.h"
#include "common/io/socket.h"

/* Queues of 256 frames of at most 32 KiB: a monitor that asks and never reads costs 8 MiB a place, and has four. */
enum { AUDIENCE_PLACES = 160, AUDIENCE_SHARED = AUDIENCE_PLACES - MONITOR_KEYS, AUDIENCE_QUEUE_MAX = 256 };

struct audience;
struct audience *audience_open (void *context, const struct link_keys *keys, struct err *err);
void audience_close (struct audience *audience, uint64_t linger_ms);
void *audience_socket (struct audience *audience);
bool audience_question (struct audience *audience, struct hub_asker *from, struct text *bytes);
bool audience_questions_left (const struct audience *audience);
bool audience_answer (struct audience *audience, const struct hub_asker *to, const void *bytes, size_t len);
void audience_publish (struct audience *audience, const void *bytes, size_t len);
uint64_t audience_dropped (const struct audience *audience); /* what was no question, or of one too many of a key */

#endif

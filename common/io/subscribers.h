/* subscribers.h - private to common/io: the monitors of a run, behind a ROUTER of their own.
 *
 * An XPUB would keep its peers' subscriptions without bound, unseen by the application. Here a monitor has a place for
 * MONITOR_STAY_MS after each question, at most MONITOR_PLACES_A_KEY of them; without one it is ignored and receives
 * nothing. The first place of each of MONITOR_KEYS keys is reserved for it. Used on the thread of the hub. */
#ifndef SLICEUP_COMMON_IO_SUBSCRIBERS_H
#define SLICEUP_COMMON_IO_SUBSCRIBERS_H

#include "common/io/link.h"
#include "common/io/socket.h"

/* Queues of 256 frames of at most 32 KiB: a monitor that never reads costs 8 MiB for each of its four places. */
enum { SUBSCRIBERS_PLACES = 160, SUBSCRIBERS_SHARED = SUBSCRIBERS_PLACES - MONITOR_KEYS, SUBSCRIBERS_QUEUE_MAX = 256 };

struct subscribers;
struct subscribers *subscribers_open (void *context, const struct link_keys *keys, struct err *err);
void subscribers_close (struct subscribers *subscribers, uint64_t linger_ms);
void *subscribers_socket (struct subscribers *subscribers);
bool subscribers_receive_question (struct subscribers *subscribers, struct hub_monitor *from, struct text *bytes);
bool subscribers_questions_remain (const struct subscribers *subscribers);
bool subscribers_answer (struct subscribers *subscribers, const struct hub_monitor *to, const void *bytes, size_t len);
void subscribers_publish (struct subscribers *subscribers, const void *bytes, size_t len);
uint64_t subscribers_dropped_frames (
    const struct subscribers *subscribers); /* not questions, or from connections beyond a key's limit */

#endif

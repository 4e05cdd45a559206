/* events_client.h - a monitor's side of the events socket: a DEALER of czmq, with CURVE and every bound set before it
 * connects.
 *
 * Connects for ever. czmq keeps its hands off the process: no handler for signals, no variable ZSYS_*, errors on
 * standard error. The first one that is opened sees to that, and czmq's context then stays until the process exits: no
 * process of ours that listens has a hub, whose context is another. One thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_EVENTS_CLIENT_H
#define SLICEUP_COORDINATOR_MONITOR_EVENTS_CLIENT_H

#include "common/io/link.h"

struct events_client;
struct events_client *events_client_open (const char *address, uint16_t events_port, const char *hub_public_key,
                                          const struct link_keys *keys, struct err *err);
void events_client_close (struct events_client *listener);
/* Connects anew: libzmq gives a connection up for good when something else answered at the port for a while. */
void events_client_reconnect (struct events_client *listener);
/* At most QUESTION_MAX_BYTES. False: there is no connection now. Whoever does not ask hears nothing. */
bool events_client_ask (struct events_client *listener, const void *bytes, size_t len);
/* Answers, and events of the last 10 s of asking. False: nothing of use is there. `bytes` live until the next call. */
bool events_client_receive (struct events_client *listener, struct text *bytes);
/* Until there may be something, a signal came, or so long. */
void events_client_wait (struct events_client *listener, uint32_t most_ms);

#endif

/* events_client.h - a monitor's side of the events socket: a DEALER of czmq, with CURVE and every bound set before it
 * connects.
 *
 * Reconnects for ever. The first one opened keeps czmq from changing the process: no handler for signals, no variable
 * ZSYS_*, errors on standard error. czmq's context then stays until exit, beside no other: a process of ours that
 * listens has no hub. One thread. */
#ifndef SLICEUP_COORDINATOR_MONITOR_EVENTS_CLIENT_H
#define SLICEUP_COORDINATOR_MONITOR_EVENTS_CLIENT_H

#include "common/io/link.h"

struct events_client;
struct events_client *events_client_open (const char *address, uint16_t events_port, const char *hub_public_key,
                                          const struct link_keys *keys, struct err *err);
void events_client_close (struct events_client *listener);
/* Connects anew, because libzmq gives up a connection for good if something else answered at the port. */
void events_client_reconnect (struct events_client *listener);
/* Sends at most QUESTION_MAX_BYTES. False: not connected now. Without questions no events come. */
bool events_client_ask (struct events_client *listener, const void *bytes, size_t len);
/* Answers, and events for 10 s after each question. False: nothing useful now. `bytes` live until the next call. */
bool events_client_receive (struct events_client *listener, struct text *bytes);
/* Waits until something may be there, for a signal, or `most_ms`. */
void events_client_wait (struct events_client *listener, uint32_t most_ms);

#endif

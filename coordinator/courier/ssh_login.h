/* ssh_login.h - an authenticated ssh session with one server: key exchange, host key, authentication; in this order,
 * each a step.
 *
 * It uses only its arguments and reads no ssh configuration of the user. It blocks on the server; the watchdog bounds
 * that. A server too busy to greet (MaxStartups) is tried again. */
#ifndef SLICEUP_COORDINATOR_COURIER_SSH_LOGIN_H
#define SLICEUP_COORDINATOR_COURIER_SSH_LOGIN_H

#include "coordinator/courier/transport.h"
#include <libssh/libssh.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ssh_login {
    const char *address;
    const char *host_key_alias; /* the name under which the host key is known; "": address and port */
    int alias_fd;               /* ssh_login_open's */
    const char *user;           /* "": whoever runs the courier */
    uint16_t port;
    const struct request_ssh *ssh;
    struct reporter *reporter;
    uint64_t until_ms; /* BOOTTIME */
};

/* Connects by itself if `fd` is -1. The caller owns the session and ends it with ssh_login_close, which closes the
 * descriptor, also the given one. NULL on error: then both are closed. */
ssh_session ssh_login_open (const struct ssh_login *login, int fd, struct err *err);
void ssh_login_close (ssh_session session);

/* authentication.c - once the host key is checked: an error has what was tried, and what the server allows. */
int ssh_authenticate (ssh_session session, const char *user, const struct request_ssh *ssh, struct err *err);
/* Runs a command in a session's channel, as root if the request says so: an error has sudo's words. */
int ssh_run (ssh_session session, ssh_channel channel, const struct request_ssh *ssh, const char *command,
             struct err *err);
/* host_key.c - checks the host key, after the key exchange and before anything else is sent.
 * Both libssh and our own reading of the file must accept the key, because libssh 0.10 ignores "@revoked" lines and
 * negated patterns. Nothing is ever added to the file. */

/* Call it before the file is read: checks that it is a regular file of a plausible size. */
int host_key_file_check (const char *known_hosts, struct err *err);
/* libssh refuses host names with '_', '+' or '/', which gcloud's aliases may hold. So it gets a file in memory: the
 * alias's lines, under this name instead. The caller owns the descriptor; -1 on error. */
#define HOST_KEY_ALIAS_STAND_IN "alias"
int host_key_alias_file (const char *known_hosts, const char *alias, struct err *err);
/* `name`: as in the file. A remark reports the key of a host that the file lacks. */
int host_key_check (ssh_session session, const struct ssh_login *login, const char *name, uint16_t port,
                    struct err *err);

/* jump.c - opens a connection through a jump host: a separate session on its own thread, available as a socket.
 * The jump host is checked like any other before anything is sent to it. No two threads use one session: the thread
 * takes over the one to the jump host. jump_close ends the connection, and waits for the thread within a bound. */

struct jump;
/* `login` is for the jump host. *fd: a socket that carries the connection to address:port; the caller owns it. */
struct jump *jump_open (const struct ssh_login *login, const char *address, uint16_t port, int *fd, struct err *err);
void jump_close (struct jump *jump);
int jump_fd (const struct jump *jump); /* of the connection to the jump host; borrowed */

/* ssh_login.c: connects over TCP to an address by name. Waits until `until_ms` at most (the watchdog bounds the name
 * service). It knows nothing of ssh. The caller owns the descriptor; non-blocking, close-on-exec. */
/* Tries the addresses in turn, in steps `resolve` and `connect`. Returns the descriptor or -1. */
int dial (const char *address, uint16_t port, uint64_t until_ms, struct reporter *reporter, struct err *err);
/* A peer that vanished is noticed within about so long, idle or not (tcp(7)). One that carries a link must be noticed
 * before its host is lost (limits.lost, 30 s by default). */
enum { PEER_LOST_S = 30, PEER_LOST_CARRIED_S = 12 };
void dial_watch_peer (int fd, uint32_t within_s);
/* This machine's address in a connection, as a number. */
int dial_local_address (int fd, char out[DIAL_ADDRESS_BYTES], struct err *err);

/* ---- pump ---- */

/* Moves bytes between a socket and an ssh channel, both ways, without waiting.
 *
 * The owner polls and calls pump_move until nothing moves: reading one channel also buffers packets of others, which
 * poll does not report again. Only the thread that has the channel's session may call this. */

/* The largest ssh packet (RFC 4253, 6.1); senders wait while this is full. */
enum { PUMP_CHUNK_BYTES = 32 * 1024 };

struct pump_chunk {
    size_t at, len;
    char bytes[PUMP_CHUNK_BYTES];
};

struct pump {
    ssh_channel channel;
    int fd;                    /* non-blocking */
    struct pump_chunk out, in; /* to the channel, from the channel */
    bool fd_ended, channel_ended;
    uint64_t given_bytes; /* to the channel */
};

/* True: something moved, so more may. */
bool pump_move (struct pump *pump);
/* One side ended, and the other has what came before. */
bool pump_is_over (const struct pump *pump);
/* What to poll its socket and its session for. */
short pump_fd_events (const struct pump *pump);
short pump_session_events (const struct pump *pump);

#endif

/* remote_exec.h - `sliceup-worker exec`: one command of `sliceup exec` on its host.
 *
 * It reads frames (common/model/remote_command.h) from standard input and writes frames to standard output. The command
 * has the environment, directory, umask and rights of the login, no standard input, and one pipe for what it prints.
 * It is ended, with all that it started, when it took too long, when it is to stop, and when nobody can be heard any
 * more. No namespace is made: a command sees the processes of its host, and may use sudo. Exit status: 0 its end was
 * told, 1 it was not. */
#ifndef SLICEUP_WORKER_PROCESS_REMOTE_EXEC_H
#define SLICEUP_WORKER_PROCESS_REMOTE_EXEC_H

#include "common/base/err.h"
#include "common/base/mem.h"

/* What a coordinator waits for before it sends the command. */
#define REMOTE_EXEC_ANSWER "{\"sliceup-worker\":1,\"exec\":true}\n"

int remote_exec_main (int argc, char **argv);

#endif

/* remote_exec.h - `sliceup-worker exec`: one command of `sliceup exec` on its host.
 *
 * It reads frames (common/model/remote_command.h) from standard input and writes frames to standard output. The command
 * has the environment, directory, umask and rights of the login, no standard input, and one pipe for its output. It is
 * ended, with all that it started, at its timeout, at a stop, and when nothing is received any more. It makes no
 * namespace: a command sees the processes of its host, and may use sudo. Exit status: 0 it reported the command's end,
 * 1 it could not. */
#ifndef SLICEUP_WORKER_PROCESS_REMOTE_EXEC_H
#define SLICEUP_WORKER_PROCESS_REMOTE_EXEC_H

/* What a coordinator waits for before it sends the command. */
#define REMOTE_EXEC_ANSWER "{\"sliceup-worker\":1,\"exec\":true}\n"

int remote_exec_main (int argc, char **argv);

#endif

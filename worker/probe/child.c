#include "worker/probe/child.h"

#include "worker/probe/child_report.h"
#include "worker/probe/option.h"
#include "worker/probe/program.h"
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { EXIT_SAID = 0, EXIT_WRONG = 1, EXIT_NOT_READY = 3 };

/* A crash must end it by the signal: a handler that came with us would hide which one it was. Descriptors that came
 * with us are not the plugin's: a lock that it took along would stay held. */
static bool prepare (void)
{
    static const int deadly[] = { SIGSEGV, SIGBUS, SIGABRT, SIGILL, SIGFPE, SIGTRAP, SIGSYS };
    struct rlimit none = { 0, 0 };
    for (size_t i = 0; i < sizeof deadly / sizeof deadly[0]; i++)
        if (signal (deadly[i], SIG_DFL) == SIG_ERR)
            return false;
    return prctl (PR_SET_PDEATHSIG, SIGKILL) == 0 && setrlimit (RLIMIT_CORE, &none) == 0 &&
           fcntl (REPORTER_FD, F_SETFD, FD_CLOEXEC) == 0 && close_range (REPORTER_FD + 1, ~0U, 0) == 0;
}

static int tell_memory (struct program *program)
{
    child_report_step (STAGE_MEMORY);
    return pjrt_client_report_memory (program->client) < 0 ? -1 : program_report_memory (program);
}

static int use (struct plugin *plugin, const struct pjrt_named_value *options, size_t options_n)
{
    struct client client;
    struct program program;
    if (pjrt_client_open (&client, plugin, options, options_n) < 0)
        return -1;
    if (program_run (&program, &client) < 0 || program_reload_and_run (&program) < 0 || tell_memory (&program) < 0)
        return -1;
    child_report_step (STAGE_CLOSE);
    return program_close (&program) < 0 ? -1 : pjrt_client_close (&client);
}

void probe_child (const char *path, bool client, char *const *options)
{
    struct pjrt_named_value values[OPTIONS_MAX];
    struct plugin plugin;
    struct err err = { 0 };
    size_t n = 0;
    if (!prepare ())
        _exit (EXIT_NOT_READY);
    while (options[n] && n < OPTIONS_MAX) {
        if (option_read (options[n], &values[n], &err) < 0) {
            child_report_wrong (OWNER_LAUNCH, "%s", err.text);
            _exit (EXIT_WRONG);
        }
        n++;
    }
    if (plugin_open (&plugin, path) < 0 || plugin_initialize (&plugin) < 0 || (client && use (&plugin, values, n) < 0))
        _exit (EXIT_WRONG);
    child_report_done ();
    _exit (EXIT_SAID);
}

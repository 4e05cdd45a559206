#include "worker/attempt/command.h"

#include "worker/facts/host_fact_list.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const inherited[] = { "PATH", "LANG", "TZ", "TMPDIR" };
static const char *const network[] = { "HOME",         "http_proxy",        "https_proxy", "no_proxy",
                                       "HTTP_PROXY",   "HTTPS_PROXY",       "NO_PROXY",    "SSL_CERT_FILE",
                                       "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE" };
#define PATH_DEFAULT "/usr/local/bin:/usr/bin:/bin"

void environ_set (struct environ_list *list, struct text name, struct text value)
{
    struct var *known = LIST_FIND (list->vars, struct var, name, name);
    assert (name.len && (known || list->vars.n < ENVIRON_MAX));
    struct var *var = known ? known : &list->vars.items[list->vars.n++];
    *var = (struct var){ name, value };
}

static void inherit (struct environ_list *list, const char *name)
{
    const char *value = getenv (name);
    if (value)
        environ_set (list, text_of (name), text_of (value));
}

void environ_begin (struct environ_list *list, struct arena *arena)
{
    *list = (struct environ_list){ .arena = arena };
    list->vars.items = arena_array (arena, ENVIRON_MAX, sizeof list->vars.items[0]);
    environ_set (list, TEXT_LIT ("PATH"), TEXT_LIT (PATH_DEFAULT));
    for (size_t i = 0; i < sizeof inherited / sizeof inherited[0]; i++)
        inherit (list, inherited[i]);
}

void environ_inherit (struct environ_list *list, const text_list *names)
{
    char name[NAME_MAX_BYTES + 1];
    for (uint32_t i = 0; i < names->n; i++)
        if (text_to_c (names->items[i], name, sizeof name) && getenv (name))
            environ_set (list, names->items[i], text_of (getenv (name)));
}

void environ_add_pip_vars (struct environ_list *list)
{
    for (size_t i = 0; i < sizeof network / sizeof network[0]; i++)
        inherit (list, network[i]);
    for (char **entry = environ; *entry && list->vars.n < VARS_MAX; entry++) {
        const char *equals = strchr (*entry, '=');
        if (equals && strncmp (*entry, "PIP_", 4) == 0)
            environ_set (list, (struct text){ *entry, (uint32_t) (equals - *entry) }, text_of (equals + 1));
    }
}

static bool is_of_host (struct text name)
{
    return runtime_variables_contain (name) || text_starts (name, "GCE_METADATA_") ||
           text_is (name, "KUBERNETES_SERVICE_HOST");
}

void environ_add_runtime_vars (struct environ_list *list)
{
    for (char **entry = environ; *entry && list->vars.n < 2 * VARS_MAX; entry++) {
        const char *equals = strchr (*entry, '=');
        struct text name = { *entry, equals ? (uint32_t) (equals - *entry) : 0 };
        if (name.len && is_of_host (name))
            environ_set (list, name, text_of (equals + 1));
    }
}

int environ_set_all (struct environ_list *list, const var_list *vars, struct err *err)
{
    for (uint32_t i = 0; i < vars->n; i++) {
        struct text name = vars->items[i].name;
        if (!name.len || memchr (name.ptr, '=', name.len))
            return err_set (err, ERR_PARSE, "'%.*s' is not a valid name of an environment variable", TEXT_ARG (name));
    }
    for (uint32_t i = 0; i < vars->n; i++)
        environ_set (list, vars->items[i].name, vars->items[i].value);
    return 0;
}

struct text environ_get (const struct environ_list *list, const char *name)
{
    const struct var *var = LIST_FIND (list->vars, struct var, name, text_of (name));
    return var ? var->value : (struct text){ 0 };
}

char **environ_block (const struct environ_list *list)
{
    char **block = arena_array (list->arena, list->vars.n + 1, sizeof *block);
    for (uint32_t i = 0; i < list->vars.n; i++) {
        const struct var *var = &list->vars.items[i];
        struct text entry = text_format (list->arena, "%.*s=%.*s", TEXT_ARG (var->name), TEXT_ARG (var->value));
        block[i] = (char *) entry.ptr;
    }
    return block;
}

static bool environ_is_program (const char *path)
{
    struct stat status;
    return stat (path, &status) == 0 && S_ISREG (status.st_mode) && access (path, X_OK) == 0;
}

int environ_find_program (const struct environ_list *list, struct text name, struct text *path, struct err *err)
{
    if (name.len && memchr (name.ptr, '/', name.len)) {
        *path = text_copy (list->arena, name);
        return 0;
    }
    struct text rest = environ_get (list, "PATH");
    while (rest.len) {
        struct text folder = text_take_until (&rest, ':');
        struct text found = text_format (list->arena, "%.*s/%.*s", TEXT_ARG (folder), TEXT_ARG (name));
        if (folder.len && folder.ptr[0] == '/' && environ_is_program (found.ptr)) {
            *path = found;
            return 0;
        }
    }
    struct text searched = environ_get (list, "PATH");
    return err_set (err, ERR_STATE, "%.*s was not found along PATH (%.*s)", TEXT_ARG (name), TEXT_ARG (searched));
}

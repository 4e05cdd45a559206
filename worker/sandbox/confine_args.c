#include "worker/sandbox/confine.h"

#include <string.h>

enum { ABI_ANY = INT32_MAX, DESCRIPTOR_MAX = 1 << 20 };

static bool confine_args_is_path (const char *text)
{
    size_t len = strlen (text);
    return text[0] == '/' && len > 1 && len <= PATH_MAX_BYTES && !strstr (text, "/../") &&
           !(len >= 3 && strcmp (text + len - 3, "/..") == 0);
}

static int take_path (const char *name, const char *value, const char **out, struct err *err)
{
    if (!confine_args_is_path (value))
        return err_set (err, ERR_USAGE, "%s is \"%.200s\"; expected an absolute path without \"..\"", name, value);
    *out = value;
    return 0;
}

static int confine_args_take_word (const char *name, const char *value, const struct enum_names *of, uint32_t *out,
                                   struct err *err)
{
    if (!enum_value_of (of, text_of (value), out))
        return err_set (err, ERR_USAGE, "%s is \"%.40s\", which is not a value that it can have", name, value);
    return 0;
}

static int confine_args_take_number (const char *name, const char *value, int *out, struct err *err)
{
    uint64_t number;
    if (!text_to_u64 (text_of (value), &number) || number > DESCRIPTOR_MAX)
        return err_set (err, ERR_USAGE, "%s is \"%.40s\"; expected a small number", name, value);
    *out = (int) number;
    return 0;
}

static int take_listed (const char *name, const char *value, const char **list, uint32_t *n, uint32_t max,
                        struct err *err)
{
    if (*n == max)
        return err_set (err, ERR_USAGE, "%s is given more than %u times", name, max);
    return take_path (name, value, &list[(*n)++], err);
}

static int confine_args_take_option (struct confine_args *args, const char *name, const char *value, struct err *err)
{
    const struct {
        const char *name;
        const char **at;
    } paths[] = {
        { "--root", &args->root },           { "--bundle", &args->bundle },         { "--scratch", &args->scratch },
        { "--place", &args->place },         { "--generation", &args->generation }, { "--base", &args->base },
        { "--directory", &args->directory },
    };
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        if (strcmp (name, paths[i].name) == 0)
            return take_path (name, value, paths[i].at, err);
    if (strcmp (name, "--role") == 0)
        return confine_args_take_word (name, value, &cache_role_names, (uint32_t *) &args->role, err);
    if (strcmp (name, "--least") == 0)
        return confine_args_take_word (name, value, &enforcement_names, (uint32_t *) &args->least, err);
    if (strcmp (name, "--most") == 0)
        return confine_args_take_word (name, value, &enforcement_names, (uint32_t *) &args->most, err);
    if (strcmp (name, "--landlock-abi") == 0)
        return confine_args_take_number (name, value, &args->landlock_abi, err);
    if (strcmp (name, "--report") == 0)
        return confine_args_take_number (name, value, &args->report_fd, err);
    if (strcmp (name, "--writable") == 0)
        return take_listed (name, value, args->writable, &args->writable_n, WRITABLE_MAX, err);
    if (strcmp (name, "--protected") == 0)
        return take_listed (name, value, args->protected, &args->protected_n, CONFINE_PROTECTED_MAX, err);
    if (strcmp (name, "--hidden") == 0)
        return take_listed (name, value, args->hidden, &args->hidden_n, CONFINE_HIDDEN_MAX, err);
    return err_set (err, ERR_USAGE, "%.40s is not an option of confine", name);
}

static int confine_args_check (const struct confine_args *args, struct err *err)
{
    bool apart = args->role == CACHE_ROLE_NONE;
    if (!args->root || !args->bundle || !args->scratch)
        return err_set (err, ERR_USAGE, "confine needs --root, --bundle and --scratch");
    if (apart && (args->place || args->generation || args->base || args->overlay))
        return err_set (err, ERR_USAGE, "--place, --generation, --base and --overlay need --role");
    if (!apart && !args->place && !args->generation)
        return err_set (err, ERR_USAGE, "confine needs --place or --generation");
    if (args->overlay && !args->place)
        return err_set (err, ERR_USAGE, "--overlay needs --place, where programs find the overlay");
    if (args->program && !args->program[1])
        return err_set (err, ERR_USAGE, "expected the argv of the program after its path");
    return 0;
}

int confine_args_read (int argc, char **argv, struct confine_args *out, struct err *err)
{
    *out = (struct confine_args){
        .least = ENFORCEMENT_COOPERATIVE, .most = ENFORCEMENT_STORAGE, .landlock_abi = ABI_ANY, .report_fd = -1
    };
    int i = 1;
    while (i < argc && strcmp (argv[i], "--") != 0) {
        if (strcmp (argv[i], "--overlay") == 0) {
            out->overlay = true;
            i++;
            continue;
        }
        if (i + 1 == argc)
            return err_set (err, ERR_USAGE, "%.40s needs a value", argv[i]);
        if (confine_args_take_option (out, argv[i], argv[i + 1], err) < 0)
            return -1;
        i += 2;
    }
    if (i < argc)
        out->program = argv + i + 1;
    return i + 1 == argc ? err_set (err, ERR_USAGE, "there is no program after --") : confine_args_check (out, err);
}

void confine_args_restore_environ (char **envp)
{
    for (; *envp; envp++)
        if (strncmp (*envp, CONFINE_KEPT_PREFIX CONFINE_LOADER_PREFIX,
                     strlen (CONFINE_KEPT_PREFIX CONFINE_LOADER_PREFIX)) == 0)
            *envp += strlen (CONFINE_KEPT_PREFIX);
}

#include "common/model/secret.h"

#include <string.h>
#include <strings.h>

#define HIDDEN "***"

static const char *const secrets[] = {
    "token", "key", "password", "passwd", "passphrase", "secret", "credential", "creds", "auth", "cookie",
};
/* Values of jax's own switches with "key" in their names (jax/_src/config.py: JAX_LEGACY_PRNG_KEY and others). */
static const char *const choices[] = {
    "0", "1", "true", "false", "True", "False", "on", "off", "allow", "warn", "error",
};

/* ---- by name ---- */

static bool secret_holds (struct text name, const char *word)
{
    size_t len = strlen (word);
    for (uint32_t i = 0; i + len <= name.len; i++)
        if (!strncasecmp (name.ptr + i, word, len))
            return true;
    return false;
}

bool name_is_of_secret (struct text name)
{
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (secret_holds (name, secrets[i]))
            return true;
    return false;
}

bool name_is_of_proxy (struct text name)
{
    static const char end[] = "_proxy";
    size_t len = sizeof end - 1;
    return name.len > len && !strncasecmp (name.ptr + name.len - len, end, len);
}

/* ---- addresses ---- */

/* Where the address that begins at `from` ends: RFC 3986, authority. */
static uint32_t authority_end (struct text value, uint32_t from)
{
    while (from < value.len && !strchr ("/?#,; \t\r\n\"'", value.ptr[from]))
        from++;
    return from;
}

struct text secret_redact_url (struct arena *arena, struct text value)
{
    if (!text_find (value, TEXT_LIT ("://"), NULL))
        return value;
    struct buf shown = { .max = (size_t) value.len * 4 + 1 };
    while (value.len) {
        uint32_t at, end;
        if (!text_find (value, TEXT_LIT ("://"), &at))
            break;
        end = authority_end (value, at + 3);
        const char *sign = memrchr (value.ptr + at + 3, '@', end - at - 3);
        buf_add (&shown, value.ptr, at + 3);
        if (sign)
            buf_puts (&shown, HIDDEN);
        else
            sign = value.ptr + at + 3;
        value = (struct text){ sign, (uint32_t) (value.ptr + value.len - sign) };
    }
    buf_add_text (&shown, value);
    return buf_finish (&shown, arena);
}

/* A proxy's value may lack "http://" and have any password. */
static struct text proxy_cut (struct arena *arena, struct text value)
{
    const char *sign = value.len ? memrchr (value.ptr, '@', value.len) : NULL;
    uint32_t at;
    if (!sign)
        return value;
    struct text scheme = { value.ptr, text_find (value, TEXT_LIT ("://"), &at) && value.ptr + at < sign ? at + 3 : 0 };
    struct text rest = { sign, (uint32_t) (value.ptr + value.len - sign) };
    return text_format (arena, "%.*s" HIDDEN "%.*s", TEXT_ARG (scheme), TEXT_ARG (rest));
}

/* ---- variables ---- */

struct text secret_redact_var (struct arena *arena, const struct var *var)
{
    if (name_is_of_secret (var->name) && !text_is_word (var->value, choices, sizeof choices / sizeof *choices))
        return TEXT_LIT ("present");
    return name_is_of_proxy (var->name) ? proxy_cut (arena, var->value) : secret_redact_url (arena, var->value);
}

struct text secret_redact_word (struct arena *arena, struct text word)
{
    for (uint32_t i = 0; i < word.len; i++) {
        struct var var = { { word.ptr, i }, { word.ptr + i + 1, word.len - i - 1 } };
        if (word.ptr[i] != '=' || (!name_is_of_secret (var.name) && !name_is_of_proxy (var.name)))
            continue;
        struct text shown = secret_redact_var (arena, &var);
        return text_format (arena, "%.*s=%.*s", TEXT_ARG (var.name), TEXT_ARG (shown));
    }
    return secret_redact_url (arena, word);
}

var_list secret_redact_vars (struct arena *arena, const var_list *vars)
{
    var_list out = { arena_array (arena, vars->n, sizeof *out.items), vars->n };
    for (uint32_t i = 0; i < vars->n; i++) {
        struct text shown = secret_redact_var (arena, &vars->items[i]);
        out.items[i] = (struct var){ vars->items[i].name, text_clip (shown, TEXT_MAX_BYTES) };
    }
    return out;
}

/* ---- values in what programs print ---- */

enum { SECRET_LEAST_BYTES = 6 };

static struct text without (struct arena *arena, struct text text, struct text value)
{
    uint32_t at;
    while (text_find (text, value, &at))
        text = text_format (arena, "%.*s***%.*s", (int) at, text.ptr, (int) (text.len - at - value.len),
                            text.ptr + at + value.len);
    return text;
}

static struct text without_all (struct arena *arena, struct text text, const var_list *vars)
{
    for (uint32_t i = 0; i < vars->n; i++)
        if (name_is_of_secret (vars->items[i].name) && vars->items[i].value.len >= SECRET_LEAST_BYTES)
            text = without (arena, text, vars->items[i].value);
    return text;
}

struct text secret_redact_values (struct arena *arena, const struct profile *profile, struct text text)
{
    if (text.len == 0) /* as most are: of what passed */
        return text;
    text = without_all (arena, text, &profile->env);
    text = without_all (arena, text, &profile->host_env.set);
    return secret_redact_url (arena, without_all (arena, text, &profile->slice_env.set));
}

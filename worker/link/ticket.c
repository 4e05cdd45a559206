#include "worker/link/ticket.h"

#include "common/io/private_file.h"
#include <jansson.h>
#include <string.h>

static bool take_text (const json_t *object, const char *name, char *out, size_t out_bytes)
{
    const json_t *value = json_object_get (object, name);
    struct text text = { json_string_value (value), (uint32_t) json_string_length (value) };
    return json_is_string (value) && text.len > 0 && text_to_c (text, out, out_bytes);
}

static bool take_name (const json_t *object, const char *name, char *out, size_t out_bytes)
{
    return take_text (object, name, out, out_bytes) && host_name_valid (text_of (out));
}

static bool take_port (const json_t *object, const char *name, uint16_t *port)
{
    json_int_t number = json_integer_value (json_object_get (object, name));
    *port = (uint16_t) number;
    return number > 0 && number <= UINT16_MAX;
}

static bool take_key (const json_t *object, const char *name, char out[LINK_KEY_BYTES])
{
    return take_text (object, name, out, LINK_KEY_BYTES) && strlen (out) == LINK_KEY_BYTES - 1;
}

/* The member that is not what it should be; NULL: all are. */
static const char *take_all (const json_t *object, struct ticket *ticket)
{
    if (json_integer_value (json_object_get (object, "sliceup-ticket")) != 1)
        return "sliceup-ticket";
    if (!take_name (object, "slice", ticket->slice, sizeof ticket->slice))
        return "slice";
    if (!take_name (object, "host", ticket->host, sizeof ticket->host))
        return "host";
    if (!take_text (object, "address", ticket->address, sizeof ticket->address))
        return "address";
    if (!take_port (object, "control_port", &ticket->control_port))
        return "control_port";
    if (!take_port (object, "bulk_port", &ticket->bulk_port))
        return "bulk_port";
    if (!take_key (object, "coordinator_key", ticket->coordinator_key))
        return "coordinator_key";
    if (!take_key (object, "public_key", ticket->keys.public_key))
        return "public_key";
    return take_key (object, "secret_key", ticket->keys.secret_key) ? NULL : "secret_key";
}

static int parse (const struct buf *file, const char *path, struct ticket *ticket, struct err *err)
{
    json_t *object = json_loadb ((const char *) file->ptr, file->len, JSON_REJECT_DUPLICATES, NULL);
    const char *wrong = json_is_object (object) ? take_all (object, ticket) : NULL;
    int rc = 0;
    if (!json_is_object (object))
        rc = err_set (err, ERR_PARSE, "%s is not a ticket: expected a JSON object, as sliceup ticket writes it", path);
    else if (wrong)
        rc = err_set (err, ERR_PARSE,
                      "this version cannot read the ticket %s: %s is missing or not valid; write a new ticket with "
                      "sliceup ticket",
                      path, wrong);
    json_decref (object);
    return rc;
}

int ticket_load (struct ticket *ticket, const char *path, struct err *err)
{
    struct buf file;
    struct ticket found = { 0 };
    buf_init (&file, TICKET_FILE_MAX_BYTES);
    int rc = private_file_read (path, &file, err);
    if (rc == 0)
        rc = parse (&file, path, &found, err);
    if (rc == 0)
        *ticket = found;
    if (file.ptr)
        explicit_bzero (file.ptr, file.len);
    buf_release (&file);
    explicit_bzero (&found, sizeof found);
    return rc;
}

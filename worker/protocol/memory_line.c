/* memory_line.c - see memory_line.h. */
#include "worker/protocol/memory_line.h"

static int read_bytes (const json_t *line, const char *member, bool needed, uint64_t *out, struct err *err)
{
    const json_t *value = json_object_get (line, member);
    *out = 0;
    if (!value && !needed)
        return 0;
    if (!json_is_integer (value) || json_integer_value (value) < 0)
        return err_set (err, ERR_PARSE, "%s: expected a whole number from 0", member);
    *out = (uint64_t) json_integer_value (value);
    return 0;
}

static void raise_to (uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

int memory_line_take (const json_t *line, struct result *result, struct err *err)
{
    uint64_t peak, predicted, device_peak;
    if (read_bytes (line, "peak_bytes", true, &peak, err) < 0 ||
        read_bytes (line, "predicted_bytes", false, &predicted, err) < 0 ||
        read_bytes (line, "device_peak_bytes", false, &device_peak, err) < 0)
        return -1;
    raise_to (&result->peak_bytes, peak);
    raise_to (&result->predicted_bytes, predicted);
    raise_to (&result->device_peak_bytes, device_peak);
    return 0;
}

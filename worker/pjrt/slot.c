/* slot.c - finds a function in a plugin's table. */
#include "worker/pjrt/pjrt.h"

#include <string.h>

pjrt_fn *pjrt_function (const struct pjrt_api *api, size_t slot)
{
    pjrt_fn *function = NULL;
    if (slot + sizeof function <= api->struct_size)
        memcpy (&function, (const char *) api + slot, sizeof function);
    return function;
}

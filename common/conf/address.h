/* address.h - checks the form of host names, addresses and user names.
 *
 * Strict on purpose: these words become arguments of programs, lines for a host and endpoints. Good words never begin
 * with '-', hold a blank, or mean anything to a shell. Knows the form only: resolves nothing. Pure, any thread. */
#ifndef SLICEUP_COMMON_CONF_ADDRESS_H
#define SLICEUP_COMMON_CONF_ADDRESS_H

#include "common/base/text.h"

bool address_is_good (struct text address); /* a host name, an IPv4 or an IPv6 address */
bool address_is_any (struct text address);  /* 0.0.0.0 or ::, which stand for all addresses of a machine */
/* OpenSSH may keep a host key under any word without a blank, a comma or a wildcard. gcloud's hold '+' and '/'. */
bool host_key_alias_is_good (struct text alias);
bool port_is_good (struct text digits); /* 1 to 65535 */
bool jump_is_good (struct text jump);   /* [user@]host[:port], an IPv6 address in brackets */

#endif

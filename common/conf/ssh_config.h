/* ssh_config.h - what OpenSSH's ssh_config(5) says of a host, as far as sliceup takes it. Opens no file, runs nothing.
 *
 * Files become lines once, then each host is looked up in them: the first value obtained wins, and IdentityFile adds up. */
#ifndef SLICEUP_COMMON_CONF_SSH_CONFIG_H
#define SLICEUP_COMMON_CONF_SSH_CONFIG_H

#include "common/conf/yaml.h"

enum { SSH_CONFIG_DEPTH_MAX = 8 }; /* of files that include each other */

struct ssh_config_line {
    uint32_t key;
    bool told;           /* reported, for the first host that it concerns */
    struct yaml_node at; /* its text: the words behind the keyword, one a line */
};
struct ssh_config {
    struct problem_list *problems;
    struct text user, home; /* of who runs sliceup; empty: not known */
    /* Adds the files that a word of an Include names. */
    void (*include) (struct ssh_config *config, const struct yaml_node *word);
    struct ssh_config_line *lines; /* on the heap; its maker frees them */
    uint32_t n, room, depth, files, bytes;
    bool warned, failed; /* failed: reported, and no host can be looked up */
};
/* Appends the lines of a file; `from` says who wants it. */
void ssh_config_add (struct ssh_config *config, const char *file, struct text bytes, const struct yaml_node *from);

struct ssh_config_answer {
    struct text name;                   /* as ssh would be given it */
    struct text host;                   /* the name, or what HostName made of it, in small letters */
    uint32_t said;                      /* bits of enum ssh_said: decided already, as is every text that is not empty */
    struct text text[SAID_N];           /* IDENTITIES: one a line */
    struct ssh_config_line *of[SAID_N]; /* the line that said it, of several the last; NULL: none did */
    bool refused;                       /* reported: the host cannot be reached as the files say */
};
void ssh_config_ask (struct ssh_config *config, struct ssh_config_answer *answer);

#endif

/* draft.h - a plan being put together: one load, from the slice file to the finished plan.
 *
 * Each noun of the plan has a file with one step here. A step reads values, reports what is wrong, and leaves its part
 * of the plan empty if it is wrong; later steps skip empty parts, so one mistake is reported once. */
#ifndef SLICEUP_COMMON_CONF_DRAFT_H
#define SLICEUP_COMMON_CONF_DRAFT_H

#include "common/conf/conf_keys.h"
#include "common/conf/yaml.h"
#include "common/frontend/frontend.h"

/* ---- section ---- */

/* One map of a file read by its table of keys.
 *
 * Unknown keys, missing keys and values of the wrong kind or range become problems; the rest are typed values with
 * their places, for the rules between keys. */

struct conf_value {
    const struct yaml_node *node; /* where problems are shown: the value, or the whole map if the key is absent */
    bool given;
    bool good;        /* given or defaulted, and of the right kind, so `text` or `number` is valid */
    struct text text; /* NAME TEXT REFERENCE PATH FOLDER OWN_PATH HOSTS WORD */
    uint64_t number;  /* WORD: its number; BOOL NUMBER DURATION SIZE */
};

/* Fills values[section->keys_n]. -1: `map` is no map (reported); then no value is given or good. */
int section_read (const struct section_schema *section, const struct yaml_node *map, struct conf_value values[],
                  struct problem_list *problems);
/* The same for a key whose map may be absent: then all values are defaults, placed at `around`. */
int section_read_optional (const struct section_schema *section, const struct conf_value *value,
                           struct conf_value values[], struct problem_list *problems);
/* Are all given and all required values good? Others were reported. */
bool section_is_good (const struct section_schema *section, const struct conf_value values[]);
/* *first: the first item of a list that may be missing, or NULL. -1: not a list, or more than `max` items; reported as
 * "NAMES 17 ITEMS, expected at most 16". */
int section_list (const struct conf_value *list, uint32_t max, const char *names, const char *items,
                  struct problem_list *problems, const struct yaml_node **first);
/* Does the key take this value? `value` gets it. */
bool section_value_is_good (const struct conf_key *key, const struct yaml_node *node, struct conf_value *value);
/* [A-Za-z0-9._-], for names of hosts, rungs and files. */
bool name_is_good (struct text name);
/* A letter or '_', then letters, digits and '_'; at most `max_bytes`. */
bool identifier_is_good (struct text name, uint32_t max_bytes);
/* A path of this machine: absolute, or from "~", "." or "..". */
bool local_path_is_good (struct text path);
/* "4MiB": a whole number and B, KiB, MiB or GiB; false: not a size. */
bool size_parse (struct text text, uint64_t *bytes);

/* ---- draft ---- */

/* ---- source.c: a file that the configuration refers to: found, read within bounds, and hashed ----
 *
 * One rule for every reference: a word with '/' in it or ending in the extension is a path, relative to the folder of
 * the file that names it; anything else is a name in the share directory. Nothing is expanded or searched for. */

enum { SOURCE_MAX_BYTES = 1 << 20 };

struct conf_file_kind {
    const char *what;      /* "profile": for messages */
    const char *folder;    /* below the share directory */
    const char *extension; /* with its dot */
};
struct source {
    const char *shown; /* the path as people should see it in problems */
    struct file_ref ref;
    struct text bytes;
};

/* `at` has the reference as its text, and its place; paths are relative to the file of `at`. */
int source_read (struct source *source, const struct conf_file_kind *kind, const char *share_dir,
                 const struct yaml_node *at, struct problem_list *problems);
/* The path of `word`, which is relative to the folder of `file`. */
const char *source_beside (struct arena *arena, const char *file, struct text word);
/* `path` as it is when the working folder is not known. */
const char *source_absolute (const char *path, struct arena *arena);
/* Both: the path of this machine that `path` stands for in the file of `at`. */
const char *source_own_path (const struct yaml_node *at, struct text path, struct arena *arena);
/* The last part of a path without `extension`. */
struct text source_stem (struct text path, const char *extension);

/* ---- the draft ---- */

struct draft {
    const struct conf_options *options;
    struct arena *arena;
    struct problem_list *problems;
    struct plan plan;
    const struct yaml_node *root; /* of the slice file */
    struct conf_value slice[SLICE_KEYS];
    struct ssh_route route;          /* the way to hosts without an ssh map of their own */
    uint32_t ssh_said;               /* bits of enum ssh_said: what the slice file sets */
    bool ssh_config;                 /* the user's ssh configuration fills what it leaves open */
    bool jumps;                      /* some host is reached through another */
    bool executes;                   /* no canary is a copy of a preloaded interpreter */
    text_list excluded;              /* hosts taken out by `exclude`, --hosts, --exclude */
    const struct frontend *frontend; /* NULL: not known */
    var_list profile_args;
    floor_list profile_floors;
    /* Paths of configuration files that were read, resolved and as named, and of programs as named. */
    text_list read;
    bool needs_pins; /* a rung needs the environment */
    bool in_pods;    /* rehearsal: the slice file has launcher join */
    bool profile_good;
};

/* In this order. */
int draft_slice (struct draft *draft); /* -1: the slice file cannot be read (reported) */
void draft_start (struct draft *draft);
void draft_hosts (struct draft *draft);
void draft_check_return_address (struct draft *draft);
void draft_machine (struct draft *draft);
void draft_profile (struct draft *draft);
void draft_mesh (struct draft *draft);
void draft_cache (struct draft *draft);
void draft_pins (struct draft *draft);
void draft_check_setup (struct draft *draft); /* after the ladder: is the setup script run? */
void draft_ladder (struct draft *draft);
void draft_climb (struct draft *draft);  /* after the hosts: when the climb goes on, and when it stops */
void draft_expect (struct draft *draft); /* after the ladder, since it changes rungs */
void draft_signatures (struct draft *draft);
void draft_bundles (struct draft *draft);
void draft_drift (struct draft *draft);
void draft_limits (struct draft *draft);
void draft_on_end (struct draft *draft);
void draft_protected_paths (struct draft *draft);

/* Part of draft_profile: takes devices, topology and the variables of a lone host from the machine type. */
void draft_take_machine (struct draft *draft, const struct conf_value profile[PROFILE_KEYS]);
void draft_check_megascale (struct draft *draft); /* of several slices, after hosts and profile */
/* 1: left out on purpose. */
int draft_rung (struct draft *draft, const struct yaml_node *node, struct rung *rung);
/* Part of draft_ladder, after its rungs, the first of which is `first`: --leave-out, --from and --only. */
void draft_choose_rungs (struct draft *draft, const struct yaml_node *first);
/* Checks that programs alone on a host of a larger TPU slice say so. After hosts, profile and ladder. */
void draft_check_alone (struct draft *draft);
/* The arguments of a rung that is the builtin probe; after its env and backend. */
void draft_probe_args (struct draft *draft, const struct yaml_node *node, const struct conf_value *args,
                       struct rung *rung);
/* The files that the rung's canary, read as `program`, needs on its host. */
int draft_kit (struct draft *draft, const struct yaml_node *canary, const struct source *program, struct rung *rung);
/* Reads a rung's command, after all its other keys; refuses `files` and `at_most` where they do not belong. */
void draft_command (struct draft *draft, const struct conf_value of[], struct rung *rung);
/* Reads a number written in digits; else reports that `what` is wrong and what was `expected`. */
int draft_number (struct draft *draft, const struct yaml_node *node, const char *what, const char *expected,
                  double least, double most, double *number);
/* The files that a command names and the modules that they import; `helper`: also our reporting module. */
struct kit_sources {
    struct source *items;
    uint32_t n;
};
int draft_command_kit (struct draft *draft, const struct yaml_node *command, const struct kit_sources *files,
                       bool helper, struct rung *rung);

/* Reads the map `min` of a rung or profile, `of` in words. */
void draft_floors (struct draft *draft, const struct conf_value *map, struct text of, floor_list *floors);

/* Adds to the rung's files a pack of the folder that `at` names. Its real path; NULL: reported. */
const char *draft_folder (struct draft *draft, const struct yaml_node *at, struct rung *rung);

/* "dense.batch=64" into its parts: names of arguments have no '.', those of rungs may. False: it is not of that form. */
bool draft_cut_arg (struct text given, struct text *rung, struct text *name, struct text *value);

/* Parts of a rehearsal; each does nothing for a run. */
void draft_rehearse_slice (struct draft *draft);
void draft_rehearse_hosts (struct draft *draft);
void draft_rehearse_cache (struct draft *draft, struct conf_value *root);
void draft_rehearse_profile (struct draft *draft);
/* Is a rung with this value of `rehearse` left out? */
bool draft_rehearse_leaves_out (const struct draft *draft, const struct conf_value *rehearse, enum warm warm);
void draft_sort_names (text_list *names);

/* Parts of draft_start: the sections of one launcher. */
void draft_ssh (struct draft *draft);
void draft_slurm (struct draft *draft);
/* Part of draft_hosts: fills what the slice file left open in routes from the user's ssh configuration. */
void draft_ssh_config (struct draft *draft, struct plan_host *hosts, uint32_t n);
/* Part of draft_pins: finds a wheel in the folder for every pin of the file. */
void draft_find_wheels (struct draft *draft, const struct yaml_node *at, struct text folder, struct text pin_bytes);
/* The route to one host: its own map, if any, overrides the slice's. */
void draft_ssh_route (struct draft *draft, const struct conf_value *given, struct ssh_route *route);
/* Do workers start on other machines? */
bool draft_is_remote (const struct draft *draft);
/* Reports a given key if the launcher is none of `launchers` (bits LAUNCHER_...). */
void draft_check_launcher_key (struct draft *draft, const struct conf_key *key, const struct conf_value *value,
                               unsigned launchers);
/* The names of a host set, in its order; "@name" stands for a group of the slice file. `once`: naming a host twice is
 * an error. -1: reported at `node`. */
int draft_host_set (struct draft *draft, const struct yaml_node *node, bool once, struct name_list *names);
/* Checks that every group is a host set, used or not. */
void draft_check_groups (struct draft *draft);

/* Notes a path in `read` as the user named it, so that programs cannot change the links on it. */
void draft_note_path (struct draft *draft, const char *path);
/* source_read, for a file of the configuration: it is noted in `read`. */
int draft_read_source (struct draft *draft, const struct conf_file_kind *kind, const struct yaml_node *at,
                       struct source *source);
/* Reads and parses the file that a reference names; NULL: reported. */
const struct yaml_node *draft_parse_referenced_file (struct draft *draft, const struct conf_file_kind *kind,
                                                     const struct yaml_node *reference, struct source *source);
/* Gives `read` each reference of a list of names and paths; reports other items, and too many. */
typedef void draft_reference_fn (void *owner, const struct yaml_node *reference);
void draft_each_reference (struct draft *draft, const struct yaml_node *names, const struct conf_file_kind *kind,
                           draft_reference_fn *read, void *owner);
/* A reference to `name` that no file contains, placed at `where`, the key or the map that lacks it. */
struct yaml_node draft_make_reference (const struct yaml_node *where, struct text name);
/* The reference of the command line, else of the slice's key; NULL: neither is given. */
const struct yaml_node *draft_choose_reference (struct draft *draft, uint32_t key, const char *given, const char *name);
/* The folder of relative paths on hosts: SLICEUP_HOME with launcher local, else `start.directory`. */
struct text draft_base_folder (const struct draft *draft);
/* Is ".." a part of it? */
bool draft_has_dotdot (struct text path);
/* An absolute `path` unchanged, else below draft_base_folder; empty: too long or leaves it with "..", reported. */
struct text draft_host_path (struct draft *draft, const struct conf_value *path);
/* A path of this machine with "~/" replaced by the home folder, "./" and "../" by that of the file of `node`; empty:
 * reported there. */
struct text draft_local_path (struct draft *draft, const struct yaml_node *node, struct text path);
/* A map of free names to single values or lists, as variables with JSON text; sorted by name. */
int draft_args (struct draft *draft, const struct yaml_node *map, var_list *args);
void draft_sort_vars (var_list *vars); /* by name */
/* Reads a list of names, each given once. */
int draft_names (struct draft *draft, const struct conf_value *list, uint32_t max, struct name_list *names);

/* ---- values as JSON ---- */

/* Turns a value of a configuration file into JSON, for the arguments of a canary.
 *
 * Plain true, false and JSON numbers keep their type, everything quoted is a string. What other YAML readers would take
 * for another type (yes, 0x10, 1_000, .5) is refused rather than guessed. */
enum { JSON_MAX_BYTES = TEXT_MAX_BYTES };

/* A scalar or a list of scalars; -1: reported. `name` is for the message. */
int yaml_to_json (const struct yaml_node *node, struct text name, struct text *json, struct problem_list *problems);

#endif

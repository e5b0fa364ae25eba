/* Sources: the table, and what stands for this machine. */
#include "counter/sources.h"

#include <string.h>

const struct pk_counter_env pk_counter_host = {.root = "/"};

const char *pk_counter_root(const struct pk_counter_env *env)
{
    return env->root ? env->root : "/";
}

const struct pk_source *const pk_sources[] = {
    &pk_source_memory, &pk_source_rusage, &pk_source_sw_events, &pk_source_fake, NULL,
};

const struct pk_source *pk_source_find(const char *name)
{
    for (const struct pk_source *const *s = pk_sources; *s; s++)
        if (!strcmp((*s)->name, name))
            return *s;
    return NULL;
}

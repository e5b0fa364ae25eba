/* Path: where the store is when nobody says. */
#include "store/store.h"

#include <stdlib.h>

enum pk_code pk_store_path(struct pk_arena *a, const char *option, const char **path, struct pk_err *err)
{
    const char *env = getenv("PERFKIT_DB"), *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (option && *option)
        *path = option;
    else if (env && *env)
        *path = env;
    else if (data && data[0] == '/') /* relative ones are to be ignored: XDG base directories 0.8 */
        *path = pk_printf(a, "%s/perfkit/perfkit.db", data);
    else if (home && *home)
        *path = pk_printf(a, "%s/.local/share/perfkit/perfkit.db", home);
    else {
        pk_fail(err, PK_E_USAGE, "no place for the store");
        pk_why(err, "neither --db nor PERFKIT_DB is given, and there is no XDG_DATA_HOME and no HOME");
        return pk_fix(err, "name a file: --db perfkit.db");
    }
    return PK_OK;
}

/* Match: room for what is found. */
#include "model/tree/match.h"

void pk_match_init(struct pk_match *m, const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_tree_count count;
    pk_tree_count(t, &count);
    *m = (struct pk_match){.cap = count.modules, .v = pk_new_n(a, struct pk_target, count.modules)};
}

/* Tree file: a user's own model, one leaf a line: its dotted path and its shape.
 *
 *   bert.encoder.layer.0.attention.self.query.weight (768, 768)
 *   lm_head.weight torch.Size([32000, 4096])
 *   scale ()
 * as `for n, p in model.named_parameters(): print(n, tuple(p.shape))` prints it. Blank lines and lines that begin with '#' are
 * skipped. Children whose names are 0, 1, ... make a sequence; every leaf gets a parameter node around it.
 * Errors name the file, the line, and what to do: an unreadable shape, an empty name, a path twice, a leaf that is also
 * a module, an index that is missing ("layer.2: a hole"), mixed names and indices, too deep, a path too
 * long, no leaf at all. */
#pragma once

#include "model/tree/tree.h"

enum pk_code pk_tree_read(const char *path, struct pk_arena *a, struct pk_tree *out,
                          struct pk_err *err) PK_MUST_CHECK;
/* The same from text; `name` is for messages. Fuzzed. */
enum pk_code pk_tree_parse(const char *name, const char *text, size_t n, struct pk_arena *a,
                           struct pk_tree *out, struct pk_err *err) PK_MUST_CHECK;
/* A copy of every node into `b`: what "create" means for a tree that was read. */
const struct pk_node *pk_tree_copy(const struct pk_node *root, struct pk_bump *b);

/* Recorded: a host of tests/machines as a root directory. */
#pragma once

void recorded_unpack(const char *name, const char *root);
void recorded_remove(const char *root);

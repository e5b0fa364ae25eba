/* Embed: text files that are part of the program (schema, tables), made into C by schema/embed.py. */
#pragma once

struct pk_embedded {
    const char *name; /* base name of the file; ends the array when NULL */
    const char *text;
};

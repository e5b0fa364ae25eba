/* Choices: a list, newest first. */
#include "device/choices.h"

#include "base/err.h"

#include <string.h>

struct pk_choice {
    struct pk_choice *next;
    const char *key, *value;
    const char *why; /* a given one was refused */
    bool made, reported;
};

static struct pk_choice *find(const struct pk_device *dev, const char *key)
{
    struct pk_choice *c = dev->choices;
    while (c && strcmp(c->key, key) != 0)
        c = c->next;
    return c;
}

static struct pk_choice *find_or_add(struct pk_device *dev, const char *key)
{
    struct pk_choice *c = find(dev, key);
    if (c)
        return c;
    c = pk_new(&dev->arena, struct pk_choice);
    *c = (struct pk_choice){.next = dev->choices, .key = pk_strdup(&dev->arena, key)};
    return dev->choices = c;
}

void pk_choice_give(struct pk_device *dev, const char *key, const char *value)
{
    struct pk_choice *c = find_or_add(dev, key);
    if (!c->made && (!c->value || strcmp(c->value, value) != 0))
        c->value = pk_strdup(&dev->arena, value);
}

const char *pk_choice_of(const struct pk_device *dev, const char *key)
{
    const struct pk_choice *c = find(dev, key);
    return c ? c->value : NULL;
}

void pk_choice_make(struct pk_device *dev, const char *key, const char *value, const char *why)
{
    pk_assert(strlen(key) <= PK_CHOICE_KEY_MAX && strlen(value) <= PK_CHOICE_VALUE_MAX);
    struct pk_choice *c = find_or_add(dev, key);
    c->value = pk_strdup(&dev->arena, value);
    c->why = why ? pk_strdup(&dev->arena, why) : NULL;
    c->made = true;
    c->reported = false;
}

void pk_choices_report(struct pk_device *dev, pk_fact_fn *fn, void *user)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (dev->notice.text && !dev->notice.reported)
        fn(user, dev->notice.key, dev->notice.text);
    dev->notice.reported = dev->notice.text != NULL;
    for (struct pk_choice *c = dev->choices; c; c = c->next) {
        if (!c->made || c->reported)
            continue;
        fn(user, pk_printf(&a, PK_CHOICE_PREFIX "%s", c->key), c->value);
        if (c->why)
            fn(user, "choice_warning",
               pk_printf(&a, "the stored choice for %s could not be used (%s): a new choice was made", c->key,
                         c->why));
        c->reported = true;
    }
}

/*
 * yaml.h - a YAML configuration as a flat list of key = value.
 *
 * Read with libyaml. Supported are mappings of scalars; sections (a mapping in a mapping, whose
 * keys become "section.key"); sequences of mappings (their keys become "list.0.key", "list.1.key"
 * and so on); sequences of scalars and of such sequences (all values joined by ","; in them a
 * comma becomes "\,", and a backslash "\\"); anchors, aliases and merge keys. The value null is an
 * empty text. Every value keeps its line number for errors. Duplicate keys and a second document
 * are errors. So is a file of more than 1 MiB, with more than 4096 keys, 1000 anchors and aliases,
 * or 16 levels, or whose values have more than 4 MiB after aliases are replaced. These bounds keep
 * the time linear in the size of the file.
 */
#pragma once

#include "common/base/base.h"

struct yaml_item {
    char *key, *value;
    int line; /* from 1 */
    int list; /* 1: a sequence's values, joined */
};

struct yaml {
    struct yaml_item *items;
    size_t count, cap;
};

/* yaml_load reads a file ("-" is stdin), yaml_parse the text[0..n); `name` stands for the file in
 * errors. Both set *y, and return 0, or -1 with an error that names file and line; *y is then
 * empty. */
int yaml_load(struct yaml *y, const char *path);
int yaml_parse(struct yaml *y, const char *text, size_t n, const char *name);
void yaml_release(struct yaml *y);
void yaml_remove(struct yaml *y, size_t i);      /* removes item i; the later items move up */
void yaml_drop(struct yaml *y, const char *key); /* the same for a key's item, if there is one */
struct yaml_item *yaml_find(const struct yaml *y, const char *key); /* the key's item, or NULL */
const char *yaml_get(const struct yaml *y, const char *key);        /* the key's value, or NULL */

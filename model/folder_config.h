/*
 * folder_config.h - config.json of the kinds of model, as folder.c reads and writes it.
 */
#ifndef TEXTMILL_FOLDER_CONFIG_H
#define TEXTMILL_FOLDER_CONFIG_H

#include "common/buf.h"
#include "common/js.h"
#include "model/model.h"

/* Numbers of the config's object: `absent` where the key is missing or null. -1 with an error. */
int config_count(int64_t *out, const struct js *root, const char *key, int64_t absent,
                 const char *path);
int config_real(double *out, const struct js *root, const char *key, double absent,
                const char *path);

/* A switch that only one value is supported of; a missing one has it. -1 with an error. */
int config_switch(const struct js *root, const char *key, int wanted, const char *path);

/* BERT (folder_bert.c): all but `kind`, which is what the folder's architecture says it is. */
int config_read_bert(struct model_config *c, const struct js *root, const char *path);
/* `type`: of the weights, as torch names it. */
void config_print_bert(struct buf *out, const struct model_config *c, const char *type);

#endif

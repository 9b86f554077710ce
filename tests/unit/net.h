/*
 * net.h - a small model of two layers, run through model.h, and the checks that every architecture
 * must pass: gradients equal differences, accumulate, can be set instead, and do not depend on the
 * number of threads; dropout follows its key.
 */
#pragma once

#include "model/network/model.h"
#include "model/network/split.h"

enum { NET_LAYERS = 2, NET_BLOCKS = NET_LAYERS + 2, NET_TOKENS = 33, NET_WIDTH = 20 };

struct net {
    struct ops *o;
    struct model m;
    struct batch b;
    float *w[NET_BLOCKS], *g[NET_BLOCKS];
    float *x[NET_LAYERS + 1], *cache[NET_LAYERS], *dx;
    struct inputs in; /* the inputs made from b, of the last forward */
    int first;        /* 1: the backward sets the gradients; 0: it adds to them */
    uint32_t ids[NET_TOKENS], segments[NET_TOKENS];
    int32_t labels[NET_TOKENS];
};

/* A function that sets n->b and the arrays to which it points, with at most NET_TOKENS tokens. */
typedef void net_fill(struct net *n);

/* Makes a model and its arrays. Parameters are random, with biases different from 0 and gains
 * different from 1; gradients are 0. */
void net_init(struct net *n, const struct model_config *c, net_fill *fill, int threads);
/* Does the same for one rank's part of the model (split.h); split NULL: the whole model. */
void net_init_part(struct net *n, const struct model_config *c, const struct split *split,
                   net_fill *fill, int threads);
void net_release(struct net *n);

void net_forward(struct net *n, int keep); /* runs embedding and layers: sets n->x and, if keep is
                                            * 1, n->cache */
/* Runs the head on the last n->x. Sets losses[] (and correct[], if not NULL) for the targets, one
 * part of the loss after the other. Returns the weighted sum of the losses. */
double net_head(struct net *n, float *losses, unsigned char *correct);
double net_loss(struct net *n);
/* Adds the gradients of scale * (sum of losses) to n->g. Returns the loss. */
double net_backward(struct net *n, double scale);

/* Compares the gradients with differences: the slope of the loss along each tensor's gradient. */
void net_check_gradients(const struct model_config *c, net_fill *fill);
/* Checks that a second backward adds to the gradients of the parameters. */
void net_check_accumulation(const struct model_config *c, net_fill *fill);
/* Checks that a backward with n->first does not depend on the old contents of the gradients. */
void net_check_beginning(const struct model_config *c, net_fill *fill);
/* Checks that gradients with bf16 products equal those with f32, as far as 8 bits allow. */
void net_check_bf16(const struct model_config *c, net_fill *fill);
/* Checks that the gradients have the same bits with any number of threads. */
void net_check_threads(const struct model_config *c, net_fill *fill, enum ops_type precision);
/* Checks that a forward without a cache gives the same bits as one with a cache. */
void net_check_evaluation(const struct model_config *c, net_fill *fill);
/* For a config with dropout: checks that the loss depends on the key, and that evaluation does not
 * drop anything. */
void net_check_dropout_key(const struct model_config *c, net_fill *fill);

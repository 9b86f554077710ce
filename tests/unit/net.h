/*
 * net.h - a model of two layers with all that a step needs, driven through model.h, and what is
 * asked of every model: gradients that differences show, that add up, that begin, that any number
 * of threads gives; dropout that follows its key.
 */
#ifndef TEXTMILL_NET_H
#define TEXTMILL_NET_H

#include "model/model.h"
#include "model/split.h"

enum { NET_LAYERS = 2, NET_BLOCKS = NET_LAYERS + 2, NET_TOKENS = 33, NET_WIDTH = 20 };

struct net {
    struct ops *o;
    struct model m;
    struct batch b;
    float *w[NET_BLOCKS], *g[NET_BLOCKS];
    float *x[NET_LAYERS + 1], *cache[NET_LAYERS], *dx;
    struct inputs in; /* of b, in the last forward */
    int first;        /* 1: backward sets the gradients */
    uint32_t ids[NET_TOKENS], segments[NET_TOKENS];
    int32_t labels[NET_TOKENS];
};

/* Sets n->b and the arrays that it points at, at most NET_TOKENS tokens. */
typedef void net_fill(struct net *n);

/* Parameters are random, biases and gains away from 0 and 1; gradients are 0. */
void net_init(struct net *n, const struct model_config *c, net_fill *fill, int threads);
/* The same of one rank's part of it; split NULL: the whole. */
void net_init_part(struct net *n, const struct model_config *c, const struct split *split,
                   net_fill *fill, int threads);
void net_release(struct net *n);

void net_forward(struct net *n, int keep); /* to n->x; keep: and n->cache */
/* Returns the weighted sum of losses; the targets' losses (and correct, if not NULL) part by part.
 */
double net_head(struct net *n, float *losses, unsigned char *correct);
double net_loss(struct net *n);
/* Gradients of scale * (sum of losses) are added to n->g. */
double net_backward(struct net *n, double scale);

/* The slope of the loss along each tensor's gradient. */
void net_check_gradients(const struct model_config *c, net_fill *fill);
/* A second backward adds to the gradients of parameters. */
void net_check_accumulation(const struct model_config *c, net_fill *fill);
/* A step's first backward does not see what stands in the gradients. */
void net_check_beginning(const struct model_config *c, net_fill *fill);
/* Gradients by bf16 products are those by f32, as far as 8 bits show. */
void net_check_bf16(const struct model_config *c, net_fill *fill);
/* To the bit: every sum has one order. */
void net_check_threads(const struct model_config *c, net_fill *fill, enum ops_type precision);
/* Forward that keeps nothing gives what forward gives that keeps what backward needs. */
void net_check_evaluation(const struct model_config *c, net_fill *fill);
/* Of a config with dropout. */
void net_check_dropout_key(const struct model_config *c, net_fill *fill);

#endif

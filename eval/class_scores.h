/*
 * class_scores.h - GLUE's measures of predictions: accuracy, F1, Matthews correlation; for numbers
 * Pearson's and Spearman's correlation. They are those of scikit-learn and scipy.
 */
#pragma once

#include "common/base/base.h"

struct class_scores {
    double accuracy;
    /* Two classes: the F1 of class 1. More: the mean of the F1 of all classes that occur. The F1 is
     * 0 where nothing is right. */
    double f1;
    double matthews; /* Gorodkin 2004; 0 if the labels or the predictions are all equal */
};

/* Scores n predictions of `classes` classes. n >= 1. */
void class_scores(struct class_scores *s, const int32_t *labels, const int32_t *predictions,
                  size_t n, int64_t classes);

/* Return the correlation of two lists of n numbers, NAN if one of them is constant or n is 1.
 * Spearman's is that of the ranks; equal numbers have the mean of their ranks. */
double class_pearson(const double *x, const double *y, size_t n);
double class_spearman(const double *x, const double *y, size_t n);

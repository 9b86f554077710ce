/*
 * variant_tables.h - the tables of words of a wiki, for the variants of its language: its pages
 * MediaWiki:Conversiontable/zh-tw, and their subpages, which they link.
 *
 *     -{ 软件 => 軟體 ; 信息 => 資訊 // a comment ; }-
 */
#pragma once

#include "wikiprep/expand/library.h"
#include "wikiprep/site/variant.h"

/* Adds the words of the chosen variant, and of the one that it is based on. Returns 1 if there is a
 * page of one of them, else 0. */
int variant_tables_read(struct library *library, struct variants *v);

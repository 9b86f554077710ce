/*
 * variant_tables.h - reads the words of a language variant (variant.h) from a wiki's pages such as
 * MediaWiki:Conversiontable/zh-tw, and from the subpages that these link.
 *
 *     -{ 软件 => 軟體 ; 信息 => 資訊 // a comment ; }-
 */
#pragma once

#include "wikiprep/expand/library.h"
#include "wikiprep/site/variant.h"

/* Adds the words of the chosen variant (v->chosen) and of its base (v->base) to v->words. Returns 1
 * if the wiki has a table for one of them, else 0. */
int variant_tables_read(struct library *library, struct variants *v);

/*
 * html_page.h - reads pages in HTML: lines of JSON as Wikimedia Enterprise's snapshots have them,
 * and pages, in JSON or alone, as the REST API of a wiki gives them.
 *
 *     {"name": "Moon", "identifier": 12, "namespace": {"identifier": 0},
 *      "url": "https://…/wiki/Moon", "article_body": {"html": "<!DOCTYPE html>…"}, …}
 *
 *     {"title": "Moon", "id": 12, "latest": {"id": 345, …}, "html": "<!DOCTYPE html>…", …}
 *
 *     <!DOCTYPE html><html about="https://…/revision/345"><head><meta property="mw:pageId" …
 *
 * The model of the pages is "html". Fields: enterprise.wikimedia.com/docs/data-dictionary; the head
 * of a page: www.mediawiki.org/wiki/Specs/HTML.
 */
#pragma once

#include "wikiprep/site/dump_page.h"

/* Returns 1 if an input that begins with s[0..n) is HTML of a wiki or lines of JSON, else 0. */
int html_page_recognises(const char *s, size_t n);

/* Reads a line of JSON, or a whole page in HTML, into *page and *site, which must be empty. A page
 * of more than max_text bytes is marked as too long. `where` names the line in errors. Returns 0,
 * or -1 with an error. */
int html_page_read(struct dump_page *page, struct dump_site *site, const char *s, size_t n,
                   size_t max_text, const char *where);

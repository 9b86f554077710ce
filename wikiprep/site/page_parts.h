/*
 * page_parts.h - the structure of a page as JSON: the values of the output fields beside the text.
 *
 *     sections       [{"level": 2, "heading": "Orbit", "text": "…"}]; level 0: before all headings
 *     infoboxes      [{"name": "Infobox moon", "values": {"radius": "1737 km"}}]
 *     tables         [{"caption": "Phases", "rows": [["Name", "Day"], ["Full moon", "15"]]}]
 *     links          [{"target": "Earth", "label": "the Earth"}]
 *     external_links [{"target": "https://example.org", "label": "Maps"}]
 *     captions       [{"file": "Moon.jpg", "caption": "The Moon"}]
 *     references     [{"name": "a", "text": "…", "links": [{"target": "https://…", "label": "…"}],
 *                      "templates": [{"name": "cite web", "values": {…}}]}]
 *     description    "Only natural satellite of the Earth"
 *     wikidata       "Q405"
 *     coordinates    {"latitude": 46.2, "longitude": -6.1}
 */
#pragma once

#include "common/base/base.h"

enum page_part {
    PART_SECTIONS,
    PART_INFOBOXES,
    PART_TABLES,
    PART_LINKS,
    PART_EXTERNAL_LINKS,
    PART_CAPTIONS,
    PART_REFERENCES,
    PART_DESCRIPTION, /* from here on one value, not a list */
    PART_WIKIDATA,
    PART_COORDINATES,
    PAGE_PARTS,
};

/* The parts that are taken from the page's source even if its templates are expanded. */
enum {
    PARTS_OF_SOURCE = 1 << PART_INFOBOXES | 1 << PART_REFERENCES | 1 << PART_DESCRIPTION |
                      1 << PART_COORDINATES
};

struct page_parts {
    struct buf json[PAGE_PARTS]; /* the items of a list with ", " between them, or the value; "" if
                                    the page has none */
};

/* Calls `change` (buf_init, buf_clear or buf_release) for each part. */
static inline void page_parts_each(struct page_parts *p, void (*change)(struct buf *))
{
    for (int i = 0; i < PAGE_PARTS; i++)
        change(&p->json[i]);
}

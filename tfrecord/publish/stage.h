/*
 * stage.h - a set of files that appears together or not at all.
 *
 * While a run works, its files are in a work folder inside the output folder, so that moving
 * them costs nothing and a full or read-only disk shows early:
 *
 *     DIR/tfwrite.tmp-4711/data-00000-of-00004.tfrecord …
 *
 * stage_publish moves what the manifest lists, then the manifest: where a manifest stands, all
 * is there. A run that is killed leaves its work folder and perhaps files that no manifest in
 * DIR lists; the next run finds the folder unlocked (flock: the lock dies with its process),
 * removes both, and starts over.
 *
 * Or goes on: a `plan` in the work folder, key=value lines, says what the run wanted to make. One
 * with the same plan may take up the files that it left there, complete or not.
 */
#ifndef TEXTMILL_TFRECORD_PUBLISH_STAGE_H
#define TEXTMILL_TFRECORD_PUBLISH_STAGE_H

#include "common/kv.h"

/* The name of the work folders in folders of shards, before their ".tmp-". */
#define STAGE_SHARDS "tfwrite"

struct stage {
    char *dir;  /* the output folder */
    char *work; /* the folder in it */
    int lock;   /* descriptor of the work folder, locked */
    int made;   /* `dir` did not exist before */
    int resume; /* from stage_resume */
};

/* Makes `dir` and the work folder "<name>.tmp-<pid>" in it, after clearing away those of runs
 * that died. -1 when a living run works there under the same name. */
int stage_open(struct stage *s, const char *dir, const char *name);

/* The same for TFRecord shards, but goes on in the work folder of a run that died and had begun
 * one, if there is such a run; shards of it that were published already, or are under temporary
 * names, are under their own names in the work folder again. After an error it stays, once it has
 * shards. */
int stage_resume(struct stage *s, const char *dir, const char *name);

/* Says what is to be made in <work>/<folder>, which exists: before its first file. -1 where an
 * earlier run's plan differs; the error names what in. */
int stage_plan(struct stage *s, const char *folder, const struct kv *plan);

/* Moves the files listed in <work>/<folder>/<manifest> to <dir>/<folder>, with the index files
 * of TFRecords, and then the manifest; files of the manifest that stood there before go first.
 * `folder` is "" for the output folder itself. After an error nothing new stands there. */
int stage_publish(struct stage *s, const char *folder, const char *manifest);

/* Removes the files that `dir`/`manifest` lists, and it. Fine when there is none. */
int stage_forget(const char *dir, const char *manifest);

/* For readers of a folder without a manifest: -1 when a work folder in it tells that the files
 * beside it are not all there yet, or never will be. */
int stage_check_finished(const char *dir);

/* Removes the work folder, unless it is to be taken up again; after an error also `dir`, if
 * stage_open made it and it is empty. */
void stage_close(struct stage *s, int failed);

#endif

/*
 * stage.h - a set of files that appears together or not at all.
 *
 * A run writes its files into a work folder inside the output folder. So moving them is cheap, and
 * a full or read-only disk is noticed early:
 *
 *     DIR/tfwrite.textmill-6czmtka3pe/data-00000-of-00004.tfrecord …
 *
 * stage_publish moves the files that the manifest lists, then the manifest. So where a manifest
 * exists, all its files exist, also after a power failure. A killed run leaves its work folder, and
 * perhaps files in DIR that no manifest in DIR lists. The next run finds that the work folder is a
 * temporary folder of this user that nobody uses (temp.h), removes it and these files, and starts
 * over.
 *
 * With `resume` the next run continues instead. The file `plan` in the work folder, key=value
 * lines, says what the run was to make. A run with the same plan may reuse the files left there,
 * complete or not.
 */
#pragma once

#include "common/formats/kv.h"

/* The name of the work folders in folders of shards, before their temporary ending. */
#define STAGE_SHARDS "tfwrite"

struct stage {
    char *dir;  /* the output folder */
    char *work; /* the work folder in it */
    int lock;   /* descriptor of its mark, locked */
    int made;   /* number of folders, the last ones of `dir`, that did not exist before */
    int resume; /* the `resume` of stage_open */
    int torn;   /* 1: a part of an older set was removed, and its manifest is in `work` */
};

/* Creates `dir` and a work folder for `name` in it, and removes the work folders of runs that have
 * ended. Returns 0, or -1 with an error if a running process works there under the same name.
 *
 * resume 1, for TFRecord shards: if the work folder of a run that has ended holds a shard,
 * continues in that folder instead of removing it. All shards of that run are moved back into the
 * work folder under their own names, also those that were published or had temporary names. After
 * an error the work folder stays if it has shards. */
int stage_open(struct stage *s, const char *dir, const char *name, int resume);

/* Stores the plan of the folder <work>/<folder>. The folder exists; the caller stores the plan
 * before it writes the first file. Returns 0, or -1 if an earlier run's plan differs; the error
 * names the difference. */
int stage_plan(struct stage *s, const char *folder, const struct kv *plan);

/* Moves the files listed in <work>/<folder>/<manifest> to <dir>/<folder>, with the index files of
 * TFRecords, and then the manifest. If <dir>/<folder> already has a manifest, its files are removed
 * first. `folder` is "" for the output folder itself. After an error none of the new files are
 * there. Returns 0, or -1 with an error. */
int stage_publish(struct stage *s, const char *folder, const char *manifest);

/* Removes the manifest <dir>/<folder>/<manifest> and the files that it lists. A missing manifest is
 * no error. If there is one, the work folder then stays even if memory runs out, so that the next
 * run can finish the removal. Returns 0, or -1 with an error. */
int stage_forget(struct stage *s, const char *folder, const char *manifest);

/* For readers of a folder without a manifest. Returns 0, or -1 with an error if a work folder in
 * `dir` shows that the files beside it are incomplete. */
int stage_check_finished(const char *dir);

/* Removes the work folder. It stays if a run can resume from it, or if an older set could be
 * removed only in part: the next run reads there what is left to remove. With `failed` 1 (the run
 * had an error) also removes `dir`, if stage_open created it and it is empty. */
void stage_close(struct stage *s, int failed);

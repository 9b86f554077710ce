/*
 * event.h - TensorBoard event files.
 *
 * An event file is a TFRecord file whose records are tensorflow.Event messages (tensorflow's
 * core/util/event.proto): wall_time (1, double), step (2, int64), and either file_version
 * (3, "brain.Event:2": the first record) or summary (5) with values {tag (1), simple_value (2)}. A
 * value that is no number has instead a tensor (8) and metadata (9), which name the plug-in of
 * TensorBoard that shows it: "text" or "hparams" (tensorboard's plugins/hparams/plugin_data.proto).
 */
#pragma once

#include "common/files/file.h"

/* Opens `path` to append records. First cuts the file off before the first record that is damaged
 * or belongs to a step after `step`; step 0 empties it. Returns 0, or -1 with an error. In both
 * cases the caller closes the log with file_log_close. */
int event_open(struct file_log *log, const char *path, int64_t step);

/* event_add adds a number to a summary, which event_write appends as the record of a step.
 * event_write_text appends a text, which TensorBoard reads as Markdown. event_write_settings
 * appends the run's hyperparameters: the settings "KEY: VALUE" in the lines of a configuration.
 * They return 0, or -1 with an error. */
void event_add(struct buf *summary, const char *tag, double number);
int event_write(struct file_log *log, int64_t step, const struct buf *summary);
int event_write_text(struct file_log *log, int64_t step, const char *tag, const char *text);
int event_write_settings(struct file_log *log, int64_t step, const char *config);

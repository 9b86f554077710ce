"""The files of a finished run beside the weights, as their readers take them: transformers reads generation_config.json and the longest
text, TensorBoard the facts as a text and the settings as hyperparameters."""
import os
import subprocess
import sys
import tempfile

try:
    from transformers import AutoTokenizer, GenerationConfig
except ImportError:
    GenerationConfig = None
try:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import metadata
except ImportError:
    EventAccumulator = None
if not GenerationConfig and not EventAccumulator:
    sys.exit(77)

successor = os.path.join(os.environ["ROOT"], "tests/data/successor")


def train(out, *options):
    subprocess.check_call(["train", "-q", "--layers", "1", "--heads", "2", "--width", "16", "--sequence-length", "8", "--positions", "24",
                           "--data", "generated", "--vocab", successor, "-o", out, *options])


def transformers_reads(out):
    read = GenerationConfig.from_pretrained(out)
    assert (read.bos_token_id, read.eos_token_id, read.pad_token_id) == (29, 29, 29), read
    assert AutoTokenizer.from_pretrained(out).model_max_length == 24
    print("transformers: generation_config.json, the longest text")


def tensorboard_reads(out):
    events = EventAccumulator(out)
    events.Reload()
    texts = [(e.step, e.tensor_proto.string_val[0].decode()) for e in events.Tensors("run")]
    assert [step for step, _ in texts] == [0, 2] and all("| command | train " in text for _, text in texts), texts
    assert events.summary_metadata["run"].plugin_data.plugin_name == "text"
    plugin = events.summary_metadata["_hparams_/session_start_info"].plugin_data
    assert plugin.plugin_name == "hparams"
    settings = metadata.parse_session_start_info_plugin_data(plugin.content).hparams
    assert settings["width"].number_value == 16 and settings["architecture"].string_value == "gpt2", settings
    assert settings["untied"].WhichOneof("kind") == "bool_value" and not settings["untied"].bool_value, settings
    assert [e.step for e in events.Scalars("loss/train")] == [1, 2, 3]
    print(f"TensorBoard: {len(texts)} texts, {len(settings)} hyperparameters")


with tempfile.TemporaryDirectory() as work:
    out = os.path.join(work, "out")
    train(out, "--steps", "2")
    subprocess.check_call(["train", "-q", "--resume", "--steps", "3", "-o", out])
    if GenerationConfig:
        transformers_reads(out)
    if EventAccumulator:
        tensorboard_reads(out)

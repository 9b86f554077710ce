# shellcheck shell=bash
# The commands that write files, and their inputs. Needs ROOT, SAMPLE and the programs on the PATH.
tiny='--data shards --vocab vocab --layers 1 --heads 2 --width 16 --sequence-length 32 --micro-batch-size 2 --global-batch-size 2'
bert='--layout bert --sequence-length 32 --mask-tokens 5 --duplication-factor 1'
squad=$ROOT/tests/fuzz/corpus/squad
columns=$(ls "$(dirname "$(readlink -f "$(command -v tokenize)")")/../lib/textmill/libtextmill-parquet.so" 2>/dev/null)

# prepare [DOCUMENTS]: makes input for every stage in the current folder, and a page small enough for short runs. `many` has more
# tokens than --group all keeps in memory.
prepare() {
    local most=${1:-6}
    wikiprep -q "$SAMPLE" >all.txt && awk -v most="$most" '/^<doc/ { n++ } n <= most || /^<!--/' all.txt |
        sed "s/end documents=[0-9]*/end documents=$most/" >docs.txt &&
        tokenize train -q --vocab-size 400 -o vocab docs.txt &&
        tokenize -q --vocab vocab -o tokens docs.txt &&
        tokenize count -q -o words docs.txt &&
        seq 1000000 1047000 | tokenize -q --vocab vocab --format lines -o many &&
        tfwrite -q --sequence-length 32 -o shards tokens &&
        tfwrite -q --layout megatron -o pair tokens &&
        train -q $tiny --steps 2 -o model || return
    bzcat "$SAMPLE" | awk '{ print } /<\/page>/ { exit } END { print "</mediawiki>" }' >page.xml
    head -c 1500 docs.txt | grep -v '^<' >wiki.tokens
    echo '{"context": "The", "choices": ["Moon", "Sun"], "label": 0}' >choices.jsonl
    sed -n 's/.* //p' docs.txt | sort -u | head -300 | sed '1i[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]' | awk '!n[$0]++ && NF' >vocab.txt
    grep -v '^<' docs.txt | tokenize -q --vocab vocab.txt --format sentences -o sentences || return
    wikiprep -q --no-headings "$SAMPLE" | grep -v '^<' >plain
    printf 'a,b\n1,one word\n2,two words\n' >table.csv
}

# writers: prints a row LAST|COMMAND for each command. LAST is the file that the command writes last; if that is one of a set of files,
# it says that the set is complete.
writers() {
    [ ! "$columns" ] || cat <<EOF
out.parquet|wikiprep $SAMPLE -o out.parquet
out|tokenize --vocab vocab -o out $ROOT/tests/data/columns/types.parquet
out|textclean filter --rules gopher --limit gopher-min-words=3 -o out $ROOT/tests/data/columns/types.parquet
EOF
    cat <<EOF
out/manifest|wikiprep -o out $SAMPLE
out/manifest|wikiprep --json -o out $SAMPLE
out/manifest|wikiprep --sentences -o out $SAMPLE
out/manifest|wikiprep --wikiextractor -o out $SAMPLE
out|wikiprep --templates $SAMPLE --save-templates out $SAMPLE
out|wikiprep --train-sentences out $SAMPLE
out|wikiprep sentences --train-sentences out plain
out|textclean filter --rules gopher,c4 -o out docs.txt
out|textclean decontaminate --rule drop --against docs.txt -o out docs.txt
out|textclean dedup --by line -o out docs.txt
out|textclean dedup --by span -o out docs.txt
out|textclean dedup --keys-to out docs.txt
out|textclean learn-filter -o out docs.txt
out|textclean learn-language -o out en=docs.txt it=wiki.tokens
out|textclean learn-quality --format lines -o out --good wiki.tokens --bad docs.txt
out|tokenize --vocab vocab -o out docs.txt
out|tokenize --vocab vocab -o out --format csv --field b table.csv
out|tokenize --vocab vocab --ids -o out docs.txt
out|tokenize --vocab vocab --ids --offsets bytes -o out docs.txt
out|tokenize decode --vocab vocab -o out tokens
out|tokenize stats --vocab vocab -o out docs.txt
out|tokenize count -o out docs.txt
out|tokenize count --counts -o out words words
out/tokenizer.json|tokenize train --vocab-size 300 -o out docs.txt
out/tokenizer.json|tokenize train --counts --vocab-size 300 -o out words
out/tokenizer.json|tokenize train --model wordpiece --vocab-size 300 -o out docs.txt
out/tokenizer.json|tokenize train --model unigram --vocab-size 300 -o out docs.txt
out/manifest|tfwrite --sequence-length 32 -o out tokens
out/manifest|tfwrite --sequence-length 32 --compression gzip -o out tokens
out/manifest|tfwrite --sequence-length 16 --validation 0.3 -o out tokens
out/manifest|tfwrite --sequence-length 16 --resume -o out tokens
out/manifest|tfwrite $bert -o out sentences
out/manifest|tfwrite ${bert/bert/bert-tf1} -o out sentences
out/manifest|tfwrite ${bert/bert/bert-packed} -o out sentences
out.manifest|tfwrite --layout megatron -o out tokens
out|tfwrite --layout nanogpt -o out tokens
out|tfwrite --layout llmc -o out tokens
out|tfwrite index -o out shards/data-00000-of-00004.tfrecord
out_shuffle_idx.npy|tfwrite index-map --epochs 2 --sequence-length 16 -o out pair
out/manifest|tfwrite merge -o out shards shards
out.manifest|tfwrite merge -o out pair pair
out/manifest|tfwrite blend -o out shards:1 shards:2
out_dataset_sample_index.npy|tfwrite blend --samples 100 -o out pair:1 pair:2
out.index|tfwrite repair -o out shards/data-00000-of-00004.tfrecord
out/model.safetensors|train $tiny --steps 2 -o out
out/model.safetensors|train $tiny --steps 4 --save-every 1 --keep 1 --validate-every 1 --validation shards -o out
out/model.safetensors.index.json|train $tiny --steps 2 --checkpoint-files block -o out
out.json|train $tiny --steps 2 --no-save --profile out.json -o out
out/model.safetensors|train --task squad --vocab $ROOT/tests/data/finder --layers 1 --heads 2 --width 16 --sequence-length 24 --stride 6 --micro-batch-size 4 --steps 2 --data $squad/windows -o out
out/predictions.json|evaluate squad --model $ROOT/tests/data/finder --stride 8 -o out $squad/plain
out/predictions.json|evaluate squad --model $ROOT/tests/data/finder --stride 8 -o out $squad/windows
out|generate --model model --prompt 'The Moon' --length 1 --save-prompt-cache out
$(for weights in f32 bf16 f16 int8 int4; do echo "out.gguf|generate export --model model --weights $weights -o out.gguf"; done)
out.gguf|generate export --model model --format mapped -o out.gguf
EOF
}

# shellcheck shell=bash
# Hostile inputs that concern all programs.

case_folder_as_vocabulary_without_files() {
    mkdir empty
    refuses "empty" tokenize --vocab empty --ids "$(shared text)"
}
case_weights_cut_short() {
    cp -r "$(shared model)" model && truncate -s -7 model/model.safetensors
    refuses 'model/model.safetensors' generate --model model --prompt a --length 2
}

#!/bin/bash
# templates.sh: each different call of a template in a small wiki's pages, expanded by wikiprep and by MediaWiki with
# ParserFunctions and Scribunto. MEDIAWIKI is the folder of one (Debian's package is of 1.39) that has the wiki:
#     php maintenance/install.php --dbtype sqlite --dbpath FOLDER --lang ltg --pass PASSWORD \
#         --with-extensions=Cite,ParserFunctions,Scribunto Vikipedeja admin
#     php maintenance/importDump.php smallwiki.xml
#     php maintenance/initSiteStats.php --update    (else there are 0 articles, and one call more differs)
# and in LocalSettings.php $wgScribuntoDefaultEngine is luastandalone, $wgPFEnableStringFunctions true, and the addresses
# are Wikipedia's: $wgServer //ltg.wikipedia.org, $wgCanonicalServer https://ltg.wikipedia.org, $wgScriptPath /w,
# $wgArticlePath /wiki/$1. Calls that differ are told on standard error, MediaWiki's text first.
dump=$DATA/wiki/smallwiki.xml
[ -f "$dump" ] || { echo "SKIP templates: no $dump"; exit 0; }
[ -f "$MEDIAWIKI/LocalSettings.php" ] || { echo "SKIP templates: MEDIAWIKI names no MediaWiki"; exit 0; }
python3 templates.py calls "$dump" | php templates.php --ts 20171003000000 | python3 templates.py compare "$dump"

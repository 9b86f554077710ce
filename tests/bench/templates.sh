#!/bin/bash
# templates.sh: expands each distinct template call of a small wiki's pages with wikiprep and with MediaWiki, ParserFunctions and
# Scribunto, and compares. MEDIAWIKI is the folder of a MediaWiki installation (Debian's package has 1.39) that contains the wiki:
#     php maintenance/install.php --dbtype sqlite --dbpath FOLDER --lang ltg --pass PASSWORD \
#         --with-extensions=Cite,ParserFunctions,Scribunto Vikipedeja admin
#     php maintenance/importDump.php smallwiki.xml
#     php maintenance/initSiteStats.php --update    (else the number of articles is 0, and one more call differs)
# LocalSettings.php sets $wgScribuntoDefaultEngine to luastandalone, $wgPFEnableStringFunctions to true, and Wikipedia's addresses:
# $wgServer //ltg.wikipedia.org, $wgCanonicalServer https://ltg.wikipedia.org, $wgScriptPath /w, $wgArticlePath /wiki/$1.
# Prints each call that differs on standard error: MediaWiki's text first, then ours.
dump=$DATA/wiki/smallwiki.xml
[ -f "$dump" ] || { echo "SKIP templates: no $dump"; exit 0; }
[ -f "$MEDIAWIKI/LocalSettings.php" ] || { echo "SKIP templates: MEDIAWIKI names no MediaWiki"; exit 0; }
python3 templates.py calls "$dump" | php templates.php --ts 20171003000000 | python3 templates.py compare "$dump"

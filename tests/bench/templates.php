<?php
// templates.php --ts TIMESTAMP: a MediaWiki maintenance script. Lines of JSON [title, wikitext] in, [title, wikitext,
// expanded, HTML] out, by the parser of the wiki that MEDIAWIKI names.
require_once getenv('MEDIAWIKI') . '/maintenance/Maintenance.php';

class ExpandCalls extends Maintenance {
    public function __construct() {
        parent::__construct();
        $this->addOption('ts', 'the time that it is', true, true);
    }

    public function execute() {
        $parsers = MediaWiki\MediaWikiServices::getInstance()->getParserFactory();
        while (($line = fgets(STDIN)) !== false) {
            [$name, $call] = json_decode($line);
            $title = Title::newFromText($name);
            $options = ParserOptions::newFromAnon();
            $options->setTimestamp($this->getOption('ts'));
            $parser = $parsers->create();
            $text = $parser->preprocess($call, $title, $options);
            $text = $parser->getStripState()->unstripBoth($text);
            $html = $parsers->create()->parse($call, $title, $options)
                ->getText(['unwrap' => true, 'allowTOC' => false, 'enableSectionEditLinks' => false]);
            echo json_encode([$name, $call, $text, $html], JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES |
                JSON_INVALID_UTF8_SUBSTITUTE), "\n";
        }
    }
}

$maintClass = ExpandCalls::class;
require_once RUN_MAINTENANCE_IF_MAIN;

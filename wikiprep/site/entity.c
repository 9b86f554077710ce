#include "wikiprep/site/entity.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 14 };

/* Sorted in byte order. */
/* clang-format off */
static const struct named {
    char name[NAME_MAX_BYTES + 1];
    uint16_t code_point;
} names[] = {
    { "AElig", 0xC6 }, { "AMP", 0x26 }, { "Aacute", 0xC1 }, { "Abreve", 0x102 }, { "Acirc", 0xC2 },
    { "Acy", 0x410 }, { "Agrave", 0xC0 }, { "Alpha", 0x391 }, { "Amacr", 0x100 },
    { "Aogon", 0x104 }, { "Aring", 0xC5 }, { "Atilde", 0xC3 }, { "Auml", 0xC4 }, { "Bcy", 0x411 },
    { "Beta", 0x392 }, { "CHcy", 0x427 }, { "COPY", 0xA9 }, { "Cacute", 0x106 },
    { "Ccaron", 0x10C }, { "Ccedil", 0xC7 }, { "Ccirc", 0x108 }, { "Cdot", 0x10A },
    { "Chi", 0x3A7 }, { "DJcy", 0x402 }, { "DScy", 0x405 }, { "DZcy", 0x40F }, { "Dagger", 0x2021 },
    { "Dcaron", 0x10E }, { "Dcy", 0x414 }, { "Delta", 0x394 }, { "Dstrok", 0x110 },
    { "ENG", 0x14A }, { "ETH", 0xD0 }, { "Eacute", 0xC9 }, { "Ecaron", 0x11A }, { "Ecirc", 0xCA },
    { "Ecy", 0x42D }, { "Edot", 0x116 }, { "Egrave", 0xC8 }, { "Emacr", 0x112 }, { "Eogon", 0x118 },
    { "Epsilon", 0x395 }, { "Eta", 0x397 }, { "Euml", 0xCB }, { "Fcy", 0x424 }, { "GJcy", 0x403 },
    { "GT", 0x3E }, { "Gamma", 0x393 }, { "Gbreve", 0x11E }, { "Gcedil", 0x122 },
    { "Gcirc", 0x11C }, { "Gcy", 0x413 }, { "Gdot", 0x120 }, { "HARDcy", 0x42A }, { "Hat", 0x5E },
    { "Hcirc", 0x124 }, { "Hstrok", 0x126 }, { "IEcy", 0x415 }, { "IJlig", 0x132 },
    { "IOcy", 0x401 }, { "Iacute", 0xCD }, { "Icirc", 0xCE }, { "Icy", 0x418 }, { "Idot", 0x130 },
    { "Igrave", 0xCC }, { "Imacr", 0x12A }, { "Iogon", 0x12E }, { "Iota", 0x399 },
    { "Itilde", 0x128 }, { "Iukcy", 0x406 }, { "Iuml", 0xCF }, { "Jcirc", 0x134 }, { "Jcy", 0x419 },
    { "Jsercy", 0x408 }, { "Jukcy", 0x404 }, { "KHcy", 0x425 }, { "KJcy", 0x40C },
    { "Kappa", 0x39A }, { "Kcedil", 0x136 }, { "Kcy", 0x41A }, { "LJcy", 0x409 }, { "LT", 0x3C },
    { "Lacute", 0x139 }, { "Lambda", 0x39B }, { "Lcaron", 0x13D }, { "Lcedil", 0x13B },
    { "Lcy", 0x41B }, { "Lmidot", 0x13F }, { "Lstrok", 0x141 }, { "Mcy", 0x41C },
    { "MediumSpace", 0x205F }, { "Mu", 0x39C }, { "NJcy", 0x40A }, { "Nacute", 0x143 },
    { "Ncaron", 0x147 }, { "Ncedil", 0x145 }, { "Ncy", 0x41D }, { "NewLine", 0xA },
    { "NoBreak", 0x2060 }, { "Ntilde", 0xD1 }, { "Nu", 0x39D }, { "OElig", 0x152 },
    { "Oacute", 0xD3 }, { "Ocirc", 0xD4 }, { "Ocy", 0x41E }, { "Odblac", 0x150 },
    { "Ograve", 0xD2 }, { "Omacr", 0x14C }, { "Omega", 0x3A9 }, { "Omicron", 0x39F },
    { "Oslash", 0xD8 }, { "Otilde", 0xD5 }, { "Ouml", 0xD6 }, { "Pcy", 0x41F }, { "Phi", 0x3A6 },
    { "Pi", 0x3A0 }, { "Prime", 0x2033 }, { "Psi", 0x3A8 }, { "QUOT", 0x22 }, { "REG", 0xAE },
    { "Racute", 0x154 }, { "Rcaron", 0x158 }, { "Rcedil", 0x156 }, { "Rcy", 0x420 },
    { "Rho", 0x3A1 }, { "SHCHcy", 0x429 }, { "SHcy", 0x428 }, { "SOFTcy", 0x42C },
    { "Sacute", 0x15A }, { "Scaron", 0x160 }, { "Scedil", 0x15E }, { "Scirc", 0x15C },
    { "Scy", 0x421 }, { "Sigma", 0x3A3 }, { "Sqrt", 0x221A }, { "THORN", 0xDE },
    { "TRADE", 0x2122 }, { "TSHcy", 0x40B }, { "TScy", 0x426 }, { "Tab", 0x9 }, { "Tau", 0x3A4 },
    { "Tcaron", 0x164 }, { "Tcedil", 0x162 }, { "Tcy", 0x422 }, { "Theta", 0x398 },
    { "Tstrok", 0x166 }, { "Uacute", 0xDA }, { "Ubrcy", 0x40E }, { "Ubreve", 0x16C },
    { "Ucirc", 0xDB }, { "Ucy", 0x423 }, { "Udblac", 0x170 }, { "Ugrave", 0xD9 },
    { "Umacr", 0x16A }, { "Uogon", 0x172 }, { "Upsilon", 0x3A5 }, { "Uring", 0x16E },
    { "Utilde", 0x168 }, { "Uuml", 0xDC }, { "Vcy", 0x412 }, { "VerticalLine", 0x7C },
    { "Wcirc", 0x174 }, { "Xi", 0x39E }, { "YAcy", 0x42F }, { "YIcy", 0x407 }, { "YUcy", 0x42E },
    { "Yacute", 0xDD }, { "Ycirc", 0x176 }, { "Ycy", 0x42B }, { "Yuml", 0x178 }, { "ZHcy", 0x416 },
    { "Zacute", 0x179 }, { "Zcaron", 0x17D }, { "Zcy", 0x417 }, { "Zdot", 0x17B },
    { "ZeroWidthSpace", 0x200B }, { "Zeta", 0x396 }, { "aacute", 0xE1 }, { "abreve", 0x103 },
    { "acirc", 0xE2 }, { "acute", 0xB4 }, { "acy", 0x430 }, { "aelig", 0xE6 }, { "agrave", 0xE0 },
    { "alefsym", 0x2135 }, { "alpha", 0x3B1 }, { "amacr", 0x101 }, { "amp", 0x26 },
    { "and", 0x2227 }, { "ang", 0x2220 }, { "angle", 0x2220 }, { "angst", 0xC5 },
    { "aogon", 0x105 }, { "apos", 0x27 }, { "approx", 0x2248 }, { "aring", 0xE5 }, { "ast", 0x2A },
    { "asymp", 0x2248 }, { "atilde", 0xE3 }, { "auml", 0xE4 }, { "bcy", 0x431 },
    { "bdquo", 0x201E }, { "because", 0x2235 }, { "beta", 0x3B2 }, { "boxh", 0x2500 },
    { "brvbar", 0xA6 }, { "bsol", 0x5C }, { "bull", 0x2022 }, { "bullet", 0x2022 },
    { "cacute", 0x107 }, { "cap", 0x2229 }, { "caret", 0x2041 }, { "ccaron", 0x10D },
    { "ccedil", 0xE7 }, { "ccirc", 0x109 }, { "cdot", 0x10B }, { "cedil", 0xB8 }, { "cent", 0xA2 },
    { "chcy", 0x447 }, { "check", 0x2713 }, { "checkmark", 0x2713 }, { "chi", 0x3C7 },
    { "cir", 0x25CB }, { "circ", 0x2C6 }, { "clubs", 0x2663 }, { "colon", 0x3A }, { "comma", 0x2C },
    { "commat", 0x40 }, { "cong", 0x2245 }, { "copy", 0xA9 }, { "copysr", 0x2117 },
    { "crarr", 0x21B5 }, { "cross", 0x2717 }, { "cup", 0x222A }, { "curren", 0xA4 },
    { "dArr", 0x21D3 }, { "dagger", 0x2020 }, { "darr", 0x2193 }, { "dash", 0x2010 },
    { "dcaron", 0x10F }, { "dcy", 0x434 }, { "deg", 0xB0 }, { "delta", 0x3B4 }, { "diams", 0x2666 },
    { "div", 0xF7 }, { "divide", 0xF7 }, { "djcy", 0x452 }, { "dollar", 0x24 }, { "dscy", 0x455 },
    { "dstrok", 0x111 }, { "dzcy", 0x45F }, { "eacute", 0xE9 }, { "ecaron", 0x11B },
    { "ecirc", 0xEA }, { "ecy", 0x44D }, { "edot", 0x117 }, { "egrave", 0xE8 }, { "ell", 0x2113 },
    { "emacr", 0x113 }, { "empty", 0x2205 }, { "emptyset", 0x2205 }, { "emsp", 0x2003 },
    { "emsp13", 0x2004 }, { "emsp14", 0x2005 }, { "eng", 0x14B }, { "ensp", 0x2002 },
    { "eogon", 0x119 }, { "epsi", 0x3B5 }, { "epsilon", 0x3B5 }, { "equals", 0x3D },
    { "equiv", 0x2261 }, { "eta", 0x3B7 }, { "eth", 0xF0 }, { "euml", 0xEB }, { "euro", 0x20AC },
    { "excl", 0x21 }, { "exist", 0x2203 }, { "fcy", 0x444 }, { "female", 0x2640 },
    { "flat", 0x266D }, { "fnof", 0x192 }, { "forall", 0x2200 }, { "frac12", 0xBD },
    { "frac13", 0x2153 }, { "frac14", 0xBC }, { "frac15", 0x2155 }, { "frac16", 0x2159 },
    { "frac18", 0x215B }, { "frac23", 0x2154 }, { "frac25", 0x2156 }, { "frac34", 0xBE },
    { "frac35", 0x2157 }, { "frac38", 0x215C }, { "frac45", 0x2158 }, { "frac56", 0x215A },
    { "frac58", 0x215D }, { "frac78", 0x215E }, { "frasl", 0x2044 }, { "gacute", 0x1F5 },
    { "gamma", 0x3B3 }, { "gbreve", 0x11F }, { "gcirc", 0x11D }, { "gcy", 0x433 },
    { "gdot", 0x121 }, { "ge", 0x2265 }, { "geq", 0x2265 }, { "gg", 0x226B }, { "gjcy", 0x453 },
    { "grave", 0x60 }, { "gt", 0x3E }, { "hArr", 0x21D4 }, { "hairsp", 0x200A }, { "half", 0xBD },
    { "hardcy", 0x44A }, { "harr", 0x2194 }, { "hbar", 0x210F }, { "hcirc", 0x125 },
    { "hearts", 0x2665 }, { "hellip", 0x2026 }, { "horbar", 0x2015 }, { "hstrok", 0x127 },
    { "hyphen", 0x2010 }, { "iacute", 0xED }, { "icirc", 0xEE }, { "icy", 0x438 },
    { "iecy", 0x435 }, { "iexcl", 0xA1 }, { "igrave", 0xEC }, { "ijlig", 0x133 },
    { "imacr", 0x12B }, { "image", 0x2111 }, { "imath", 0x131 }, { "imped", 0x1B5 },
    { "in", 0x2208 }, { "incare", 0x2105 }, { "infin", 0x221E }, { "inodot", 0x131 },
    { "int", 0x222B }, { "iocy", 0x451 }, { "iogon", 0x12F }, { "iota", 0x3B9 }, { "iquest", 0xBF },
    { "isin", 0x2208 }, { "itilde", 0x129 }, { "iukcy", 0x456 }, { "iuml", 0xEF },
    { "jcirc", 0x135 }, { "jcy", 0x439 }, { "jmath", 0x237 }, { "jsercy", 0x458 },
    { "jukcy", 0x454 }, { "kappa", 0x3BA }, { "kappav", 0x3F0 }, { "kcedil", 0x137 },
    { "kcy", 0x43A }, { "kgreen", 0x138 }, { "khcy", 0x445 }, { "kjcy", 0x45C }, { "lArr", 0x21D0 },
    { "lacute", 0x13A }, { "lambda", 0x3BB }, { "lang", 0x2329 }, { "laquo", 0xAB },
    { "larr", 0x2190 }, { "lbrace", 0x7B }, { "lbrack", 0x5B }, { "lcaron", 0x13E },
    { "lcedil", 0x13C }, { "lceil", 0x2308 }, { "lcub", 0x7B }, { "lcy", 0x43B },
    { "ldquo", 0x201C }, { "ldquor", 0x201E }, { "le", 0x2264 }, { "leq", 0x2264 },
    { "lfloor", 0x230A }, { "ljcy", 0x459 }, { "ll", 0x226A }, { "lmidot", 0x140 },
    { "lowast", 0x2217 }, { "lowbar", 0x5F }, { "loz", 0x25CA }, { "lpar", 0x28 },
    { "lrm", 0x200E }, { "lsaquo", 0x2039 }, { "lsqb", 0x5B }, { "lsquo", 0x2018 },
    { "lsquor", 0x201A }, { "lstrok", 0x142 }, { "lt", 0x3C }, { "macr", 0xAF }, { "male", 0x2642 },
    { "mcy", 0x43C }, { "mdash", 0x2014 }, { "micro", 0xB5 }, { "midast", 0x2A },
    { "middot", 0xB7 }, { "minus", 0x2212 }, { "mldr", 0x2026 }, { "mp", 0x2213 }, { "mu", 0x3BC },
    { "nabla", 0x2207 }, { "nacute", 0x144 }, { "napos", 0x149 }, { "natur", 0x266E },
    { "natural", 0x266E }, { "nbsp", 0xA0 }, { "ncaron", 0x148 }, { "ncedil", 0x146 },
    { "ncy", 0x43D }, { "ndash", 0x2013 }, { "ne", 0x2260 }, { "ni", 0x220B }, { "njcy", 0x45A },
    { "nldr", 0x2025 }, { "not", 0xAC }, { "notin", 0x2209 }, { "nsub", 0x2284 },
    { "ntilde", 0xF1 }, { "nu", 0x3BD }, { "num", 0x23 }, { "numero", 0x2116 }, { "numsp", 0x2007 },
    { "oacute", 0xF3 }, { "ocirc", 0xF4 }, { "ocy", 0x43E }, { "odblac", 0x151 },
    { "oelig", 0x153 }, { "ograve", 0xF2 }, { "ohm", 0x3A9 }, { "oint", 0x222E },
    { "oline", 0x203E }, { "omacr", 0x14D }, { "omega", 0x3C9 }, { "omicron", 0x3BF },
    { "oplus", 0x2295 }, { "or", 0x2228 }, { "ordf", 0xAA }, { "ordm", 0xBA }, { "oslash", 0xF8 },
    { "otilde", 0xF5 }, { "otimes", 0x2297 }, { "ouml", 0xF6 }, { "para", 0xB6 },
    { "part", 0x2202 }, { "pcy", 0x43F }, { "percnt", 0x25 }, { "period", 0x2E },
    { "permil", 0x2030 }, { "perp", 0x22A5 }, { "pertenk", 0x2031 }, { "phi", 0x3C6 },
    { "phiv", 0x3D5 }, { "phone", 0x260E }, { "pi", 0x3C0 }, { "piv", 0x3D6 }, { "planck", 0x210F },
    { "plus", 0x2B }, { "plusmn", 0xB1 }, { "pm", 0xB1 }, { "pound", 0xA3 }, { "prime", 0x2032 },
    { "prod", 0x220F }, { "prop", 0x221D }, { "propto", 0x221D }, { "psi", 0x3C8 },
    { "puncsp", 0x2008 }, { "quest", 0x3F }, { "quot", 0x22 }, { "rArr", 0x21D2 },
    { "racute", 0x155 }, { "radic", 0x221A }, { "rang", 0x232A }, { "raquo", 0xBB },
    { "rarr", 0x2192 }, { "rbrace", 0x7D }, { "rbrack", 0x5D }, { "rcaron", 0x159 },
    { "rcedil", 0x157 }, { "rceil", 0x2309 }, { "rcub", 0x7D }, { "rcy", 0x440 },
    { "rdquo", 0x201D }, { "real", 0x211C }, { "reg", 0xAE }, { "rfloor", 0x230B },
    { "rho", 0x3C1 }, { "rhov", 0x3F1 }, { "rlm", 0x200F }, { "rpar", 0x29 }, { "rsaquo", 0x203A },
    { "rsqb", 0x5D }, { "rsquo", 0x2019 }, { "sacute", 0x15B }, { "sbquo", 0x201A },
    { "scaron", 0x161 }, { "scedil", 0x15F }, { "scirc", 0x15D }, { "scy", 0x441 },
    { "sdot", 0x22C5 }, { "sect", 0xA7 }, { "semi", 0x3B }, { "setminus", 0x2216 },
    { "sharp", 0x266F }, { "shchcy", 0x449 }, { "shcy", 0x448 }, { "shy", 0xAD },
    { "sigma", 0x3C3 }, { "sigmaf", 0x3C2 }, { "sigmav", 0x3C2 }, { "sim", 0x223C },
    { "softcy", 0x44C }, { "sol", 0x2F }, { "spades", 0x2660 }, { "squ", 0x25A1 },
    { "star", 0x2606 }, { "starf", 0x2605 }, { "sub", 0x2282 }, { "sube", 0x2286 },
    { "subseteq", 0x2286 }, { "sum", 0x2211 }, { "sup", 0x2283 }, { "sup1", 0xB9 },
    { "sup2", 0xB2 }, { "sup3", 0xB3 }, { "supe", 0x2287 }, { "szlig", 0xDF }, { "tau", 0x3C4 },
    { "tcaron", 0x165 }, { "tcedil", 0x163 }, { "tcy", 0x442 }, { "telrec", 0x2315 },
    { "there4", 0x2234 }, { "therefore", 0x2234 }, { "theta", 0x3B8 }, { "thetasym", 0x3D1 },
    { "thetav", 0x3D1 }, { "thinsp", 0x2009 }, { "thorn", 0xFE }, { "tilde", 0x2DC },
    { "times", 0xD7 }, { "trade", 0x2122 }, { "tscy", 0x446 }, { "tshcy", 0x45B },
    { "tstrok", 0x167 }, { "uArr", 0x21D1 }, { "uacute", 0xFA }, { "uarr", 0x2191 },
    { "ubrcy", 0x45E }, { "ubreve", 0x16D }, { "ucirc", 0xFB }, { "ucy", 0x443 },
    { "udblac", 0x171 }, { "ugrave", 0xF9 }, { "umacr", 0x16B }, { "uml", 0xA8 },
    { "uogon", 0x173 }, { "upsih", 0x3D2 }, { "upsilon", 0x3C5 }, { "uring", 0x16F },
    { "utilde", 0x169 }, { "uuml", 0xFC }, { "varepsilon", 0x3F5 }, { "vcy", 0x432 },
    { "vee", 0x2228 }, { "verbar", 0x7C }, { "vert", 0x7C }, { "wcirc", 0x175 },
    { "wedge", 0x2227 }, { "weierp", 0x2118 }, { "xi", 0x3BE }, { "yacute", 0xFD },
    { "yacy", 0x44F }, { "ycirc", 0x177 }, { "ycy", 0x44B }, { "yen", 0xA5 }, { "yicy", 0x457 },
    { "yucy", 0x44E }, { "yuml", 0xFF }, { "zacute", 0x17A }, { "zcaron", 0x17E }, { "zcy", 0x437 },
    { "zdot", 0x17C }, { "zeta", 0x3B6 }, { "zhcy", 0x436 }, { "zwj", 0x200D }, { "zwnj", 0x200C },
};
/* clang-format on */

static int compare(const void *key, const void *item)
{
    return strcmp(key, ((const struct named *)item)->name);
}

static size_t read_number(const char *s, size_t n, unsigned *code_point)
{
    size_t i = 2;
    unsigned base = 10, value = 0;
    if (i < n && (s[i] | 0x20) == 'x')
        base = 16, i++;
    size_t first = i;
    for (; i < n && s[i] != ';'; i++) {
        unsigned c = (unsigned char)s[i];
        unsigned digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' ? (c | 0x20) - 'a' + 10 : 99;
        if (digit >= base)
            return 0;
        value = value * base + digit;
        if (value > 0x10FFFF)
            return 0;
    }
    if (i == n || i == first)
        return 0;
    *code_point = value;
    return i + 1;
}

size_t entity_read(const char *s, size_t n, unsigned *code_point)
{
    if (n > 2 && s[1] == '#')
        return read_number(s, n, code_point);
    char name[NAME_MAX_BYTES + 1];
    size_t len = 0;
    for (size_t i = 1; i < n && s[i] != ';'; i++) {
        char c = s[i];
        int word = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
        if (!word || len == NAME_MAX_BYTES)
            return 0;
        name[len++] = c;
    }
    if (!len || len + 1 >= n)
        return 0;
    name[len] = '\0';
    const struct named *found = bsearch(name, names, sizeof names / sizeof *names, sizeof *names,
                                        compare);
    if (!found)
        return 0;
    *code_point = found->code_point;
    return len + 2;
}

#define _GNU_SOURCE /* memmem */
#include "wikiprep/convert.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUES_MAX = 4, OUTPUTS_MAX = 4, NUMBER_MAX = 32, NAME_MAX_BYTES = 96, POWER_MAX = 99 };

/* ---- units --------------------------------------------------------------------------------- */

/* value in the base unit = (value - offset) * scale. Names are British; "" has no name of its own.
 * A unit with two parts ("ftin") is written in both. */
enum { TEMPERATURE = 1, MORE_PRECISION = 2 };
static const struct unit {
    const char *codes; /* '|' between */
    const char *symbol, *name;
    double scale;
    const char *defaults; /* outputs, a space between; NULL: the value alone is shown */
    double offset;
    int flags;
} units[] = {
    /* length: metres */
    { "km", "km", "kilometre", 1e3, "mi", 0, 0 },
    { "m|metre|meter", "m", "metre", 1, "ftin", 0, 0 },
    { "dm", "dm", "decimetre", 0.1, "in", 0, 0 },
    { "cm", "cm", "centimetre", 0.01, "in", 0, 0 },
    { "mm", "mm", "millimetre", 1e-3, "in", 0, 0 },
    { "um|µm|μm", "μm", "micrometre", 1e-6, "in", 0, 0 },
    { "nm", "nm", "nanometre", 1e-9, "in", 0, 0 },
    { "angstrom|Å", "Å", "ångström", 1e-10, "in", 0, 0 },
    { "mi|smi|mile|miles", "mi", "mile", 1609.344, "km", 0, 0 },
    { "nmi", "nmi", "nautical mile", 1852, "km mi", 0, 0 },
    { "ft|foot|feet", "ft", "foot", 0.3048, "m", 0, MORE_PRECISION },
    { "in|inch|inches", "in", "inch", 0.0254, "mm", 0, 0 },
    { "yd|yard|yards", "yd", "yard", 0.9144, "m", 0, 0 },
    { "furlong", "furlong", "furlong", 201.168, "ft m", 0, 0 },
    { "chain|chains", "chain", "chain", 20.1168, "ft m", 0, 0 },
    { "rod|rd|pole", "rd", "rod", 5.0292, "ft m", 0, 0 },
    { "fathom", "fathom", "fathom", 1.8288, "ft m", 0, 0 },
    { "league|lea", "lea", "league", 4828.032, "km", 0, 0 },
    { "AU|au", "AU", "astronomical unit", 149597870700.0, "km mi", 0, 0 },
    { "ly", "ly", "light-year", 9460730472580800.0, "pc", 0, 0 },
    { "pc", "pc", "parsec", 30856775814913673.0, "ly", 0, 0 },
    { "hand|h", "hands", "hand", 0.1016, "in cm", 0, 0 },
    /* area: square metres */
    { "km2|sqkm", "km²", "square kilometre", 1e6, "sqmi", 0, 0 },
    { "m2|sqm", "m²", "square metre", 1, "sqft", 0, 0 },
    { "cm2", "cm²", "square centimetre", 1e-4, "sqin", 0, 0 },
    { "mm2", "mm²", "square millimetre", 1e-6, "sqin", 0, 0 },
    { "ha|hectare", "ha", "hectare", 1e4, "acre", 0, 0 },
    { "acre|acres|ac", "acres", "acre", 4046.8564224, "ha", 0, 0 },
    { "sqmi|mi2", "sq mi", "square mile", 2589988.110336, "km2", 0, 0 },
    { "sqft|ft2", "sq ft", "square foot", 0.09290304, "m2", 0, 0 },
    { "sqyd|yd2", "sq yd", "square yard", 0.83612736, "m2", 0, 0 },
    { "sqin|in2", "sq in", "square inch", 0.00064516, "cm2", 0, 0 },
    /* volume: cubic metres */
    { "m3|cum", "m³", "cubic metre", 1, "cuft", 0, 0 },
    { "km3", "km³", "cubic kilometre", 1e9, "cumi", 0, 0 },
    { "cm3|cc|ml|mL", "cm³", "cubic centimetre", 1e-6, "cuin", 0, 0 },
    { "mm3", "mm³", "cubic millimetre", 1e-9, "cuin", 0, 0 },
    { "l|L|litre|liter", "L", "litre", 1e-3, "impgal USgal", 0, 0 },
    { "hl|hL", "hl", "hectolitre", 0.1, "impgal USgal", 0, 0 },
    { "cl|cL", "cl", "centilitre", 1e-5, "impoz USoz", 0, 0 },
    { "cuft|ft3", "cu ft", "cubic foot", 0.028316846592, "m3", 0, 0 },
    { "cuin|in3|cid|CID", "cu in", "cubic inch", 1.6387064e-5, "cm3", 0, 0 },
    { "cuyd|yd3", "cu yd", "cubic yard", 0.764554857984, "m3", 0, 0 },
    { "cumi|mi3", "cu mi", "cubic mile", 4168181825.440579584, "km3", 0, 0 },
    { "USgal|U.S.gal|usgal", "US gal", "US gallon", 0.003785411784, "L impgal", 0, 0 },
    { "impgal|imp gal", "imp gal", "imperial gallon", 0.00454609, "L USgal", 0, 0 },
    { "gal", "gal", "gallon", 0.00454609, "L", 0, 0 },
    { "USoz|USfloz|U.S.oz", "US fl oz", "US fluid ounce", 2.95735295625e-5, "ml", 0, 0 },
    { "impoz|impfloz", "imp fl oz", "imperial fluid ounce", 2.84130625e-5, "ml USoz", 0, 0 },
    { "USqt", "US qt", "US quart", 0.000946352946, "L", 0, 0 },
    { "impqt", "imp qt", "imperial quart", 0.0011365225, "L", 0, 0 },
    { "USpt", "US pt", "US pint", 0.000473176473, "L", 0, 0 },
    { "imppt|pt", "imp pt", "imperial pint", 0.00056826125, "L", 0, 0 },
    { "acre.ft|acreft|acre-ft|acre·ft", "acre⋅ft", "acre-foot", 1233.48183754752, "m3", 0, 0 },
    { "oilbbl|bbl", "bbl", "barrel", 0.158987294928, "m3", 0, 0 },
    { "koilbbl", "kbbl", "thousand barrels", 158.987294928, "m3", 0, 0 },
    { "Moilbbl", "MMbbl", "million barrels", 158987.294928, "m3", 0, 0 },
    { "Goilbbl", "Gbbl", "billion barrels", 158987294.928, "m3", 0, 0 },
    { "USbsh|USbu", "US bsh", "US bushel", 0.03523907016688, "impgal", 0, 0 },
    { "GRT|grt", "GRT", "gross register ton", 2.8316846592, "m3", 0, 0 },
    /* mass: kilograms */
    { "kg", "kg", "kilogram", 1, "lb", 0, 0 },
    { "g", "g", "gram", 1e-3, "oz", 0, 0 },
    { "mg", "mg", "milligram", 1e-6, "gr", 0, 0 },
    { "t|tonne|MT|Mt", "t", "tonne", 1e3, "LT ST", 0, 0 },
    { "lb|lbs|pound", "lb", "pound", 0.45359237, "kg", 0, 0 },
    { "oz", "oz", "ounce", 0.028349523125, "g", 0, 0 },
    { "st|stone", "st", "stone", 6.35029318, "lb kg", 0, 0 },
    { "ozt", "ozt", "troy ounce", 0.0311034768, "oz g", 0, 0 },
    { "gr|grain", "gr", "grain", 6.479891e-5, "g", 0, 0 },
    { "carat", "carat", "carat", 2e-4, "g", 0, 0 },
    { "LT|long ton", "long tons", "long ton", 1016.0469088, "t", 0, 0 },
    { "ST|shortton|short ton", "short tons", "short ton", 907.18474, "t", 0, 0 },
    { "cwt|LHcwt|long cwt", "cwt", "hundredweight", 50.80234544, "lb kg", 0, 0 },
    { "Da|u", "Da", "dalton", 1.6605390666e-27, NULL, 0, 0 },
    /* speed: metres per second */
    { "km/h|kph|kmh", "km/h", "kilometre per hour", 1 / 3.6, "mph", 0, 0 },
    { "mph|mi/h", "mph", "mile per hour", 0.44704, "km/h", 0, 0 },
    { "m/s", "m/s", "metre per second", 1, "ft/s", 0, 0 },
    { "km/s", "km/s", "kilometre per second", 1e3, "mi/s", 0, 0 },
    { "mi/s", "mi/s", "mile per second", 1609.344, "km/s", 0, 0 },
    { "ft/s", "ft/s", "foot per second", 0.3048, "m/s", 0, 0 },
    { "ft/min", "ft/min", "foot per minute", 0.00508, "m/min", 0, 0 },
    { "m/min", "m/min", "metre per minute", 1 / 60.0, "ft/min", 0, 0 },
    { "kn|knot|knots", "kn", "knot", 1852 / 3600.0, "km/h mph", 0, 0 },
    { "m/s2", "m/s²", "metre per second squared", 1, "ft/s2", 0, 0 },
    { "ft/s2", "ft/s²", "foot per second squared", 0.3048, "m/s2", 0, 0 },
    /* temperature: kelvins */
    { "C|°C|celsius|degC", "°C", "degree Celsius", 1, "F", -273.15, TEMPERATURE },
    { "F|°F|fahrenheit|degF", "°F", "degree Fahrenheit", 5 / 9.0, "C", -459.67, TEMPERATURE },
    { "K|°K", "K", "kelvin", 1, "C F", 0, TEMPERATURE },
    { "R|°R", "°R", "degree Rankine", 5 / 9.0, "K F C", 0, TEMPERATURE },
    { "C-change|°C-change", "°C", "degree Celsius change", 1, "F-change", 0, 0 },
    { "F-change|°F-change", "°F", "degree Fahrenheit change", 5 / 9.0, "C-change", 0, 0 },
    /* pressure: pascals */
    { "Pa", "Pa", "pascal", 1, "psi", 0, 0 },
    { "hPa", "hPa", "hectopascal", 100, "inHg", 0, 0 },
    { "kPa", "kPa", "kilopascal", 1e3, "psi", 0, 0 },
    { "MPa", "MPa", "megapascal", 1e6, "ksi", 0, 0 },
    { "GPa", "GPa", "gigapascal", 1e9, "psi", 0, 0 },
    { "bar", "bar", "bar", 1e5, "kPa", 0, 0 },
    { "mbar|mb", "mbar", "millibar", 100, "hPa", 0, 0 },
    { "atm", "atm", "standard atmosphere", 101325, "kPa", 0, 0 },
    { "psi", "psi", "pound per square inch", 6894.757293168362, "kPa", 0, 0 },
    { "ksi", "ksi", "kilopound per square inch", 6894757.293168362, "MPa", 0, 0 },
    { "inHg", "inHg", "inch of mercury", 3386.388640341, "kPa", 0, 0 },
    { "mmHg", "mmHg", "millimetre of mercury", 133.322387415, "kPa", 0, 0 },
    { "torr", "Torr", "torr", 101325 / 760.0, "kPa", 0, 0 },
    { "kg/cm2", "kg/cm²", "kilogram per square centimetre", 98066.5, "psi", 0, 0 },
    /* power, energy, force, torque: watts, joules, newtons, newton-metres */
    { "W", "W", "watt", 1, "hp", 0, 0 },
    { "kW", "kW", "kilowatt", 1e3, "hp", 0, 0 },
    { "MW", "MW", "megawatt", 1e6, "hp", 0, 0 },
    { "GW", "GW", "gigawatt", 1e9, "hp", 0, 0 },
    { "hp", "hp", "horsepower", 745.69987158227, "kW", 0, 0 },
    { "bhp", "bhp", "brake horsepower", 745.69987158227, "kW", 0, 0 },
    { "shp", "shp", "shaft horsepower", 745.69987158227, "kW", 0, 0 },
    { "ihp", "ihp", "indicated horsepower", 745.69987158227, "kW", 0, 0 },
    { "PS", "PS", "metric horsepower", 735.49875, "kW hp", 0, 0 },
    { "J", "J", "joule", 1, "cal", 0, 0 },
    { "kJ", "kJ", "kilojoule", 1e3, "kcal", 0, 0 },
    { "MJ", "MJ", "megajoule", 1e6, "kWh", 0, 0 },
    { "GJ", "GJ", "gigajoule", 1e9, "MWh", 0, 0 },
    { "cal", "cal", "calorie", 4.184, "J", 0, 0 },
    { "kcal|Cal", "kcal", "kilocalorie", 4184, "kJ", 0, 0 },
    { "kWh|kW.h", "kWh", "kilowatt-hour", 3.6e6, "MJ", 0, 0 },
    { "MWh", "MWh", "megawatt-hour", 3.6e9, "GJ", 0, 0 },
    { "BTU|Btu", "BTU", "British thermal unit", 1055.05585262, "kJ", 0, 0 },
    { "eV", "eV", "electronvolt", 1.602176634e-19, "J", 0, 0 },
    { "N", "N", "newton", 1, "lbf", 0, 0 },
    { "kN", "kN", "kilonewton", 1e3, "lbf", 0, 0 },
    { "MN", "MN", "meganewton", 1e6, "lbf", 0, 0 },
    { "lbf", "lbf", "pound-force", 4.4482216152605, "N", 0, 0 },
    { "kgf", "kgf", "kilogram-force", 9.80665, "N lbf", 0, 0 },
    { "Nm|N.m|N·m", "N⋅m", "newton-metre", 1, "lbft", 0, 0 },
    { "lbft|lb.ft|lb·ft|lbfft|ftlb|ft.lb", "lb⋅ft", "pound-foot", 1.3558179483314, "Nm", 0, 0 },
    /* flow: cubic metres per second */
    { "m3/s|cumec", "m³/s", "cubic metre per second", 1, "cuft/s", 0, 0 },
    { "cuft/s|cufs|ft3/s", "cu ft/s", "cubic foot per second", 0.028316846592, "m3/s", 0, 0 },
    { "m3/d", "m³/d", "cubic metre per day", 1 / 86400.0, "cuft/d", 0, 0 },
    { "cuft/d", "cu ft/d", "cubic foot per day", 0.028316846592 / 86400, "m3/d", 0, 0 },
    { "oilbbl/d", "bbl/d", "barrel per day", 0.158987294928 / 86400, "m3/d", 0, 0 },
    { "koilbbl/d|koilbbl/day", "kbbl/d", "thousand barrels per day", 158.987294928 / 86400, "m3/d",
      0, 0 },
    { "Moilbbl/d", "MMbbl/d", "million barrels per day", 158987.294928 / 86400, "m3/d", 0, 0 },
    { "L/s", "L/s", "litre per second", 1e-3, "cuft/s", 0, 0 },
    /* density: things, or kilograms, per square or cubic metre */
    { "/sqmi|PD/sqmi|PD/mi2", "/sq mi", "inhabitant per square mile", 1 / 2589988.110336, "/km2", 0,
      0 },
    { "/km2|PD/km2|PD/sqkm", "/km²", "inhabitant per square kilometre", 1e-6, "/sqmi", 0, 0 },
    { "/ha|PD/ha", "/ha", "inhabitant per hectare", 1e-4, "/acre", 0, 0 },
    { "/acre", "/acre", "inhabitant per acre", 1 / 4046.8564224, "/ha", 0, 0 },
    { "kg/m3", "kg/m³", "kilogram per cubic metre", 1, "lb/cuyd", 0, 0 },
    { "g/cm3", "g/cm³", "gram per cubic centimetre", 1e3, "lb/cuin", 0, 0 },
    { "lb/cuyd", "lb/cu yd", "pound per cubic yard", 0.45359237 / 0.764554857984, "kg/m3", 0, 0 },
    { "lb/cuft", "lb/cu ft", "pound per cubic foot", 0.45359237 / 0.028316846592, "kg/m3", 0, 0 },
    { "lb/cuin", "lb/cu in", "pound per cubic inch", 0.45359237 / 1.6387064e-5, "g/cm3", 0, 0 },
    { "g/L|g/l", "g/L", "gram per litre", 1, "lb/cuin", 0, 0 },
    { "Hz", "Hz", "hertz", 1, NULL, 0, 0 },
    { "kHz", "kHz", "kilohertz", 1e3, NULL, 0, 0 },
    { "MHz", "MHz", "megahertz", 1e6, NULL, 0, 0 },
};

/* Outputs in two units: the larger holds `parts` of the smaller. */
static const struct pair {
    const char *codes, *large, *small;
    int parts;
} pairs[] = { { "ftin|ft in", "ft", "in", 12 },
              { "stlb|st lb", "st", "lb", 14 },
              { "lboz|lb oz", "lb", "oz", 16 },
              { "ydft|yd ft", "yd", "ft", 3 } };

/* {{convert|5|e6acre}}: millions of acres. */
static const struct power {
    const char *prefix, *name;
    int exponent;
} powers[] = {
    { "e3", "thousand ", 3 },   { "e6", "million ", 6 },       { "e9", "billion ", 9 },
    { "e12", "trillion ", 12 }, { "e15", "quadrillion ", 15 },
};

/* A unit as it is asked for. */
struct measure {
    const struct unit *unit;
    const struct power *power;
    const struct pair *pair; /* then unit is the smaller of the two */
};

static int has_code(const char *codes, struct span s)
{
    for (const char *c = codes; s.n && *c; c += strspn(c, "|")) {
        size_t n = strcspn(c, "|");
        if (n == s.n && !memcmp(c, s.s, n))
            return 1;
        c += n;
    }
    return 0;
}

static struct span as_span(const char *s)
{
    return (struct span) { s, strlen(s) };
}

static const struct unit *find_unit(struct span code)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (has_code(units[i].codes, code))
            return &units[i];
    return NULL;
}

static int find_measure(struct span code, struct measure *m)
{
    *m = (struct measure) { 0 };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (has_code(pairs[i].codes, code))
            m->pair = &pairs[i];
    if (m->pair)
        code = as_span(m->pair->small);
    m->unit = find_unit(code);
    for (size_t i = 0; !m->unit && i < sizeof powers / sizeof *powers; i++) {
        size_t n = strlen(powers[i].prefix);
        if (code.n <= n || memcmp(code.s, powers[i].prefix, n) || isdigit((unsigned char)code.s[n]))
            continue;
        m->unit = find_unit((struct span) { code.s + n, code.n - n });
        m->power = &powers[i];
    }
    return m->unit != NULL;
}

static double scale_of(const struct measure *m)
{
    return m->unit->scale * (m->power ? pow(10, m->power->exponent) : 1);
}

/* Units of one kind can be turned into one another; the table has the kinds in blocks, so that
 * names tell them apart well enough for calls that are right. */
static double turn(double value, const struct measure *from, const struct measure *to)
{
    double base = (value - from->unit->offset) * scale_of(from);
    return base / scale_of(to) + to->unit->offset;
}

/* ---- numbers ------------------------------------------------------------------------------- */

struct number {
    double value;
    int decimals;    /* digits behind the point, less the exponent; negative: zeros at the end */
    int denominator; /* of a fraction; 0: none */
    char text[NUMBER_MAX * 4];
};

/* Digits with commas; the decimals as they are. */
static void add_grouped(struct buf *out, const char *digits)
{
    size_t n = strspn(digits, "0123456789");
    for (size_t i = 0; i < n; i++) {
        buf_addc(out, digits[i]);
        if (n > 3 && i + 1 < n && (n - i - 1) % 3 == 0)
            buf_addc(out, ',');
    }
    buf_adds(out, digits + n);
}

static void add_superscript(struct buf *out, int n)
{
    static const char *const digits[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
    char text[NUMBER_MAX];
    snprintf(text, sizeof text, "%d", n);
    for (const char *s = text; *s; s++)
        buf_adds(out, *s == '-' ? "⁻" : digits[*s - '0']);
}

/* The digits of s without signs and commas into plain; 1 when it is a number. */
static int read_digits(struct span s, char plain[NUMBER_MAX], int *negative)
{
    size_t n = 0;
    *negative = 0;
    if (s.n >= 3 && !memcmp(s.s, "−", 3))
        *negative = 1, s.s += 3, s.n -= 3;
    else if (s.n && strchr("-+\x0C", *s.s))
        *negative = *s.s != '+', s.s++, s.n--;
    for (size_t i = 0; i < s.n; i++) {
        if (s.s[i] == ',')
            continue;
        if (n == NUMBER_MAX - 1 || !strchr("0123456789.eE-+/", s.s[i]) || !s.s[i])
            return 0;
        plain[n++] = s.s[i];
    }
    plain[n] = '\0';
    return n && (isdigit((unsigned char)*plain) || (*plain == '.' && isdigit(plain[1])));
}

static int read_fraction(struct number *x, const char *plain, struct buf *text)
{
    int whole = 0, top, bottom, used = 0;
    if (sscanf(plain, "%4d+%4d/%4d%n", &whole, &top, &bottom, &used) != 3 || plain[used]) {
        whole = used = 0;
        if (sscanf(plain, "%4d/%4d%n", &top, &bottom, &used) != 2 || plain[used])
            return 0;
    }
    if (bottom < 1 || top < 0 || whole < 0)
        return 0;
    x->value = whole + (double)top / bottom;
    x->denominator = bottom;
    if (whole)
        buf_addf(text, "%d+", whole);
    buf_addf(text, "%d⁄%d", top, bottom);
    return 1;
}

static int read_decimal(struct number *x, const char *plain, struct buf *text)
{
    char *end;
    x->value = strtod(plain, &end);
    if (*end || !isfinite(x->value))
        return 0;
    size_t whole = strspn(plain, "0123456789");
    const char *e = strpbrk(plain, "eE");
    size_t mantissa = e ? (size_t)(e - plain) : strlen(plain);
    if (plain[whole] == '.') {
        x->decimals = (int)(mantissa - whole - 1);
    } else {
        while (whole && plain[whole - 1] == '0')
            whole--, x->decimals--;
    }
    char digits[NUMBER_MAX];
    memcpy(digits, plain, mantissa);
    digits[mantissa] = '\0';
    if (*digits == '.')
        buf_addc(text, '0');
    add_grouped(text, digits);
    if (e) {
        long power = strtol(e + 1, &end, 10);
        if (end == e + 1 || labs(power) > POWER_MAX)
            return 0;
        x->decimals -= (int)power;
        buf_adds(text, "×10");
        add_superscript(text, (int)power);
    }
    return 1;
}

static int read_number(struct span s, struct number *x)
{
    char plain[NUMBER_MAX];
    struct buf text = BUF_INIT;
    int negative;
    *x = (struct number) { 0 };
    if (!read_digits(s, plain, &negative))
        return 0;
    if (negative)
        buf_adds(&text, "−");
    int ok = read_fraction(x, plain, &text) || read_decimal(x, plain, &text);
    if (negative)
        x->value = -x->value;
    ok = ok && text.len < sizeof x->text;
    if (ok)
        memcpy(x->text, text.data, text.len + 1);
    buf_release(&text);
    return ok;
}

/* Half away from zero. */
static double rounded(double v, int precision)
{
    double p = pow(10, precision);
    return copysign(floor(fabs(v) * p * (1 + 1e-14) + 0.5) / p, v);
}

static void add_number(struct buf *out, double v, int precision)
{
    char text[400];
    v = rounded(v, precision);
    if (v < 0)
        buf_adds(out, "−");
    v = fabs(v);
    if (v >= 1e9 || (v > 0 && v < 1e-6)) { /* as 1.5×10⁹ */
        int e = (int)floor(log10(v) + 1e-12), digits = precision + e;
        snprintf(text, sizeof text, "%.*f", digits > 0 ? digits : 0, v / pow(10, e));
        buf_addf(out, "%s×10", text);
        add_superscript(out, e);
        return;
    }
    snprintf(text, sizeof text, "%.*f", precision > 0 ? precision : 0, v);
    add_grouped(out, text);
}

/* ---- rounding -------------------------------------------------------------------------------- */

/* Digits behind the point (negative: in front) for a result that nobody said how to round. */
static int default_precision(const struct number *in, const struct measure *from, double result,
                             const struct measure *to, int compound)
{
    double digits, least, shift;
    result = fabs(result);
    if (in->denominator)
        digits = fmax(log10(in->denominator), 1);
    else
        digits = compound && in->decimals < 0 ? 0 : in->decimals;
    if ((from->unit->flags & TEMPERATURE) && (to->unit->flags & TEMPERATURE)) {
        double kelvin = fabs((in->value - from->unit->offset) * scale_of(from));
        shift = 0;
        least = kelvin < 1e-8 ? 2 : 2 - floor(log10(kelvin) + 1e-14);
    } else if (in->value == 0 || result <= 0) {
        return 0;
    } else {
        shift = compound ? log10(scale_of(to)) + 2 : log10(fabs(in->value) / result);
        if (to->pair && floor(in->value) == in->value)
            shift = -log10(scale_of(from));
        shift += log10(2);
        least = 1 - floor(log10(result) + 1e-14);
    }
    double precision = fmax(floor(digits + shift), least);
    return (int)fmax(-12, fmin(12, precision));
}

/* ---- the call -------------------------------------------------------------------------------- */

static const struct range {
    const char *words, *text, *adjective;
    int each; /* the unit stands behind each value when it is abbreviated */
} ranges[] = {
    { "to", " to ", " to ", 0 },
    { "-|–|\x0C", "–", "–", 0 },
    { "and|&", " and ", " and ", 0 },
    { "or", " or ", " or ", 0 },
    { "by", " by ", " by ", 0 },
    { "x|×|*", " × ", " × ", 1 },
    { "+/-|±|+/−|+-|+/\x0C", " ± ", " ± ", 0 },
    { "to(-)", " to ", " to ", 0 },
    { "and(-)", " and ", " and ", 0 },
    { ",", ", ", ", ", 0 },
    { ", and|,and", ", and ", ", and ", 0 },
    { "x-|xx", " × ", " × ", 0 },
};

struct conversion {
    struct number in[VALUES_MAX];
    const struct range *between[VALUES_MAX];
    int values;
    int compound; /* {{convert|6|ft|1|in}}: in[0] is all of it in the small unit */
    char compound_text[NUMBER_MAX * 8];
    struct measure from, to[OUTPUTS_MAX];
    int outputs;
    int has_precision, precision, sigfig, nearest;
    int adjective, american, flip;
    int in_symbol, out_symbol, bare; /* bare: numbers alone */
};

static const struct range *find_range(struct span s)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (span_in(s, ranges[i].words))
            return &ranges[i];
    return NULL;
}

static void add_us(struct buf *out, const char *name, size_t n, int american)
{
    for (size_t i = 0; i < n; i++) {
        if (american && n - i >= 5 && !memcmp(name + i, "metre", 5)) {
            buf_adds(out, "meter");
            i += 4;
        } else if (american && n - i >= 5 && !memcmp(name + i, "litre", 5)) {
            buf_adds(out, "liter");
            i += 4;
        } else {
            buf_addc(out, name[i]);
        }
    }
}

static int ends_with(const char *s, size_t n, const char *end)
{
    size_t k = strlen(end);
    return n >= k && !memcmp(s + n - k, end, k);
}

/* "miles per hour", "square feet", "inches of mercury", "degrees Celsius". */
static void add_plural(struct buf *out, const char *name, int american)
{
    const char *rest = strstr(name, " per ");
    if (!rest)
        rest = strstr(name, " of ");
    if (!rest && !strncmp(name, "degree ", 7))
        rest = name + 6;
    if (!rest && !strcmp(name, "pound-force"))
        rest = name + 5;
    size_t n = rest ? (size_t)(rest - name) : strlen(name);
    if (ends_with(name, n, "foot")) {
        add_us(out, name, n - 4, american);
        buf_adds(out, "feet");
    } else {
        add_us(out, name, n, american);
        if (ends_with(name, n, "ch"))
            buf_addc(out, 'e');
        int same = ends_with(name, n, "s") || ends_with(name, n, "hertz") ||
                   ends_with(name, n, "power") || ends_with(name, n, "weight") ||
                   ends_with(name, n, "stone");
        if (!same)
            buf_addc(out, 's');
    }
    if (rest)
        add_us(out, rest, strlen(rest), american);
}

/* The unit behind a value, with what parts it from the value. */
static void add_unit(struct buf *out, const struct conversion *c, const struct measure *m,
                     int symbol, double value, int adjective)
{
    const struct unit *u = m->unit;
    if (symbol) {
        if (m->power) {
            buf_adds(out, "×10");
            add_superscript(out, m->power->exponent);
        }
        if (*u->symbol != '/')
            buf_addc(out, ' ');
        const char *text = u->symbol;
        size_t n = strlen(text);
        int singular = value == 1 && n > 4 && text[n - 1] == 's'; /* "1 long ton" */
        buf_add(out, text, n - (size_t)singular);
        if (!strcmp(u->codes, "fathom") && value != 1)
            buf_addc(out, 's');
        return;
    }
    buf_addc(out, adjective ? '-' : ' ');
    if (m->power)
        buf_adds(out, m->power->name);
    size_t begin = out->len;
    if (adjective || fabs(value) == 1)
        add_us(out, u->name, strlen(u->name), c->american);
    else
        add_plural(out, u->name, c->american);
    for (size_t i = begin; adjective && i < out->len; i++) /* "60-nautical-mile" */
        if (out->data[i] == ' ')
            out->data[i] = '-';
}

static int precision_of(const struct conversion *c, const double *results, int values,
                        const struct measure *to)
{
    int precision = -99;
    for (int i = 0; i < values; i++) {
        int p;
        if (c->has_precision)
            p = c->precision;
        else if (c->sigfig && results[i] != 0)
            p = c->sigfig - 1 - (int)floor(log10(fabs(results[i])) + 1e-14);
        else
            p = default_precision(&c->in[i], &c->from, results[i], to, c->compound);
        precision = p > precision ? p : precision;
    }
    return precision;
}

/* "6 ft 1 in" */
static void add_pair(struct buf *out, const struct conversion *c, const struct measure *to,
                     double small, int precision, int symbol)
{
    struct measure large = { .unit = find_unit(as_span(to->pair->large)) };
    double v = rounded(fabs(small), precision < 0 ? 0 : precision);
    double whole = floor(v / to->pair->parts);
    if (small < 0)
        buf_adds(out, "−");
    add_number(out, whole, 0);
    add_unit(out, c, &large, symbol, whole, 0);
    buf_addc(out, ' ');
    add_number(out, v - whole * to->pair->parts, precision < 0 ? 0 : precision);
    add_unit(out, c, to, symbol, v - whole * to->pair->parts, 0);
}

/* One output: all the values in one unit. */
static void add_output(struct buf *out, const struct conversion *c, const struct measure *to,
                       int symbol, int adjective)
{
    double results[VALUES_MAX], last = 0;
    for (int i = 0; i < c->values; i++)
        results[i] = turn(c->in[i].value, &c->from, to);
    int precision = precision_of(c, results, c->values, to);
    int each = 0;
    for (int i = 0; i < c->values; i++) {
        if (i) {
            each = c->between[i]->each && symbol && !c->bare;
            if (each)
                add_unit(out, c, to, symbol, last, 0);
            buf_adds(out, adjective ? c->between[i]->adjective : c->between[i]->text);
        }
        if (c->nearest)
            results[i] = rounded(results[i] / c->nearest, 0) * c->nearest;
        last = rounded(results[i], precision);
        if (to->pair)
            add_pair(out, c, to, results[i], precision, symbol);
        else
            add_number(out, results[i], precision);
    }
    if (!to->pair && !c->bare)
        add_unit(out, c, to, symbol, c->values > 1 ? 2 : last, adjective);
}

static void add_input(struct buf *out, const struct conversion *c, int symbol, int adjective)
{
    if (c->compound) {
        buf_adds(out, c->compound_text);
        return;
    }
    for (int i = 0; i < c->values; i++) {
        if (i && c->between[i]->each && symbol && !c->bare)
            add_unit(out, c, &c->from, symbol, c->in[i - 1].value, 0);
        if (i)
            buf_adds(out, adjective ? c->between[i]->adjective : c->between[i]->text);
        buf_adds(out, c->in[i].text);
    }
    double v = c->in[c->values - 1].value;
    int one = c->values == 1 && (v == 1 || (c->in[0].denominator && fabs(v) <= 1));
    if (!c->bare)
        add_unit(out, c, &c->from, symbol, one ? 1 : 2, adjective);
}

/* ---- reading the call ------------------------------------------------------------------------ */

/* {{convert|6|ft|1|in|…}}: returns the place behind it, or 0. */
static int read_compound(struct conversion *c, const struct arguments *a, int place)
{
    struct number small;
    struct measure m;
    if (!read_number(arguments_at(a, place + 1), &small))
        return 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct pair *p = &pairs[i];
        if (!find_measure(arguments_at(a, place + 2), &m) || m.power ||
            m.unit != find_unit(as_span(p->small)) || c->from.unit != find_unit(as_span(p->large)))
            continue;
        double large = c->in[0].value;
        c->compound = 1;
        struct buf text = BUF_INIT;
        buf_adds(&text, c->in[0].text);
        add_unit(&text, c, &c->from, c->in_symbol, large, c->adjective);
        buf_addc(&text, ' ');
        buf_adds(&text, small.text);
        add_unit(&text, c, &m, c->in_symbol, small.value, c->adjective);
        snprintf(c->compound_text, sizeof c->compound_text, "%s", text.data);
        buf_release(&text);
        small.value = large * p->parts + small.value;
        c->in[0] = small;
        c->from = m;
        return place + 3;
    }
    return 0;
}

/* "ft m" is two outputs; a pair, with or without a space, is one. */
static int read_outputs(struct conversion *c, struct span s)
{
    struct measure m;
    c->outputs = 0;
    while (s.n) {
        if (c->outputs == OUTPUTS_MAX)
            return 0;
        size_t n = s.n;
        if (!find_measure(s, &m)) {
            const char *gap = memchr(s.s, ' ', s.n);
            n = gap ? (size_t)(gap - s.s) : s.n;
            const char *plus = memchr(s.s, '+', n);
            n = plus ? (size_t)(plus - s.s) : n;
            if (!find_measure((struct span) { s.s, n }, &m))
                return 0;
        }
        c->to[c->outputs++] = m;
        s.s += n, s.n -= n;
        while (s.n && (*s.s == ' ' || *s.s == '+'))
            s.s++, s.n--;
    }
    return c->outputs > 0;
}

/* Values and the words between them; returns the place of the unit, or 0. */
static int read_values(struct conversion *c, const struct arguments *a)
{
    int place = 1;
    while (c->values < VALUES_MAX && read_number(arguments_at(a, place), &c->in[c->values])) {
        c->values++;
        const struct range *range = find_range(arguments_at(a, place + 1));
        if (!range || c->values == VALUES_MAX)
            return place + 1;
        c->between[c->values] = range;
        place += 2;
    }
    return 0;
}

/* {{convert|10-20|km}} */
static int split_range(struct arguments *a)
{
    struct span s = arguments_at(a, 1);
    static const char *const signs[] = { "–", "−", "-", "\x0C" };
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i]);
        const char *at = s.n > n ? memmem(s.s + 1, s.n - 1, signs[i], n) : NULL;
        if (!at || a->count + 2 > ARGUMENTS_PLACES || !isdigit((unsigned char)at[-1]))
            continue;
        memmove(a->at + 4, a->at + 2, (size_t)(a->count - 1) * sizeof *a->at);
        a->count += 2;
        a->at[1] = span_trim(s.s, (size_t)(at - s.s));
        a->at[2] = as_span("-");
        a->at[3] = span_trim(at + n, (size_t)(s.s + s.n - at) - n);
        return 1;
    }
    return 0;
}

static void read_options(struct conversion *c, const struct arguments *a, int abbreviated)
{
    struct span abbr = arguments_any(a, "abbr|abbre"), disp = arguments_any(a, "disp");
    c->in_symbol = abbreviated || span_in(abbr, "on|in|yes");
    c->out_symbol = !span_in(abbr, "off|none|in");
    if (span_in(abbr, "off|none|out"))
        c->in_symbol = 0;
    c->bare = span_is(abbr, "values");
    c->american = span_is(arguments_any(a, "sp"), "us");
    c->adjective =
        span_is(arguments_any(a, "adj"), "on") || span_is(arguments_any(a, "sing"), "on");
    c->flip = span_is(arguments_any(a, "order"), "flip") || span_is(disp, "flip");
    span_number(arguments_any(a, "sigfig"), &c->sigfig);
    span_number(arguments_any(a, "round"), &c->nearest);
    if (c->sigfig > 12)
        c->sigfig = 12;
}

static void read_precision(struct conversion *c, struct span s)
{
    struct number n;
    if (!read_number(s, &n) || fabs(n.value) > 12)
        return;
    c->has_precision = 1;
    c->precision = (int)n.value;
}

/* The value and what stands behind it, where the unit is not known. */
static int render_unknown(const struct arguments *a, struct buf *out)
{
    struct conversion c = { 0 };
    int place = read_values(&c, a);
    if (!place)
        return 0;
    c.bare = 1;
    add_input(out, &c, 1, 0);
    if (arguments_at(a, place).n && arguments_at(a, place).n < NAME_MAX_BYTES) {
        buf_addc(out, ' ');
        span_put(arguments_at(a, place), out);
    }
    return 1;
}

static void add_outputs(struct buf *out, const struct conversion *c, int symbol, int adjective)
{
    for (int i = 0; i < c->outputs; i++) {
        if (i)
            buf_adds(out, "; ");
        add_output(out, c, &c->to[i], symbol, adjective);
    }
}

static void add_conversion(struct buf *out, const struct conversion *c, struct span disp)
{
    int all = c->in_symbol && c->out_symbol;
    if (span_in(disp, "out|output only|output number only|number|output")) {
        struct conversion alone = *c;
        alone.bare = !span_in(disp, "out|output only|output");
        add_outputs(out, &alone, c->in_symbol, c->adjective);
        return;
    }
    if (c->flip)
        add_outputs(out, c, all, c->adjective && !all);
    else
        add_input(out, c, c->in_symbol, c->adjective && !c->in_symbol);
    if (!c->outputs)
        return;
    const char *open = " (", *close = ")";
    if (span_is(disp, "or"))
        open = " or ", close = "";
    else if (span_in(disp, "comma|,"))
        open = ", ", close = "";
    else if (span_is(disp, "sqbr"))
        open = " [", close = "]";
    else if (span_in(disp, "semicolon|;"))
        open = "; ", close = "";
    else if (span_in(disp, "slash|/|s"))
        open = "/", close = "";
    buf_adds(out, open);
    if (c->flip)
        add_input(out, c, c->out_symbol, 0);
    else
        add_outputs(out, c, c->out_symbol, 0);
    buf_adds(out, close);
}

int convert_render(const struct arguments *given, int abbreviated, struct buf *out)
{
    struct arguments a = *given;
    struct conversion c = { 0 };
    struct span disp = arguments_any(&a, "disp");
    read_options(&c, &a, abbreviated);
    int place = read_values(&c, &a);
    if (!place && split_range(&a)) {
        c.values = 0;
        place = read_values(&c, &a);
    }
    if (!place)
        return render_unknown(given, out);
    if (!find_measure(arguments_at(&a, place), &c.from) || c.from.pair)
        return render_unknown(&a, out);
    int after = c.values == 1 ? read_compound(&c, &a, place) : 0;
    place = after ? after : place + 1;
    if (c.from.unit->flags & TEMPERATURE) /* always symbols, unless it is said */
        c.in_symbol = c.out_symbol = 1;
    struct span to = arguments_at(&a, place);
    if (read_outputs(&c, to))
        place++;
    else if (c.compound)
        read_outputs(&c, as_span(!strcmp(c.from.unit->name, "inch") ? "m" : "kg"));
    else if (c.from.unit->defaults)
        read_outputs(&c, as_span(c.from.unit->defaults));
    read_precision(&c, arguments_at(&a, place));
    add_conversion(out, &c, disp);
    return 1;
}

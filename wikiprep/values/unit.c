#include "wikiprep/values/unit.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

static const struct unit units[] = {
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

static const struct unit_pair pairs[] = { { "ftin|ft in", "ft", "in", 12 },
                                          { "stlb|st lb", "st", "lb", 14 },
                                          { "lboz|lb oz", "lb", "oz", 16 },
                                          { "ydft|yd ft", "yd", "ft", 3 } };

static const struct unit_power powers[] = {
    { "e3", "thousand ", 3 },   { "e6", "million ", 6 },       { "e9", "billion ", 9 },
    { "e12", "trillion ", 12 }, { "e15", "quadrillion ", 15 },
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

const struct unit *unit_find(struct span code)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (has_code(units[i].codes, code))
            return &units[i];
    return NULL;
}

int measure_find(struct span code, struct measure *m)
{
    *m = (struct measure){ 0 };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (has_code(pairs[i].codes, code))
            m->pair = &pairs[i];
    if (m->pair)
        code = span_of(m->pair->small);
    m->unit = unit_find(code);
    for (size_t i = 0; !m->unit && i < sizeof powers / sizeof *powers; i++) {
        size_t n = strlen(powers[i].prefix);
        if (code.n <= n || memcmp(code.s, powers[i].prefix, n) || isdigit((unsigned char)code.s[n]))
            continue;
        m->unit = unit_find((struct span){ code.s + n, code.n - n });
        m->power = &powers[i];
    }
    return m->unit != NULL;
}

double measure_scale(const struct measure *m)
{
    return m->unit->scale * (m->power ? pow(10, m->power->exponent) : 1);
}

double measure_turn(double value, const struct measure *from, const struct measure *to)
{
    double base = (value - from->unit->offset) * measure_scale(from);
    return base / measure_scale(to) + to->unit->offset;
}

const struct unit_pair *unit_pair(const struct unit *large, const struct unit *small)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (unit_find(span_of(pairs[i].large)) == large &&
            unit_find(span_of(pairs[i].small)) == small)
            return &pairs[i];
    return NULL;
}

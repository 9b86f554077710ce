#include "common/formats/columns.h"

#include "common/files/plugin.h"

const struct columns *columns_plugin(void)
{
    const struct columns *c = plugin_open("parquet", COLUMNS_LAYOUT);
    if (!c)
        err_in("Parquet and Arrow files need a plug-in, which 'make PARQUET=1' builds");
    return c;
}

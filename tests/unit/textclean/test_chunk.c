/* Chunks of text between spaces: what is an address of the web. */
#include <criterion/criterion.h>
#include <string.h>

#include "textclean/chunk.h"

static int is_address(const char *s)
{
    return chunk_is_address(s, strlen(s));
}

Test(chunk_is_address, a_host_may_have_a_scheme_a_user_a_port_and_a_path)
{
    static const char *const are[] = { "example.com",
                                       "example.com:80",
                                       "example.com:65535",
                                       "http://example.com",
                                       "https://me@example.com",
                                       "me@example.com:8080/x?y#z",
                                       "svn+ssh://a.example.com/x" };
    static const char *const are_not[] = {
        "example",      "example.com:8", "example.com:123456", "example.com:8a0",
        "ex ample.com", "?.com",         "h*p://example",      "example.com:80:80"
    };
    for (size_t i = 0; i < sizeof are / sizeof *are; i++)
        cr_expect(is_address(are[i]), "%s", are[i]);
    for (size_t i = 0; i < sizeof are_not / sizeof *are_not; i++)
        cr_expect_not(is_address(are_not[i]), "%s", are_not[i]);
}

Test(chunk, dashes_cut_between_letters)
{
    size_t at = 0;
    cr_expect(chunk_infix("ab--cd", 6, &at) == 2 && at == 2);
    at = 0;
    cr_expect_eq(chunk_infix("ab--", 4, &at), 0, "nothing follows");
}

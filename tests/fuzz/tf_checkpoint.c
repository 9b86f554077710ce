/* Parses the index of a TensorFlow checkpoint. The input is the entries of its only block. The
 * block's checksum and all around it are made here, so that they are no obstacle. The file of
 * numbers is 256 zeros. */
#include <stddef.h>
#include <stdint.h>

#include "common/base/buf.h"
#include "common/base/crc32c.h"
#include "model/formats/tf_checkpoint.h"
#include "tests/fuzz/tensors.h"

static void put_u32(struct buf *out, uint32_t x)
{
    for (int i = 0; i < 4; i++)
        buf_addc(out, (int)(x >> 8 * i & 0xFF));
}

static void put_varint(struct buf *out, uint64_t x)
{
    for (; x > 0x7F; x >>= 7)
        buf_addc(out, (int)(x & 0x7F) | 0x80);
    buf_addc(out, (int)x);
}

/* Appends a block of these entries, and its place to `place`. */
static void put_block(struct buf *out, struct buf *place, const void *entries, size_t n)
{
    const size_t begin = out->len;
    buf_add(out, entries, n);
    put_u32(out, 0);
    buf_addc(out, 0);
    put_u32(out, crc32c_mask(crc32c(0, out->data + begin, out->len - begin)));
    put_varint(place, begin);
    put_varint(place, n + 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned char numbers[256],
        magic[] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };
    struct buf file = BUF_INIT, place = BUF_INIT, entry = BUF_INIT, end = BUF_INIT;
    struct safetensors s = { .path = mem_strdup("numbers"), .map = { numbers, sizeof numbers } };
    put_block(&file, &place, data, size);
    buf_addc(&entry, 0);
    buf_addc(&entry, 1);
    buf_addc(&entry, (int)place.len);
    buf_addc(&entry, 'z');
    buf_add(&entry, place.data, place.len);
    buf_add(&end, "\0", 2);
    put_block(&file, &end, entry.data, entry.len);
    while (end.len < 40)
        buf_addc(&end, 0);
    buf_add(&file, end.data, end.len);
    buf_add(&file, magic, sizeof magic);
    if (tf_checkpoint_parse(&s, file.data, file.len, "fuzz") == 0) {
        for (size_t i = 0; i < s.count; i++)
            if (s.tensors[i].offset > sizeof numbers || s.tensors[i].bytes > sizeof numbers)
                __builtin_trap();
        read_tensors(&s);
    } else {
        s.map = (struct file_map){ 0 };
        safetensors_close(&s);
    }
    buf_release(&file);
    buf_release(&place);
    buf_release(&entry);
    buf_release(&end);
    return 0;
}

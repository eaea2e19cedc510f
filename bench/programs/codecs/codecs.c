// A text is compressed by an LZ77 of bytes, packed into base64, and all of it undone again; CRC-32
// checks both ends.
#include "bench.h"

#include <string.h>

enum { TEXT = 1 << 16, HASH_BITS = 13, SHORTEST = 4, LONGEST = SHORTEST + 255, WINDOW = 65535 };

static unsigned char text[TEXT], packed[2 * TEXT], unpacked[TEXT];
static char letters[3 * TEXT];

// Words of a small vocabulary, so that there is something to be found again.
static void write_text(uint64_t seed) {
    static const char *const words[] = {"river", "stone", "of", "the", "a", "delta", "runs", "slowly", "and",
                                        "sandbank", "over", "upstream", "ford", "in", "spring", "reed"};
    uint64_t random = seed;
    for (size_t at = 0; at < TEXT;) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        for (const char *word = words[random >> 60]; *word != 0 && at < TEXT; word++)
            text[at++] = (unsigned char)*word;
        if (at < TEXT)
            text[at++] = random >> 40 & 7 ? ' ' : (unsigned char)('0' + (random >> 32) % 10);
    }
}

static uint32_t crc_table[256];

static void fill_crc_table(void) {
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
        crc_table[i] = crc;
    }
}

static uint32_t crc32(const unsigned char *data, size_t size) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < size; i++)
        crc = crc >> 8 ^ crc_table[(crc ^ data[i]) & 0xff];
    return ~crc;
}

static uint32_t load32(const unsigned char *at) {
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return value;
}

// Tokens: 0, count - 1, bytes as they are; or length - SHORTEST + 1 (at most 255), distance (2 bytes).
static size_t flush(const unsigned char *from, size_t count, size_t out) {
    while (count > 0) {
        size_t part = count < 256 ? count : 256;
        packed[out++] = 0;
        packed[out++] = (unsigned char)(part - 1);
        memcpy(packed + out, from, part);
        out += part, from += part, count -= part;
    }
    return out;
}

static size_t compress(void) {
    static uint32_t places[1 << HASH_BITS]; // of the last text with this hash, plus one
    memset(places, 0, sizeof places);
    size_t out = 0, pending = 0, at = 0;
    while (at + SHORTEST <= TEXT) {
        uint32_t *place = &places[load32(text + at) * 2654435761u >> (32 - HASH_BITS)];
        size_t before = *place;
        *place = (uint32_t)at + 1;
        if (before-- == 0 || at - before > WINDOW || load32(text + before) != load32(text + at)) {
            at++;
            continue;
        }
        size_t length = SHORTEST;
        while (at + length < TEXT && length < LONGEST - 1 && text[before + length] == text[at + length])
            length++;
        out = flush(text + pending, at - pending, out);
        packed[out++] = (unsigned char)(length - SHORTEST + 1);
        packed[out++] = (unsigned char)((at - before) & 0xff);
        packed[out++] = (unsigned char)((at - before) >> 8);
        at += length;
        pending = at;
    }
    return flush(text + pending, TEXT - pending, out);
}

static size_t decompress(size_t size) {
    size_t out = 0;
    for (size_t in = 0; in < size;) {
        unsigned token = packed[in++];
        if (token == 0) {
            size_t count = (size_t)packed[in++] + 1;
            memcpy(unpacked + out, packed + in, count);
            in += count, out += count;
        } else {
            size_t distance = packed[in] | (size_t)packed[in + 1] << 8;
            in += 2;
            for (size_t end = out + token + SHORTEST - 1; out < end; out++)
                unpacked[out] = unpacked[out - distance];
        }
    }
    return out;
}

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static size_t to_base64(size_t size) {
    size_t out = 0, in = 0;
    for (; in + 3 <= size; in += 3) {
        uint32_t group = (uint32_t)packed[in] << 16 | (uint32_t)packed[in + 1] << 8 | packed[in + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            letters[out++] = alphabet[group >> shift & 63];
    }
    if (in < size) {
        uint32_t group = (uint32_t)packed[in] << 16 | (in + 1 < size ? (uint32_t)packed[in + 1] << 8 : 0);
        letters[out++] = alphabet[group >> 18];
        letters[out++] = alphabet[group >> 12 & 63];
        letters[out++] = in + 1 < size ? alphabet[group >> 6 & 63] : '=';
        letters[out++] = '=';
    }
    return out;
}

static size_t from_base64(size_t size) {
    static unsigned char values[256];
    for (unsigned char i = 0; i < 64; i++)
        values[(unsigned char)alphabet[i]] = i;
    size_t out = 0;
    for (size_t in = 0; in + 4 <= size; in += 4) {
        uint32_t group = 0;
        for (int i = 0; i < 4; i++)
            group = group << 6 | values[(unsigned char)letters[in + (size_t)i]];
        packed[out++] = (unsigned char)(group >> 16);
        packed[out++] = (unsigned char)(group >> 8);
        packed[out++] = (unsigned char)group;
    }
    while (size > 0 && letters[--size] == '=')
        out--;
    return out;
}

int main(int argc, char **argv) {
    uint64_t rounds = bench_size(argc, argv);
    uint64_t checksum = BENCH_CHECKSUM_START;
    fill_crc_table();
    for (uint64_t round = 0; round < rounds; round++) {
        write_text(round);
        uint32_t crc = crc32(text, TEXT);
        size_t size = compress();
        size_t letters_size = to_base64(size);
        uint32_t letters_crc = crc32((const unsigned char *)letters, letters_size);
        if (from_base64(letters_size) != size || decompress(size) != TEXT || crc32(unpacked, TEXT) != crc) {
            fprintf(stderr, "round %llu: what comes out is not what went in\n", (unsigned long long)round);
            return 1;
        }
        uint64_t results[] = {crc, letters_crc, size};
        checksum = bench_checksum(checksum, results, sizeof results);
    }
    return bench_report(checksum);
}

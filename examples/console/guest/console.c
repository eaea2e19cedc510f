/* A console: text into a frame buffer of 32-bit pixels, by a table of glyphs. Each word begins in the light of a
   candle, and each of its letters is a step further away from it. */
#include <riverrun.h>
#include <stddef.h>

#include "fade.h"

enum { CELL = 8, COLUMNS = 80, ROWS = 50, LETTERS = 128, TEXT_MAX = 1 << 20 };

static const colour PAPER = 0x0c0a08, FLAME = 0xfff0a0;

/* The host fills in glyphs and text, and takes the frame. A glyph's row is a byte, its lowest bit to the left. */
uint8_t glyphs[LETTERS][CELL];
uint8_t text[TEXT_MAX];
colour frame[ROWS * CELL][COLUMNS * CELL];

static void clear_row(size_t row)
{
    colour *pixel = frame[row * CELL];
    for (size_t n = 0; n < CELL * COLUMNS * CELL; n++) pixel[n] = PAPER;
}

static inline void draw(size_t row, size_t column, uint8_t letter, colour ink)
{
    const uint8_t *glyph = glyphs[letter % LETTERS];
    for (size_t y = 0; y < CELL; y++) {
        colour *pixel = &frame[row * CELL + y][column * CELL];
        for (size_t x = 0; x < CELL; x++) pixel[x] = glyph[y] >> x & 1 ? ink : PAPER;
    }
}

/* Below the last row it goes on at the top. */
static inline __attribute__((always_inline)) void render(size_t length, colour (*step)(colour))
{
    size_t row = 0, column = 0;
    colour ink = FLAME;
    for (size_t n = 0; n < ROWS; n++) clear_row(n);
    for (size_t n = 0; n < length; n++) {
        uint8_t letter = text[n];
        if (letter == '\n' || column == COLUMNS) {
            row = row + 1 == ROWS ? 0 : row + 1;
            column = 0;
            clear_row(row);
        }
        if (letter <= ' ') {
            ink = FLAME;
            column += letter != '\n';
        } else {
            draw(row, column++, letter, ink);
            ink = step(ink);
        }
    }
}

/* Nothing but the step, again and again. */
static inline __attribute__((always_inline)) colour repeat(colour from, size_t times, colour (*step)(colour))
{
    while (times-- != 0) from = step(from);
    return from;
}

#define OFFER(way)                                                                                     \
    RIVERRUN_EXPORT(void, render_in_##way, (size_t));                                                  \
    void render_in_##way(size_t length) { render(length, fade_in_##way); }                             \
    RIVERRUN_EXPORT(colour, repeat_in_##way, (colour, size_t));                                        \
    colour repeat_in_##way(colour from, size_t times) { return repeat(from, times, fade_in_##way); }

OFFER(c)
OFFER(assembly)
OFFER(host)

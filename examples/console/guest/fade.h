/* A step away from the candle: blue light goes first, then green. A colour is 0x00RRGGBB. Three ways to take the
   step, which have to give the same. */
#pragma once

#include <stdint.h>

#include "api.h"

typedef uint32_t colour;

#define STEP static inline __attribute__((always_inline)) colour

/* As one says it in C. */
STEP fade_in_c(colour from)
{
    colour red = from & 0xff0000, green = from >> 8 & 0xff, blue = from & 0xff;
    return red | (green - (green >> 3)) << 8 | blue >> 1;
}

/* By hand: what is to go is taken off where it stands, so that nothing has to be taken apart and put together
   again. The two chains, of blue and of green, do not wait for each other. */
STEP fade_in_assembly(colour from)
{
    colour blue, green;
    __asm__("andi  %[blue], %[colour], 0xff\n\t"
            "srli  %[green], %[colour], 11\n\t"
            "addi  %[blue], %[blue], 1\n\t"
            "andi  %[green], %[green], 0x1f\n\t" /* an eighth of green .. */
            "srli  %[blue], %[blue], 1\n\t"      /* half of blue, rounded up */
            "slli  %[green], %[green], 8\n\t"    /* .. where green stands */
            "sub   %[colour], %[colour], %[blue]\n\t"
            "sub   %[colour], %[colour], %[green]"
            : [colour] "+r"(from), [blue] "=&r"(blue), [green] "=&r"(green));
    return from;
}

/* By the host, each time. */
STEP fade_in_host(colour from) { return dsys_fade(from); }

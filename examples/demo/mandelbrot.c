// Draws the Mandelbrot set: `mandelbrot [plain|colour]`.
//
// Plain draws with UTF-8 shades, colour with ANSI's 256 colours and two pixels a character.
// Every pixel is the mean of SAMPLES x SAMPLES points.

#include <stdio.h>
#include <string.h>

enum { COLUMNS = 100, ROWS = 36, SAMPLES = 8, MAX_ITERATIONS = 600 };

static int iterations(double cr, double ci) {
    double zr = 0, zi = 0;
    int n = 0;
    while (n < MAX_ITERATIONS && zr * zr + zi * zi <= 4.0) {
        double t = zr * zr - zi * zi + cr;
        zi = 2.0 * zr * zi + ci;
        zr = t;
        n++;
    }
    return n;
}

// Mean iterations of the pixel, of a picture that is `height` pixels high.
static int pixel(int x, int y, int height) {
    long sum = 0;
    for (int i = 0; i < SAMPLES * SAMPLES; i++) {
        double fx = (x + (i % SAMPLES + 0.5) / SAMPLES) / COLUMNS;
        double fy = (y + (i / SAMPLES + 0.5) / SAMPLES) / height;
        sum += iterations(-2.2 + 3.2 * fx, -1.2 + 2.4 * fy);
    }
    return (int)(sum / (SAMPLES * SAMPLES));
}

static void draw_plain(void) {
    static const char *const shades[] = {" ", "·", "░", "▒", "▓", "█"};
    for (int y = 0; y < ROWS; y++) {
        for (int x = 0; x < COLUMNS; x++) {
            int n = pixel(x, y, ROWS);
            int shade = n < 4 ? 0 : n < 8 ? 1 : n < 16 ? 2 : n < 48 ? 3 : n < 300 ? 4 : 5;
            fputs(shades[shade], stdout);
        }
        putchar('\n');
    }
}

// Of the terminal's 256 colours: black inside, dark blue through white to brown towards the edge.
static int colour(int n) {
    static const unsigned char ramp[] = {17, 17, 18, 19, 20, 26, 32, 38, 80, 122, 194, 230, 222, 214, 208, 166, 130, 94};
    if (n > MAX_ITERATIONS / 2) return 16;
    int step = n < 9 ? n : 9 + n / 8;
    int last = (int)sizeof ramp - 1;
    return ramp[step < last ? step : last];
}

static void draw_colour(void) {
    for (int y = 0; y < 2 * ROWS; y += 2) {
        for (int x = 0; x < COLUMNS; x++)
            printf("\033[38;5;%dm\033[48;5;%dm▀", colour(pixel(x, y, 2 * ROWS)),
                   colour(pixel(x, y + 1, 2 * ROWS)));
        puts("\033[0m");
    }
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "colour") == 0)
        draw_colour();
    else
        draw_plain();
    return 0;
}

// Formatting, parsing, sorting, dates and wide characters of the C library.
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

static int by_length(const void *a, const void *b) {
    const char *x = *(char *const *)a, *y = *(char *const *)b;
    size_t m = strlen(x), n = strlen(y);
    return m != n ? (m > n) - (m < n) : strcmp(x, y);
}

int main(void) {
    double numbers[] = {0, -0.0, 1.0 / 3, 1e300 * 1e10, 5e-324, 123456789.125, NAN, 0x1.8p-3};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        printf("%g|%.17g|%a|%10.3e|%+08.2f\n", numbers[i], numbers[i], numbers[i], numbers[i], numbers[i]);
    printf("%Lg %.30Lf\n", 1.0L / 3, 2.0L / 7);
    printf("%#x %o %-8d| %+i %" PRId64 " %c %.3s %5.1f%%\n", 255, 8, 42, 7, INT64_MIN, 'x', "abcdef", 99.95);
    char *end;
    printf("%g %ld %lu", strtod("0x1.4p3rest", &end), strtol("-0777", NULL, 0), strtoul("zz", NULL, 36));
    printf(" %s\n", end);
    int year, month;
    char name[20];
    printf("%d", sscanf("2031-07 monday", "%d-%d %19[a-m]", &year, &month, name));
    printf(" %d %d %s\n", year, month, name);
    char *words[] = {"pear", "fig", "banana", "apple", "kiwi", "date", "elderberry"};
    qsort(words, 7, sizeof *words, by_length);
    for (int i = 0; i < 7; i++) printf("%s ", words[i]);
    time_t time = 1900000000;
    struct tm parts;
    gmtime_r(&time, &parts);
    char text[80];
    strftime(text, sizeof text, "%A %d %B %Y %T %j %U", &parts);
    parts.tm_mday += 400;
    printf("\n%s, then %ld\n", text, (long)timegm(&parts));
    printf("%s", setlocale(LC_ALL, "C.UTF-8") ? "locale" : "none");
    wchar_t wide[20];
    size_t len = mbstowcs(wide, "gr\xc3\xbc\xc3\x9f", 20);
    printf(" %d %ls\n", (int)len, len == 4 ? wide : L"?");
    for (double x = 0.5; x < 40; x *= 3) printf("%.15g %.15g %.15g ", sin(x), lgamma(x), pow(x, 1.7));
    puts("");
    return 0;
}

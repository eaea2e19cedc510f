// The three tasks that benchmarks of small processors have: linked lists, matrices of small integers,
// a state machine that reads numbers. Each feeds a 16-bit CRC.
#include "bench.h"

#include <string.h>

static uint16_t crc16(uint16_t crc, uint32_t value) {
    for (int bit = 0; bit < 32; bit++) {
        uint16_t carry = (uint16_t)((crc ^ value) & 1);
        crc >>= 1, value >>= 1;
        if (carry)
            crc ^= 0xa001;
    }
    return crc;
}

// Lists: searched, reversed, sorted by merging.

enum { NODES = 256 };

struct node {
    struct node *next;
    int16_t key, value;
};

static struct node *reverse(struct node *list) {
    struct node *reversed = NULL;
    while (list != NULL) {
        struct node *next = list->next;
        list->next = reversed;
        reversed = list;
        list = next;
    }
    return reversed;
}

static struct node *find(struct node *list, int16_t key) {
    while (list != NULL && list->key != key)
        list = list->next;
    return list;
}

typedef int order(const struct node *, const struct node *);

static int by_key(const struct node *a, const struct node *b) { return a->key - b->key; }
static int by_value(const struct node *a, const struct node *b) { return a->value - b->value; }

static struct node *sorted(struct node *list, order *compare) {
    if (list == NULL || list->next == NULL)
        return list;
    struct node *middle = list;
    for (struct node *end = list->next; end != NULL && end->next != NULL; end = end->next->next)
        middle = middle->next;
    struct node *right = sorted(middle->next, compare);
    middle->next = NULL;
    struct node *left = sorted(list, compare), *merged = NULL, **last = &merged;
    while (left != NULL && right != NULL) {
        struct node **smaller = compare(left, right) <= 0 ? &left : &right;
        *last = *smaller;
        last = &(*smaller)->next;
        *smaller = (*smaller)->next;
    }
    *last = left != NULL ? left : right;
    return merged;
}

static uint16_t lists(uint16_t crc, uint32_t seed) {
    static struct node nodes[NODES];
    struct node *list = NULL;
    for (uint32_t i = 0; i < NODES; i++) {
        nodes[i].key = (int16_t)(i * 37 % NODES);
        nodes[i].value = (int16_t)((seed ^ i * 2654435761u) >> 17);
        nodes[i].next = list;
        list = &nodes[i];
    }
    list = sorted(list, by_value);
    for (int16_t key = 0; key < 2 * NODES; key += 9) {
        struct node *found = find(list, key);
        crc = crc16(crc, found != NULL ? (uint32_t)found->value : (uint32_t)key);
        list = reverse(list);
    }
    list = sorted(list, by_key);
    return crc16(crc, (uint32_t)(list->value + list->next->value));
}

// Matrices.

enum { SIDE = 24 };

static uint16_t matrices(uint16_t crc, uint32_t seed) {
    static int16_t a[SIDE][SIDE], b[SIDE][SIDE];
    static int32_t product[SIDE][SIDE];
    for (uint32_t i = 0; i < SIDE; i++)
        for (uint32_t j = 0; j < SIDE; j++) {
            a[i][j] = (int16_t)((seed + i * j * 7) % 251);
            b[i][j] = (int16_t)((seed >> 3) % 97 + i - j);
        }
    int32_t sum = 0;
    for (int i = 0; i < SIDE; i++)
        for (int j = 0; j < SIDE; j++) {
            int32_t cell = 0;
            for (int k = 0; k < SIDE; k++)
                cell += a[i][k] * b[k][j];
            product[i][j] = cell;
            sum += (cell >> 2 & 15) * (cell >> 5 & 127);
        }
    crc = crc16(crc, (uint32_t)sum);
    for (int i = 0; i < SIDE; i++)
        crc = crc16(crc, (uint32_t)product[i][SIDE - 1 - i]);
    return crc;
}

// A state machine over the characters of numbers.

enum state { START, SIGN, INTEGER, FRACTION, EXPONENT_START, EXPONENT, INVALID, STATES };

static enum state step(enum state state, char c) {
    int digit = c >= '0' && c <= '9', sign = c == '+' || c == '-';
    switch (state) {
    case START: return digit ? INTEGER : sign ? SIGN : c == '.' ? FRACTION : INVALID;
    case SIGN: return digit ? INTEGER : c == '.' ? FRACTION : INVALID;
    case INTEGER: return digit ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT_START : INVALID;
    case FRACTION: return digit ? FRACTION : c == 'e' ? EXPONENT_START : INVALID;
    case EXPONENT_START: return digit || sign ? EXPONENT : INVALID;
    case EXPONENT: return digit ? EXPONENT : INVALID;
    default: return INVALID;
    }
}

static uint16_t numbers(uint16_t crc, uint32_t seed) {
    static const char *const patterns[] = {"5012", "1234", "-874", "+122", "35.54400", ".1234500", "-110.700",
                                           "+0.64400", "5.500e+3", "-.123e-2", "-87e+832", "+0.6e-12", "T0.3e-1F",
                                           "-T.T++Tq", "1T3.4e4z", "34.0e-T^"};
    static char input[1024];
    size_t size = 0;
    while (size + 16 < sizeof input) {
        seed = seed * 1664525 + 1013904223;
        const char *pattern = patterns[seed >> 28];
        while (*pattern != 0)
            input[size++] = *pattern++;
        input[size++] = ',';
    }
    uint32_t finals[STATES] = {0}, visits[STATES] = {0};
    enum state state = START;
    for (size_t i = 0; i < size; i++) {
        if (input[i] == ',') {
            finals[state]++;
            state = START;
        } else {
            state = step(state, input[i]);
            visits[state]++;
        }
    }
    for (int i = 0; i < STATES; i++)
        crc = crc16(crc16(crc, finals[i]), visits[i]);
    return crc;
}

int main(int argc, char **argv) {
    uint64_t rounds = bench_size(argc, argv);
    uint16_t crc = 0xffff;
    for (uint64_t round = 0; round < rounds; round++) {
        crc = lists(crc, (uint32_t)round ^ crc);
        crc = matrices(crc, (uint32_t)round + crc);
        crc = numbers(crc, (uint32_t)round * 3 + crc);
    }
    return bench_report(crc);
}

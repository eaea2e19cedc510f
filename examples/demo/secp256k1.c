// Makes and verifies 1,000 ECDSA signatures over secp256k1 with libsecp256k1.
//
// Keys and messages come from a fixed generator and nonces from RFC 6979, so every run prints the
// same checksum. Every tenth message is altered after it was signed, and must be refused.

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "secp256k1.h"
#include "secp256k1_preallocated.h"

// The crate that carries the library puts a versioned prefix before every name; the build gives it
// as SECP_PREFIX.
#define JOIN(a, b) a##b
#define JOIN_EXPANDED(a, b) JOIN(a, b)
#define SECP(name) JOIN_EXPANDED(SECP_PREFIX, name)

enum { SIGNATURES = 1000 };

typedef struct {
    unsigned char message[32];
    unsigned char signature[64];
    unsigned char key[33];
} Signed;

// The library is built without default handlers: a misuse ends the program.
void SECP(default_illegal_callback_fn)(const char *message, void *data) {
    (void)data;
    fprintf(stderr, "libsecp256k1: illegal argument: %s\n", message);
    abort();
}

void SECP(default_error_callback_fn)(const char *message, void *data) {
    (void)data;
    fprintf(stderr, "libsecp256k1: internal error: %s\n", message);
    abort();
}

static void require(int ok, const char *what) {
    if (!ok) {
        fprintf(stderr, "secp256k1: %s failed\n", what);
        exit(1);
    }
}

// SplitMix64.
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static void fill_random(uint64_t *state, unsigned char out[32]) {
    for (int i = 0; i < 32; i++) out[i] = (unsigned char)next_random(state);
}

// FNV-1a.
static uint64_t checksum(uint64_t hash, const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) hash = (hash ^ bytes[i]) * 0x100000001b3;
    return hash;
}

static void sign(const SECP(context) *context, uint64_t *random, Signed *out) {
    unsigned char secret[32];
    do fill_random(random, secret);
    while (!SECP(ec_seckey_verify)(context, secret));
    fill_random(random, out->message);

    SECP(pubkey) key;
    require(SECP(ec_pubkey_create)(context, &key, secret), "making a key");
    size_t size = sizeof out->key;
    SECP(ec_pubkey_serialize)(context, out->key, &size, &key, SECP256K1_EC_COMPRESSED);

    SECP(ecdsa_signature) signature;
    require(SECP(ecdsa_sign)(context, &signature, out->message, secret, NULL, NULL), "signing");
    SECP(ecdsa_signature_serialize_compact)(context, out->signature, &signature);
}

static int verify(const SECP(context) *context, const Signed *in) {
    SECP(pubkey) key;
    SECP(ecdsa_signature) signature;
    return SECP(ec_pubkey_parse)(context, &key, in->key, sizeof in->key) &&
           SECP(ecdsa_signature_parse_compact)(context, &signature, in->signature) &&
           SECP(ecdsa_verify)(context, &signature, in->message, &key);
}

int main(void) {
    static Signed all[SIGNATURES];
    void *memory = malloc(SECP(context_preallocated_size)(SECP256K1_CONTEXT_NONE));
    require(memory != NULL, "allocating");
    SECP(context) *context = SECP(context_preallocated_create)(memory, SECP256K1_CONTEXT_NONE);

    uint64_t random = 1;
    for (int i = 0; i < SIGNATURES; i++) sign(context, &random, &all[i]);
    for (int i = 0; i < SIGNATURES; i += 10) all[i].message[i % 32] ^= 1;

    int valid = 0;
    uint64_t hash = 0xcbf29ce484222325;
    for (int i = 0; i < SIGNATURES; i++) {
        unsigned char ok = (unsigned char)verify(context, &all[i]);
        require(ok == (i % 10 != 0), "telling good signatures from altered messages");
        valid += ok;
        hash = checksum(hash, all[i].signature, sizeof all[i].signature);
        hash = checksum(hash, &ok, 1);
    }
    printf("%d signatures checked: %d valid, %d refused\n", SIGNATURES, valid, SIGNATURES - valid);
    printf("checksum %016" PRIx64 "\n", hash);
    SECP(context_preallocated_destroy)(context);
    free(memory);
    return 0;
}

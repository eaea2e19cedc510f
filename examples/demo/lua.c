// A Lua interpreter without a prompt: `lua script.lua [args]`.
//
// Chunks are named by the script's file name alone, so that messages do not depend on where it lies.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    size_t capacity = 4096, used = 0;
    char *text = malloc(capacity);
    while (text) {
        size_t got = fread(text + used, 1, capacity - used, file);
        if (got == 0) break;
        used += got;
        if (used == capacity) {
            capacity *= 2;
            char *larger = realloc(text, capacity);
            if (!larger) free(text);
            text = larger;
        }
    }
    fclose(file);
    *size = used;
    return text;
}

static int with_traceback(lua_State *L) {
    luaL_traceback(L, L, luaL_tolstring(L, 1, NULL), 1);
    return 1;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: lua script.lua [args]\n");
        return 2;
    }
    size_t size;
    char *text = read_file(argv[1], &size);
    if (!text) {
        fprintf(stderr, "lua: cannot read the script\n");
        return 2;
    }
    const char *slash = strrchr(argv[1], '/');
    char chunk[256];
    snprintf(chunk, sizeof chunk, "@%s", slash ? slash + 1 : argv[1]);

    lua_State *L = luaL_newstate();
    if (!L) return 2;
    luaL_openlibs(L);
    lua_newtable(L);
    for (int i = 1; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - 1);
    }
    lua_setglobal(L, "arg");

    lua_pushcfunction(L, with_traceback);
    int failed = luaL_loadbuffer(L, text, size, chunk) || lua_pcall(L, 0, 0, -2);
    if (failed) fprintf(stderr, "lua: %s\n", lua_tostring(L, -1));
    lua_close(L);
    free(text);
    return failed ? 1 : 0;
}

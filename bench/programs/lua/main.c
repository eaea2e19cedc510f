// Runs the embedded script, which gets the work size and returns a string to be checked.
#include "bench.h"

#include "script.lua.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <string.h>

static const luaL_Reg libraries[] = {
    {LUA_GNAME, luaopen_base},
    {LUA_TABLIBNAME, luaopen_table},
    {LUA_STRLIBNAME, luaopen_string},
    {LUA_MATHLIBNAME, luaopen_math},
#ifdef WITH_COROUTINES
    {LUA_COLIBNAME, luaopen_coroutine},
#endif
};

int main(int argc, char **argv) {
    uint64_t size = bench_size(argc, argv);
    lua_State *lua = luaL_newstate();
    if (lua == NULL)
        return 1;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        luaL_requiref(lua, libraries[i].name, libraries[i].func, 1);
        lua_pop(lua, 1);
    }
    int failed = luaL_loadbuffer(lua, (const char *)script_lua, sizeof script_lua, "script.lua");
    if (!failed) {
        lua_pushinteger(lua, (lua_Integer)size);
        failed = lua_pcall(lua, 1, 1, 0);
    }
    size_t length = 0;
    const char *result = lua_tolstring(lua, -1, &length);
    if (failed || result == NULL) {
        fprintf(stderr, "%s\n", result != NULL ? result : "the script returned no string");
        return 1;
    }
    uint64_t checksum = bench_checksum(BENCH_CHECKSUM_START, result, length);
    lua_close(lua);
    return bench_report(checksum);
}

// Runs a script by QuickJS, which finds its number of rounds in `rounds` and calls `progress`, and prints its value:
// `javascript FILE ROUNDS`. Where there are no files, that is `words.js`.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "quickjs.h"

#ifdef NO_FILES
static char *content(const char *path, size_t *length) {
    static const char script[] = {
#embed "words.js"
        , 0};
    (void)path;
    *length = sizeof script - 1;
    char *text = malloc(sizeof script);
    return text ? memcpy(text, script, sizeof script) : NULL;
}
#else
static char *content(const char *path, size_t *length) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *length = (size_t)ftell(file);
    rewind(file);
    char *text = malloc(*length + 1);
    if (text && fread(text, 1, *length, file) == *length)
        text[*length] = 0;
    fclose(file);
    return text;
}
#endif

static JSValue progress(JSContext *context, JSValueConst receiver, int count, JSValueConst *arguments) {
    (void)context, (void)receiver, (void)count, (void)arguments;
    fputs(".\n", stderr);
    return JS_UNDEFINED;
}

int main(int argc, char **argv) {
    size_t length = 0;
    char *text = argc > 2 ? content(argv[1], &length) : NULL;
    if (!text) {
        fprintf(stderr, "usage: javascript FILE ROUNDS\n");
        return 2;
    }
    JSRuntime *runtime = JS_NewRuntime();
    JSContext *context = JS_NewContext(runtime);
    JSValue global = JS_GetGlobalObject(context);
    JS_SetPropertyStr(context, global, "rounds", JS_NewInt32(context, atoi(argv[2])));
    JS_SetPropertyStr(context, global, "progress", JS_NewCFunction(context, progress, "progress", 0));
    JS_FreeValue(context, global);
    JSValue value = JS_Eval(context, text, length, argv[1], JS_EVAL_TYPE_GLOBAL);
    int failed = JS_IsException(value);
    if (failed) value = JS_GetException(context);
    const char *shown = JS_ToCString(context, value);
    fprintf(failed ? stderr : stdout, "%s\n", shown ? shown : "?");
    JS_FreeCString(context, shown);
    JS_FreeValue(context, value);
    JS_FreeContext(context);
    JS_FreeRuntime(runtime);
    free(text);
    return failed;
}
